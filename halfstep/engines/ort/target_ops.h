#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include <onnxruntime_cxx_api.h>

#include "halfstep/simulation/fixed_point.h"
#include "halfstep/simulation/pools.h"
#include "halfstep/simulation/softmax.h"
#include "halfstep/simulation/target_ops.h"

/// Runs the operators of the domain halfstep.target: arithmetic is that of halfstep/simulation.
namespace halfstep::ort {

struct RequantizeKernel {
  float scale = 0;
  std::vector<float> scales{};
  std::int64_t axis = 0;
  float step = 0;
  float highest = 0;
  bool vector_unit = false;
  float zero_point = 0;
  void Compute(OrtKernelContext* context) const;  // NOLINT(readability-identifier-naming)
};

struct AverageKernel {
  simulation::PoolAverage average;
  float scale = 0;
  float step = 0;
  float count = 1;
  void Compute(OrtKernelContext* context) const;  // NOLINT(readability-identifier-naming)
};

struct SecondOperandKernel {
  float step = 0;
  void Compute(OrtKernelContext* context) const;  // NOLINT(readability-identifier-naming)
};

using Norm = void (*)(const simulation::NormRow& row, std::span<double> output);

struct NormKernel {
  Norm norm = nullptr;
  bool by_channel = false;  ///< a row is a channel of an image, with one gamma and beta
  float step = 0;
  float zero_point = 0;
  float scale = 0;
  float gamma_scale = 0;
  float epsilon = 0;
  void Compute(OrtKernelContext* context) const;  // NOLINT(readability-identifier-naming)
};

using RowFunction = void (*)(const simulation::SoftmaxRow& row, std::span<double> output);

struct SoftmaxKernel {
  RowFunction function = nullptr;
  std::int64_t axis = -1;
  float scale = 0;
  float step = 0;
  void Compute(OrtKernelContext* context) const;  // NOLINT(readability-identifier-naming)
};

// Names, shadowing and results are what CustomOpBase wants.
// NOLINTBEGIN(readability-identifier-naming,modernize-use-nodiscard)
// NOLINTBEGIN(bugprone-crtp-constructor-accessibility,bugprone-derived-method-shadowing-base-method)
template <typename Op, typename Kernel>
struct FloatOp : Ort::CustomOpBase<Op, Kernel> {
  ONNXTensorElementDataType GetInputType(std::size_t) const {
    return ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT;
  }
  ONNXTensorElementDataType GetOutputType(std::size_t) const {
    return ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT;
  }
};

struct RequantizeOp final : FloatOp<RequantizeOp, RequantizeKernel> {
  void* CreateKernel(const OrtApi& api, const OrtKernelInfo* info) const;
  const char* GetName() const { return simulation::kRequantize.data(); }
  std::size_t GetInputTypeCount() const { return 2; }
  std::size_t GetOutputTypeCount() const { return 1; }
  OrtCustomOpInputOutputCharacteristic GetInputCharacteristic(std::size_t index) const {
    return index == 0 ? INPUT_OUTPUT_REQUIRED : INPUT_OUTPUT_OPTIONAL;
  }
};

struct AverageOp final : FloatOp<AverageOp, AverageKernel> {
  void* CreateKernel(const OrtApi& api, const OrtKernelInfo* info) const;
  const char* GetName() const { return simulation::kAverage.data(); }
  std::size_t GetInputTypeCount() const { return 1; }
  std::size_t GetOutputTypeCount() const { return 1; }
};

struct SecondOperandOp final : FloatOp<SecondOperandOp, SecondOperandKernel> {
  void* CreateKernel(const OrtApi& api, const OrtKernelInfo* info) const;
  const char* GetName() const { return simulation::kSecondOperand.data(); }
  std::size_t GetInputTypeCount() const { return 1; }
  std::size_t GetOutputTypeCount() const { return 2; }
};

struct NormOp final : FloatOp<NormOp, NormKernel> {
  NormOp(std::string_view name, Norm norm, bool by_channel)
      : name_(name), norm_(norm), by_channel_(by_channel) {}
  void* CreateKernel(const OrtApi& api, const OrtKernelInfo* info) const;
  const char* GetName() const { return name_.data(); }
  std::size_t GetInputTypeCount() const { return 3; }
  std::size_t GetOutputTypeCount() const { return 1; }
  OrtCustomOpInputOutputCharacteristic GetInputCharacteristic(std::size_t index) const {
    return index < 2 ? INPUT_OUTPUT_REQUIRED : INPUT_OUTPUT_OPTIONAL;
  }

 private:
  std::string_view name_;
  Norm norm_;
  bool by_channel_;
};

struct SoftmaxOp final : FloatOp<SoftmaxOp, SoftmaxKernel> {
  SoftmaxOp(std::string_view name, RowFunction function) : name_(name), function_(function) {}
  void* CreateKernel(const OrtApi& api, const OrtKernelInfo* info) const;
  const char* GetName() const { return name_.data(); }
  std::size_t GetInputTypeCount() const { return 1; }
  std::size_t GetOutputTypeCount() const { return 1; }

 private:
  std::string_view name_;
  RowFunction function_;
};
// NOLINTEND(bugprone-crtp-constructor-accessibility,bugprone-derived-method-shadowing-base-method)
// NOLINTEND(readability-identifier-naming,modernize-use-nodiscard)

/// The operators of the domain; must outlive the sessions that use it.
class TargetOps {
 public:
  TargetOps();
  [[nodiscard]] const Ort::CustomOpDomain& domain() const noexcept { return domain_; }

 private:
  RequantizeOp requantize_{};
  AverageOp average_{};
  SecondOperandOp second_operand_{};
  NormOp layer_norm_{simulation::kLayerNorm, simulation::layer_norm, false};
  NormOp rms_norm_{simulation::kRmsNorm, simulation::rms_norm, false};
  NormOp instance_norm_{simulation::kInstanceNorm, simulation::instance_norm, true};
  SoftmaxOp softmax_{simulation::kSoftmax, simulation::softmax};
  SoftmaxOp log_softmax_{simulation::kLogSoftmax, simulation::log_softmax};
  Ort::CustomOpDomain domain_;
};

}  // namespace halfstep::ort
