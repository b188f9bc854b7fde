#include "halfstep/pipeline_files.h"

#include <algorithm>
#include <vector>

#include "halfstep/output_check.h"
#include "halfstep/support/error.h"

namespace halfstep {
namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t kMegabyte = 1000 * 1000;

std::vector<InputFile> input_files(const QuantizeRequest& request, const Model& model,
                                   const SampleSource* samples) {
  std::vector<InputFile> inputs;
  for (const fs::path& file : model.files()) {
    inputs.push_back(
        {.what = inputs.empty() ? "the model" : "external data of the model", .path = file});
  }
  for (const fs::path& file : samples == nullptr ? std::vector<fs::path>() : samples->files()) {
    inputs.push_back({.what = "calibration data", .path = file});
  }
  inputs.push_back({.what = "the recipe", .path = request.recipe});
  inputs.push_back({.what = "the target", .path = request.target});
  inputs.push_back({.what = "the encodings", .path = request.encodings});
  inputs.push_back({.what = "the statistics", .path = request.statistics.from});
  return inputs;
}

}  // namespace

void require_free_outputs(const QuantizeRequest& request, const Model& model,
                          const SampleSource* samples) {
  const std::vector<InputFile> inputs = input_files(request, model, samples);
  check_output("output", request.output, inputs, request.force);
  if (!request.output.empty() && needs_external_data(model)) {  // then the result may, too
    check_output("external data of output", external_data_path(request.output), inputs,
                 request.force);
  }
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

fs::path OutputFiles::write_model(const Model& model) {
  if (request_.output.empty()) {
    return {};
  }
  model_.emplace(request_.output);
  progress_.begin("write", static_cast<std::size_t>(model.serialized_size() / kMegabyte));
  model_->write(model, [this](std::uint64_t bytes) {
    progress_.throw_if_cancelled();
    progress_.update(static_cast<std::size_t>(bytes / kMegabyte));
  });
  progress_.end();
  return model_->flush();
}

std::uint64_t OutputFiles::model_size(const Model& model) const {
  return model_ ? model_->size() : model.serialized_size();
}

void OutputFiles::write_encodings(const std::string& text) {
  if (!text.empty()) {
    encodings_.emplace(request_.encodings_out);
    encodings_->write(text);
  }
}

fs::path OutputFiles::dlc() {
  dlc_.emplace(request_.graph.dlc);
  return dlc_->flush();
}

void OutputFiles::commit() {
  if (dlc_) {
    dlc_->commit();
  }
  if (encodings_) {
    encodings_->commit();
  }
  if (model_) {
    model_->commit();
  }
}

}  // namespace halfstep
