#include "halfstep/convert.h"

#include <utility>

namespace halfstep {

QuantizeResult convert(Model model, const ConvertRequest& request, Progress& progress) {
  const ChosenTarget target = choose_target(request.target);
  QuantizeResult result = quantize(std::move(model), nullptr, nullptr,
                                   {.output = request.output,
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
                                    .force = request.force},
                                   progress);
  result.summary.remark = target.remark;
  return result;
}

}  // namespace halfstep
