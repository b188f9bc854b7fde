#include "halfstep/calibration/float_session.h"

#include <utility>
#include <vector>

#include "halfstep/calibration/cast.h"
#include "halfstep/calibration/samples.h"
#include "halfstep/model/widen.h"
#include "halfstep/support/error.h"

namespace halfstep {
namespace {

/// Feeds samples of another float type to a session that wants float32.
class WideningSession final : public Session {
 public:
  WideningSession(std::unique_ptr<Session> session, std::vector<TensorInfo> inputs)
      : session_(std::move(session)), inputs_(std::move(inputs)) {}

  [[nodiscard]] const std::vector<TensorInfo>& inputs() const override { return inputs_; }
  [[nodiscard]] const std::vector<TensorInfo>& outputs() const override {
    return session_->outputs();
  }
  [[nodiscard]] std::vector<Tensor> run(const Sample& sample) override {
    Sample wide;
    for (const auto& [name, tensor] : sample) {
      const bool convert = is_floating(tensor.dtype) && tensor.dtype != Dtype::float32;
      wide.emplace(name, convert ? cast_tensor(tensor, Dtype::float32) : tensor);
    }
    return session_->run(wide);
  }

 private:
  std::unique_ptr<Session> session_;
  std::vector<TensorInfo> inputs_;
};

}  // namespace

FloatSession open_float_session(const Model& model, Engine& engine, const SessionOptions& options,
                                Diagnostics& diagnostics) {
  try {
    return {.session = engine.open(model, options)};
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::unsupported || !has_other_floats(model)) {
      throw;
    }
    diagnostics.push_back(
        {.severity = Severity::warning,
         .rule = "calibration/widened",
         .subject = model.name(),
         .message = error.context().back() +
                    "; its float16, bfloat16 and float64 tensors are measured in float32 instead"});
    return {.session = std::make_unique<WideningSession>(engine.open(widened(model), options),
                                                         sample_inputs(model)),
            .widened = true};
  }
}

}  // namespace halfstep
