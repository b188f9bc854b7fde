#include "halfstep/engines/ort/target_ops.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <memory>
#include <numeric>
#include <span>
#include <string>

#include "halfstep/simulation/fixed_point.h"

namespace halfstep::ort {
namespace {

using simulation::Requantizer;
using Extents = std::vector<std::int64_t>;

std::size_t product(std::span<const std::int64_t> extents) {
  return std::accumulate(
      extents.begin(), extents.end(), std::size_t{1},
      [](std::size_t a, std::int64_t b) { return a * static_cast<std::size_t>(b); });
}

/// Where an index of a row-major array lies along one axis.
struct Axis {
  std::size_t extent = 1;
  std::size_t inner = 1;
  [[nodiscard]] std::size_t of(std::size_t index) const { return index / inner % extent; }
};

Axis axis_of(const Extents& extents, std::int64_t axis) {
  const auto at = static_cast<std::size_t>(axis);
  return {.extent = static_cast<std::size_t>(extents.at(at)),
          .inner = product(std::span(extents).subspan(at + 1))};
}

/// One sum; see kRequantize.
float requantized(const RequantizeKernel& kernel, const Requantizer& requantizer, double unit,
                  float value) {
  const double sum = std::nearbyint(static_cast<double>(value) / unit);
  if (kernel.highest > 0) {
    return static_cast<float>(simulation::activation_input(sum, unit, kernel.step, kernel.highest));
  }
  return static_cast<float>(std::floor(requantizer.steps(sum) + 0.5) * kernel.step);
}

std::string text(std::string_view name) { return std::string(name); }

}  // namespace

void RequantizeKernel::Compute(OrtKernelContext* context) const {
  const Ort::KernelContext kernel(context);
  const Ort::ConstValue input = kernel.GetInput(0);
  const auto unit_of = [this](std::size_t i) {
    return static_cast<double>(scale) * static_cast<double>(scales[i]);
  };
  const Extents shape = input.GetTensorTypeAndShapeInfo().GetShape();
  const std::size_t count = product(shape);
  const float* from = input.GetTensorData<float>();
  float* to = kernel.GetOutput(0, shape.data(), shape.size()).GetTensorMutableData<float>();
  if (kernel.GetInputCount() > 1 && kernel.GetInput(1) != nullptr) {
    const Ort::ConstValue factors = kernel.GetInput(1);
    const std::size_t known = factors.GetTensorTypeAndShapeInfo().GetElementCount();
    const float* factor = factors.GetTensorData<float>();
    const std::size_t columns = static_cast<std::size_t>(shape.back());
    const std::size_t rows =
        shape.size() > 1 ? static_cast<std::size_t>(shape[shape.size() - 2]) : 1;
    for (std::size_t i = 0; i < count; ++i) {
      // Matrices of fewer leading axes are repeated.
      const std::size_t at = (i / (rows * columns) * columns + i % columns) % known;
      const double worth = unit_of(0) * static_cast<double>(factor[at]);
      to[i] = requantized(*this, Requantizer(worth, step), worth, from[i]);
    }
    return;
  }
  std::vector<Requantizer> requantizers;
  requantizers.reserve(scales.size());
  for (std::size_t i = 0; i < scales.size(); ++i) {
    requantizers.push_back(vector_unit ? Requantizer::of_vector_unit(unit_of(i), step, zero_point)
                                       : Requantizer(unit_of(i), step));
  }
  const Axis channels = axis_of(shape, axis);
  for (std::size_t i = 0; i < count; ++i) {
    const std::size_t channel = scales.size() == 1 ? 0 : channels.of(i);
    to[i] = requantized(*this, requantizers.at(channel), unit_of(channel), from[i]);
  }
}

void AverageKernel::Compute(OrtKernelContext* context) const {
  const Ort::KernelContext kernel(context);
  const Ort::ConstValue input = kernel.GetInput(0);
  const Extents shape = input.GetTensorTypeAndShapeInfo().GetShape();
  const float* from = input.GetTensorData<float>();
  float* to = kernel.GetOutput(0, shape.data(), shape.size()).GetTensorMutableData<float>();
  std::transform(from, from + product(shape), to, [this](float mean) {
    double sum = static_cast<double>(mean) * count / scale;
    if (count > 1) {
      sum = std::nearbyint(sum);
    }
    return static_cast<float>(average.code(sum) * step);
  });
}

void SecondOperandKernel::Compute(OrtKernelContext* context) const {
  const Ort::KernelContext kernel(context);
  const Ort::ConstValue input = kernel.GetInput(0);
  const Extents shape = input.GetTensorTypeAndShapeInfo().GetShape();
  const auto columns = static_cast<std::size_t>(shape.back());
  const std::size_t matrix = columns * static_cast<std::size_t>(shape.at(shape.size() - 2));
  Extents factors = shape;
  factors.at(factors.size() - 2) = 1;
  const float* from = input.GetTensorData<float>();
  float* to = kernel.GetOutput(0, shape.data(), shape.size()).GetTensorMutableData<float>();
  float* factor = kernel.GetOutput(1, factors.data(), factors.size()).GetTensorMutableData<float>();
  const std::size_t count = product(shape);
  std::vector<double> codes(matrix);
  for (std::size_t start = 0; start < count; start += matrix) {
    std::transform(from + start, from + start + matrix, codes.begin(), [this](float value) {
      return std::nearbyint(static_cast<double>(value) / static_cast<double>(step));
    });
    const simulation::SecondOperand second = simulation::second_operand(codes, columns);
    for (std::size_t i = 0; i < matrix; ++i) {
      to[start + i] = static_cast<float>(second.codes[i] * second.factor[i % columns] * step);
    }
    for (std::size_t i = 0; i < columns; ++i) {
      factor[start / matrix * columns + i] = static_cast<float>(second.factor[i]);
    }
  }
}

void NormKernel::Compute(OrtKernelContext* context) const {
  const Ort::KernelContext kernel(context);
  const Ort::ConstValue input = kernel.GetInput(0);
  const Extents shape = input.GetTensorTypeAndShapeInfo().GetShape();
  const auto in_steps = [&](std::size_t slot) {
    const Ort::ConstValue value = kernel.GetInput(slot);
    const float* from = value.GetTensorData<float>();
    std::vector<double> steps(from, from + value.GetTensorTypeAndShapeInfo().GetElementCount());
    for (double& one : steps) {
      one /= step;
    }
    return steps;
  };
  const std::vector<double> gamma = in_steps(1);
  const bool has_beta = kernel.GetInputCount() > 2 && kernel.GetInput(2) != nullptr;
  const std::vector<double> beta = has_beta ? in_steps(2) : std::vector<double>();
  const std::size_t count = product(shape);
  const auto images = static_cast<std::size_t>(shape.at(0));
  const std::size_t size = by_channel ? count / std::max<std::size_t>(images * gamma.size(), 1)
                                      : static_cast<std::size_t>(shape.back());
  const float* from = input.GetTensorData<float>();
  float* to = kernel.GetOutput(0, shape.data(), shape.size()).GetTensorMutableData<float>();
  std::vector<double> codes(size);
  std::vector<double> result(size);
  simulation::NormRow row{.codes = codes,
                          .epsilon = epsilon / (static_cast<double>(scale) * scale),
                          .gamma = gamma,
                          .gamma_scale = static_cast<double>(gamma_scale) / step,
                          .beta = beta,
                          .zero_point = zero_point};
  for (std::size_t start = 0; start < count; start += size) {
    std::transform(from + start, from + start + size, codes.begin(),
                   [this](float x) { return std::nearbyint(x / static_cast<double>(scale)); });
    if (by_channel) {
      const std::size_t channel = start / size % gamma.size();
      row.gamma = std::span(gamma).subspan(channel, 1);
      row.beta = has_beta ? std::span(beta).subspan(channel, 1) : std::span<const double>();
    }
    norm(row, result);
    std::transform(result.begin(), result.end(), to + start,
                   [this](double code) { return static_cast<float>((code - zero_point) * step); });
  }
}

void SoftmaxKernel::Compute(OrtKernelContext* context) const {
  const Ort::KernelContext kernel(context);
  const Ort::ConstValue input = kernel.GetInput(0);
  const Extents shape = input.GetTensorTypeAndShapeInfo().GetShape();
  const auto rank = static_cast<std::int64_t>(shape.size());
  const Axis along = axis_of(shape, axis < 0 ? axis + rank : axis);
  const float* from = input.GetTensorData<float>();
  float* to = kernel.GetOutput(0, shape.data(), shape.size()).GetTensorMutableData<float>();
  const std::size_t count = product(shape);
  std::vector<double> codes(along.extent);
  std::vector<double> result(along.extent);
  for (std::size_t start = 0; start < count; ++start) {
    if (along.of(start) != 0) {
      continue;  // inside a row
    }
    for (std::size_t i = 0; i < along.extent; ++i) {
      codes[i] = std::nearbyint(from[start + i * along.inner] / static_cast<double>(scale));
    }
    function({.codes = codes, .scale = scale, .step = step}, result);
    for (std::size_t i = 0; i < along.extent; ++i) {
      to[start + i * along.inner] = static_cast<float>(result[i]);
    }
  }
}

// Kernels are owned by ONNX Runtime, which deletes them through CustomOpBase.
void* RequantizeOp::CreateKernel(const OrtApi&, const OrtKernelInfo* info) const {
  const Ort::ConstKernelInfo facts(info);
  auto kernel = std::make_unique<RequantizeKernel>();
  kernel->scale = facts.GetAttribute<float>(text(simulation::kScale).c_str());
  kernel->scales = facts.GetAttributes<float>(text(simulation::kScales).c_str());
  kernel->axis = facts.GetAttribute<std::int64_t>(text(simulation::kAxis).c_str());
  kernel->step = facts.GetAttribute<float>(text(simulation::kStep).c_str());
  kernel->highest = facts.GetAttribute<float>(text(simulation::kHighest).c_str());
  kernel->vector_unit =
      facts.GetAttribute<std::int64_t>(text(simulation::kVectorUnit).c_str()) != 0;
  kernel->zero_point = facts.GetAttribute<float>(text(simulation::kZeroPoint).c_str());
  return kernel.release();
}

void* AverageOp::CreateKernel(const OrtApi&, const OrtKernelInfo* info) const {
  const Ort::ConstKernelInfo facts(info);
  const auto scale = facts.GetAttribute<float>(text(simulation::kScale).c_str());
  const auto step = facts.GetAttribute<float>(text(simulation::kStep).c_str());
  const auto count = facts.GetAttribute<float>(text(simulation::kCount).c_str());
  const auto zero_point = facts.GetAttribute<float>(text(simulation::kZeroPoint).c_str());
  const auto way = static_cast<simulation::PoolWay>(
      facts.GetAttribute<std::int64_t>(text(simulation::kWay).c_str()));
  auto kernel = std::make_unique<AverageKernel>(
      AverageKernel{.average = {way, scale, step, count, zero_point},
                    .scale = scale,
                    .step = step,
                    .count = count});
  return kernel.release();
}

void* SecondOperandOp::CreateKernel(const OrtApi&, const OrtKernelInfo* info) const {
  auto kernel = std::make_unique<SecondOperandKernel>();
  kernel->step = Ort::ConstKernelInfo(info).GetAttribute<float>(text(simulation::kStep).c_str());
  return kernel.release();
}

void* NormOp::CreateKernel(const OrtApi&, const OrtKernelInfo* info) const {
  const Ort::ConstKernelInfo facts(info);
  auto kernel = std::make_unique<NormKernel>();
  kernel->norm = norm_;
  kernel->by_channel = by_channel_;
  kernel->step = facts.GetAttribute<float>(text(simulation::kStep).c_str());
  kernel->zero_point = facts.GetAttribute<float>(text(simulation::kZeroPoint).c_str());
  kernel->scale = facts.GetAttribute<float>(text(simulation::kScale).c_str());
  kernel->gamma_scale = facts.GetAttribute<float>(text(simulation::kGammaScale).c_str());
  kernel->epsilon = facts.GetAttribute<float>(text(simulation::kEpsilon).c_str());
  return kernel.release();
}

void* SoftmaxOp::CreateKernel(const OrtApi&, const OrtKernelInfo* info) const {
  const Ort::ConstKernelInfo facts(info);
  auto kernel = std::make_unique<SoftmaxKernel>();
  kernel->function = function_;
  kernel->step = facts.GetAttribute<float>(text(simulation::kStep).c_str());
  kernel->axis = facts.GetAttribute<std::int64_t>(text(simulation::kAxis).c_str());
  kernel->scale = facts.GetAttribute<float>(text(simulation::kScale).c_str());
  return kernel.release();
}

TargetOps::TargetOps() : domain_(text(simulation::kDomain).c_str()) {
  domain_.Add(&requantize_);
  domain_.Add(&average_);
  domain_.Add(&second_operand_);
  domain_.Add(&layer_norm_);
  domain_.Add(&rms_norm_);
  domain_.Add(&instance_norm_);
  domain_.Add(&softmax_);
  domain_.Add(&log_softmax_);
}

}  // namespace halfstep::ort
