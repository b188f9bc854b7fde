#include "halfstep/convert.h"

#include <utility>

#include "halfstep/support/error.h"

namespace halfstep {

QuantizeResult convert(Model model, Engine* engine, const ConvertRequest& request,
                       Progress& progress) {
  const ChosenTarget target = choose_target(request.target);
  const bool as_dlc = request.output.extension() == ".dlc";
  TargetOutput graph = request.graph;
  if (as_dlc) {
    require(graph.dlc.empty(), "output and graph.dlc both name a DLC; give one of them");
    graph.dlc = request.output;
  }
  QuantizeResult result = quantize(std::move(model), nullptr, engine,
                                   {.output = as_dlc ? std::filesystem::path() : request.output,
                                    .encodings_out = request.encodings_out,
                                    .encodings = request.quantization_overrides,
                                    .recipe = "",
                                    .target = target.name,
                                    .threads = request.threads,
                                    .dry_run = request.dry_run,
                                    .check = false,
                                    .strict = request.strict,
                                    .lenient = request.lenient,
                                    .fallback = request.fallback,
                                    .skip = request.skip,
                                    .convert = true,
                                    .force = request.force,
                                    .graph = std::move(graph)},
                                   progress);
  result.summary.remark = target.remark;
  return result;
}

}  // namespace halfstep
