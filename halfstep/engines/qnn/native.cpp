#include "halfstep/engines/qnn/native.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <unordered_map>
#include <variant>
#include <vector>

namespace halfstep::qnn {
namespace {

constexpr const char* kPackage = "qti.aisw";
constexpr std::uint32_t kDefined = 1;

std::int32_t offset_at(const Quantization& quantization, std::size_t i) {
  return quantization.offsets.empty() ? 0 : quantization.offsets[i];
}

api::Encoding encoding_of(Quantization::Kind kind) {
  switch (kind) {
    case Quantization::Kind::none:
      return api::Encoding::undefined;
    case Quantization::Kind::per_tensor:
      return api::Encoding::scale_offset;
    case Quantization::Kind::per_axis:
      return api::Encoding::axis_scale_offset;
    case Quantization::Kind::per_tensor_bits:
      return api::Encoding::bits_scale_offset;
    case Quantization::Kind::per_axis_bits:
      return api::Encoding::bits_axis_scale_offset;
    case Quantization::Kind::block:
      return api::Encoding::block;
    case Quantization::Kind::block_expansion:
      return api::Encoding::block_expansion;
  }
  return api::Encoding::undefined;
}

}  // namespace

template <typename T>
T* NativeGraph::array(std::size_t count) {
  static_assert(std::is_trivially_destructible_v<T>);
  auto* place =
      static_cast<T*>(memory_.allocate(std::max<std::size_t>(count, 1) * sizeof(T), alignof(T)));
  std::uninitialized_value_construct_n(place, std::max<std::size_t>(count, 1));
  return place;
}

const char* NativeGraph::text(std::string_view value) {
  char* copy = array<char>(value.size() + 1);
  std::ranges::copy(value, copy);
  return copy;
}

api::ScaleOffset* NativeGraph::scale_offsets(const Quantization& quantization) {
  auto* values = array<api::ScaleOffset>(quantization.scales.size());
  for (std::size_t i = 0; i < quantization.scales.size(); ++i) {
    values[i] = {.scale = quantization.scales[i], .offset = offset_at(quantization, i)};
  }
  return values;
}

void NativeGraph::fill(api::QuantizeParams& params, const Quantization& q) {
  using Kind = Quantization::Kind;
  params.definition = q.kind == Kind::none ? api::kUndefined : kDefined;
  params.encoding = encoding_of(q.kind);
  const auto count = static_cast<std::uint32_t>(q.scales.size());
  switch (q.kind) {
    case Kind::none:
      break;
    case Kind::per_tensor:
      params.scale_offset = {.scale = q.scales[0], .offset = offset_at(q, 0)};
      break;
    case Kind::per_tensor_bits:
      params.bits = {.bits = q.bits, .scale = q.scales[0], .offset = offset_at(q, 0)};
      break;
    case Kind::per_axis:
      params.axis = {.axis = q.axis, .count = count, .values = scale_offsets(q)};
      break;
    case Kind::per_axis_bits: {
      auto* scales = array<float>(count);
      auto* offsets = array<std::int32_t>(count);  // the IR backend crashes without offsets
      for (std::size_t i = 0; i < count; ++i) {
        scales[i] = q.scales[i];
        offsets[i] = offset_at(q, i);
      }
      params.bits_axis = {
          .bits = q.bits, .axis = q.axis, .count = count, .scales = scales, .offsets = offsets};
      break;
    }
    case Kind::block: {
      auto* extents = array<std::uint32_t>(q.block.size());
      std::ranges::copy(q.block, extents);
      params.block = {.block_size = extents, .values = scale_offsets(q)};
      break;
    }
    case Kind::block_expansion: {
      auto* scales = array<std::uint8_t>(q.block_scales.size());
      std::ranges::copy(q.block_scales, scales);
      auto* expansion = array<api::BlockExpansion>(1);
      *expansion = {.axis = q.axis,
                    .values = scale_offsets(q),
                    .blocks_per_axis = q.blocks_per_axis,
                    .block_scale_bits = q.block_scale_bits,
                    .storage = 0,
                    .block_scales = scales};
      params.block_expansion = expansion;
      break;
    }
  }
}

api::Tensor NativeGraph::make_tensor(const Tensor& tensor, std::string_view name) {
  api::Tensor result{};
  result.version = 1;
  api::TensorV1& v1 = result.v1;
  v1.name = text(name);
  v1.type = static_cast<std::uint32_t>(tensor.kind);
  v1.data_type = static_cast<std::uint32_t>(tensor.type);
  fill(v1.quantization, tensor.quantization);
  v1.rank = static_cast<std::uint32_t>(tensor.dims.size());
  v1.dims = array<std::uint32_t>(tensor.dims.size());
  std::ranges::copy(tensor.dims, v1.dims);
  if (tensor.kind == TensorKind::constant) {
    // The libraries only read it.
    v1.buffer.data = const_cast<std::byte*>(tensor.data.data());  // NOLINT: as the C API has it
    v1.buffer.size = static_cast<std::uint32_t>(tensor.data.size());
  }
  return result;
}

api::Param NativeGraph::make_param(const Op& op, const Param& param) {
  api::Param result{};
  result.name = text(param.name);
  if (const auto* tensor = std::get_if<Tensor>(&param.value)) {
    result.kind = 1;
    const Tensor constant{.kind = TensorKind::constant, .type = tensor->type, .dims = tensor->dims};
    result.tensor = make_tensor(constant, op.name + "_" + param.name);
    fill(result.tensor.v1.quantization, tensor->quantization);
    result.tensor.v1.buffer.data =
        const_cast<std::byte*>(tensor->data.data());  // NOLINT: as the C API has it
    result.tensor.v1.buffer.size = static_cast<std::uint32_t>(tensor->data.size());
    return result;
  }
  result.kind = 0;
  const auto set = [&](DataType type) {
    result.scalar.data_type = static_cast<std::uint32_t>(type);
  };
  if (const auto* truth = std::get_if<bool>(&param.value)) {
    set(DataType::bool8);
    result.scalar.bool_value = *truth ? 1 : 0;
  } else if (const auto* count = std::get_if<std::uint32_t>(&param.value)) {
    set(DataType::uint32);
    result.scalar.uint32_value = *count;
  } else if (const auto* number = std::get_if<std::int32_t>(&param.value)) {
    set(DataType::int32);
    result.scalar.int32_value = *number;
  } else if (const auto* words = std::get_if<std::string>(&param.value)) {
    result.scalar.data_type = api::kString;
    result.scalar.text = text(*words);
  } else {
    set(DataType::float32);
    result.scalar.float_value = std::get<float>(param.value);
  }
  return result;
}

NativeGraph::NativeGraph(const Graph& graph, std::span<const std::string> keep) : graph_(&graph) {
  for (const Tensor& tensor : graph.tensors) {
    api::Tensor native = make_tensor(tensor, tensor.name);
    if (tensor.kind == TensorKind::native && std::ranges::find(keep, tensor.name) != keep.end()) {
      native.v1.type = static_cast<std::uint32_t>(TensorKind::app_read);
    }
    tensors_.emplace(tensor.name, native);
  }
  for (const Op& op : graph.ops) {
    auto* params = array<api::Param>(op.params.size());
    for (std::size_t i = 0; i < op.params.size(); ++i) {
      params[i] = make_param(op, op.params[i]);
    }
    params_.emplace_back(params, op.params.size());
  }
}

std::vector<api::Tensor*> NativeGraph::tensor_params(std::size_t index) {
  std::vector<api::Tensor*> found;
  for (api::Param& param : params_[index]) {
    if (param.kind == 1) {
      found.push_back(&param.tensor);
    }
  }
  return found;
}

api::OpConfig NativeGraph::op(std::size_t index) {
  const Op& op = graph_->ops[index];
  const auto operands = [&](const std::vector<std::string>& names) {
    auto* tensors = array<api::Tensor>(names.size());
    for (std::size_t i = 0; i < names.size(); ++i) {
      tensors[i] = tensors_.at(names[i]);
    }
    return tensors;
  };
  return {.version = 1,
          .name = text(op.name),
          .package = kPackage,
          .type = text(op.type),
          .param_count = static_cast<std::uint32_t>(op.params.size()),
          .params = params_[index].data(),
          .input_count = static_cast<std::uint32_t>(op.inputs.size()),
          .inputs = operands(op.inputs),
          .output_count = static_cast<std::uint32_t>(op.outputs.size()),
          .outputs = operands(op.outputs)};
}

api::OpConfig NativeGraph::op_of_no_kernel(std::size_t index) {
  api::OpConfig config = op(index);
  const auto change = [&](api::Tensor* tensors, std::uint32_t count) {
    for (api::Tensor& tensor : std::span(tensors, count)) {
      if (tensor.v1.type == static_cast<std::uint32_t>(TensorKind::null)) {
        continue;
      }
      tensor.v1.data_type = static_cast<std::uint32_t>(DataType::int64);
      tensor.v1.type = static_cast<std::uint32_t>(TensorKind::native);
      tensor.v1.buffer = {};
      fill(tensor.v1.quantization, Quantization{});
    }
  };
  change(config.inputs, config.input_count);
  change(config.outputs, config.output_count);
  return config;
}

}  // namespace halfstep::qnn
