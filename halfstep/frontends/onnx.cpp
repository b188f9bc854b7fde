#include "halfstep/frontends/onnx.h"

#include <filesystem>
#include <string>

#include "halfstep/model/model.h"
#include "halfstep/support/diagnostic.h"

namespace halfstep {

Model load_onnx(const std::filesystem::path& path, Diagnostics& diagnostics) {
  constexpr int kSafeOpset = 13;
  Model model = Model::load(path);
  const auto warn = [&diagnostics](const char* rule, std::string subject, std::string message) {
    diagnostics.push_back({.severity = Severity::warning,
                           .rule = rule,
                           .subject = std::move(subject),
                           .message = std::move(message)});
  };
  if (model.opset() < kSafeOpset) {
    warn("onnx/old-opset", model.name(),
         "opset " + std::to_string(model.opset()) + " is older than " + std::to_string(kSafeOpset) +
             "; it is raised where the result needs it. Exporting the model with opset 13 or newer "
             "avoids "
             "surprises");
  }
  if (model.proto().training_info_size() > 0) {
    warn("onnx/training-graph", model.name(),
         "the model carries training graphs; they are kept as they are and not quantized");
  }
  return model;
}

}  // namespace halfstep
