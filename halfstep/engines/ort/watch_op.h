#pragma once

#include <cstddef>
#include <exception>
#include <string_view>
#include <vector>

#include <onnxruntime_cxx_api.h>

#include "halfstep/engines/engine.h"
#include "halfstep/engines/ort/watch_graph.h"

namespace halfstep::ort {

/// Receives the tensors that pass through the watch ops of one session.
class WatchSink {
 public:
  WatchSink(WatchCallback callback, std::vector<WatchPoint> points, std::int64_t channel_block)
      : callback_(std::move(callback)), points_(std::move(points)), channel_block_(channel_block) {}
  /// Hands a value of points()[point] to the callback. An exception is kept for take_exception().
  void receive(std::size_t point, const float* data, const Shape& shape) noexcept;
  /// Rethrows what the callback threw during a run.
  void rethrow();

 private:
  WatchCallback callback_;
  std::vector<WatchPoint> points_;
  std::int64_t channel_block_;
  std::exception_ptr exception_{};
};

/// One node halfstep.watch::Watch: hands its input to the sink and on.
struct WatchKernel {
  WatchSink* sink = nullptr;
  std::size_t point = 0;
  void Compute(OrtKernelContext* context);  // NOLINT(readability-identifier-naming)
};

/// The op halfstep.watch::Watch with the attribute `point`. May work in place, and infers its
/// shape, so that ONNX Runtime's planner gives it one buffer for input and output and nothing is
/// copied.
class WatchOp : public Ort::CustomOpBase<WatchOp, WatchKernel> {
 public:
  explicit WatchOp(WatchSink* sink);
  // NOLINTBEGIN(readability-identifier-naming): names that CustomOpBase calls
  void* CreateKernel(const OrtApi& api, const OrtKernelInfo* info) const;
  const char* GetName() const { return kWatchOp; }
  std::size_t GetInputTypeCount() const { return 1; }
  std::size_t GetOutputTypeCount() const { return 1; }
  ONNXTensorElementDataType GetInputType(std::size_t) const {
    return ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT;
  }
  ONNXTensorElementDataType GetOutputType(std::size_t) const {
    return ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT;
  }
  static Ort::Status InferOutputShape(Ort::ShapeInferContext& context);
  // NOLINTEND(readability-identifier-naming)

 private:
  WatchSink* sink_;
};

}  // namespace halfstep::ort
