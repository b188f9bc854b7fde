#include "halfstep/engines/ort/watch_op.h"

#include <cstring>
#include <utility>

namespace halfstep::ort {
namespace {

using InferredShape = Ort::ShapeInferContext::Shape;

/// The C++ header can't tell an unknown rank from a scalar, and refuses unknown extents.
bool fully_known(const InferredShape& shape) {
  for (const auto& extent : shape) {
    if (extent.IsInt() && extent.AsInt() < 0) {
      return false;
    }
  }
  return !shape.empty();
}

std::size_t first_to_first(int** input, int** output) {
  static constexpr int kFirst = 0;
  // ONNX Runtime only reads them and hands them back to the release function.
  *input = const_cast<int*>(&kFirst);
  *output = const_cast<int*>(&kFirst);
  return 1;
}

void release_nothing(int*, int*) {}

}  // namespace

void WatchSink::receive(std::size_t point, const float* data, const Shape& shape) noexcept {
  if (exception_) {
    return;
  }
  try {
    const WatchPoint& watched = points_.at(point);
    WatchedValue value{.data = data, .count = element_count(shape), .shape = shape};
    if (watched.channels > 0) {
      value.shape.at(1) = watched.channels;
      value.channel_block = channel_block_;
      value.padded = watched.channels % channel_block_ != 0;
    }
    callback_(watched.index, value);
  } catch (...) {
    exception_ = std::current_exception();
  }
}

void WatchSink::rethrow() {
  if (exception_) {
    std::rethrow_exception(std::exchange(exception_, nullptr));
  }
}

void WatchKernel::Compute(OrtKernelContext* context) {
  const Ort::KernelContext kernel(context);
  const Ort::ConstValue input = kernel.GetInput(0);
  const Shape shape = input.GetTensorTypeAndShapeInfo().GetShape();
  Ort::UnownedValue output = kernel.GetOutput(0, shape.data(), shape.size());
  const float* from = input.GetTensorData<float>();
  float* to = output.GetTensorMutableData<float>();
  sink->receive(point, from, shape);
  if (from != to) {
    std::memcpy(to, from, static_cast<std::size_t>(element_count(shape)) * sizeof(float));
  }
}

WatchOp::WatchOp(WatchSink* sink) : sink_(sink) {
  OrtCustomOp::GetMayInplace = first_to_first;
  OrtCustomOp::ReleaseMayInplace = release_nothing;
}

void* WatchOp::CreateKernel(const OrtApi&, const OrtKernelInfo* info) const {
  const auto point = Ort::ConstKernelInfo(info).GetAttribute<std::int64_t>("point");
  // Owned by ONNX Runtime, which deletes it through CustomOpBase.
  auto kernel = std::make_unique<WatchKernel>();
  kernel->sink = sink_;
  kernel->point = static_cast<std::size_t>(point);
  return kernel.release();
}

Ort::Status WatchOp::InferOutputShape(Ort::ShapeInferContext& context) {
  const InferredShape& shape = context.GetInputShape(0);
  return fully_known(shape) ? context.SetOutputShape(0, shape) : Ort::Status{nullptr};
}

}  // namespace halfstep::ort
