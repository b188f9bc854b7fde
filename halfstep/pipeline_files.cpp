#include "halfstep/pipeline_files.h"

#include "halfstep/output_check.h"
#include "halfstep/support/error.h"

namespace halfstep {

void require_free_outputs(const QuantizeRequest& request, const Model& model,
                          const SampleSource* samples) {
  std::vector<InputFile> inputs;
  for (const std::filesystem::path& file : model.files()) {
    inputs.push_back(
        {.what = inputs.empty() ? "the model" : "external data of the model", .path = file});
  }
  const std::vector<std::filesystem::path> files =
      samples == nullptr ? std::vector<std::filesystem::path>() : samples->files();
  for (const std::filesystem::path& file : files) {
    inputs.push_back({.what = "calibration data", .path = file});
  }
  inputs.push_back({.what = "the recipe", .path = request.recipe});
  inputs.push_back({.what = "the target", .path = request.target});
  inputs.push_back({.what = "the encodings", .path = request.encodings});
  inputs.push_back({.what = "the statistics", .path = request.statistics.from});
  check_output("output", request.output, inputs, request.force);
  check_output("encodings_out", request.encodings_out, inputs, request.force);
  check_output("dlc", request.graph.dlc, inputs, request.force);
  check_output("stats", request.statistics.to, inputs, request.force);
  require(!same_file(request.graph.dlc, request.output) &&
              !same_file(request.graph.dlc, request.encodings_out),
          "dlc and another output are the same file, " + request.graph.dlc.string() +
              "; give two names");
  require(request.output.empty() || !same_file(request.output, request.encodings_out),
          "output and encodings_out are the same file, " + request.output.string() +
              "; give two names");
}

}  // namespace halfstep
