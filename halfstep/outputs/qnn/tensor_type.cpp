#include "halfstep/outputs/qnn/tensor_type.h"

#include <optional>
#include <variant>
#include <vector>

#include <onnx/onnx_pb.h>

#include "halfstep/model/values.h"
#include "halfstep/support/error.h"

namespace halfstep::qnn {
namespace {

DataType data_type(Dtype dtype) {
  switch (dtype) {
    case Dtype::float16:
      return DataType::float16;
    case Dtype::bfloat16:
      return DataType::bfloat16;
    case Dtype::float32:
      return DataType::float32;
    case Dtype::int16:
      return DataType::sfixed16;
    case Dtype::uint16:
      return DataType::ufixed16;
    case Dtype::int32:
      return DataType::sfixed32;
    case Dtype::uint32:
      return DataType::ufixed32;
    default:
      break;
  }
  if (is_integer(dtype) && bits(dtype) <= 8) {
    return is_signed_integer(dtype) ? DataType::sfixed8 : DataType::ufixed8;
  }
  throw Error(ErrorKind::unsupported, "QNN has no tensors of " + std::string(name(dtype)) +
                                          "; give an integer type of up to 16 bits, or float16");
}

/// Significant bits that QNN knows inside an 8-bit type.
std::uint32_t significant(Dtype dtype) {
  const int own = bits(dtype);
  return own <= 2 ? 2U : own <= 4 ? 4U : own <= 8 ? 8U : static_cast<std::uint32_t>(own);
}

std::int32_t offset_at(const Encoding& encoding, std::size_t unit) {
  return encoding.zero_point.empty() ? 0 : -static_cast<std::int32_t>(encoding.zero_point[unit]);
}

void add_unit(const Encoding& encoding, std::size_t unit, Quantization& result) {
  result.scales.push_back(encoding.scale[unit]);
  result.offsets.push_back(offset_at(encoding, unit));
}

/// Calls `visit` with the row-major index of every unit of a grid, the channel axis slowest.
template <typename Visit>
void channel_major(const Shape& counts, std::size_t channel, const Visit& visit) {
  const Shape strides = row_major_strides(counts);
  const auto inner = static_cast<std::size_t>(element_count(counts) / counts[channel]);
  for (std::int64_t c = 0; c < counts[channel]; ++c) {
    for (std::size_t rest = 0; rest < inner; ++rest) {
      std::int64_t index = c * strides[channel];
      std::size_t left = rest;
      for (std::size_t axis = counts.size(); axis-- > 0;) {
        if (axis != channel) {
          const auto extent = static_cast<std::size_t>(counts[axis]);
          index += static_cast<std::int64_t>(left % extent) * strides[axis];
          left /= extent;
        }
      }
      visit(static_cast<std::size_t>(index));
    }
  }
}

/// The axis of a grid of blocks that is not cut: the one with as many units as values.
std::size_t uncut_axis(const Shape& counts, const Shape& shape) {
  std::size_t axis = 0;
  for (std::size_t i = 0; i < shape.size(); ++i) {
    if (counts[i] == shape[i] && (counts[axis] != shape[axis] || shape[i] > shape[axis])) {
      axis = i;
    }
  }
  return axis;
}

Quantization in_blocks(const Encoding& encoding, const Shape& shape, const Layout& layout) {
  Quantization result{.kind = Quantization::Kind::block, .bits = significant(encoding.dtype)};
  channel_major(encoding.shape, uncut_axis(encoding.shape, shape),
                [&](std::size_t unit) { add_unit(encoding, unit, result); });
  for (const int axis : layout) {
    const auto i = static_cast<std::size_t>(axis);
    result.block.push_back(axis < 0 ? 1U
                                    : static_cast<std::uint32_t>(shape[i] / encoding.shape[i]));
  }
  return result;
}

Quantization block_expansion(const Encoding& encoding, const Lpbq& lpbq, const Layout& layout) {
  const auto channel = static_cast<std::size_t>(lpbq.channel_axis.value_or(0));
  const auto axis = static_cast<std::size_t>(lpbq.axis.value_or(1));
  Quantization result{
      .kind = Quantization::Kind::block_expansion,
      .axis = static_cast<std::int32_t>(stored_axis(layout, lpbq.channel_axis.value_or(0))),
      .bits = significant(encoding.dtype),
      .blocks_per_axis = static_cast<std::uint32_t>(encoding.shape[axis]),
      .block_scale_bits =
          static_cast<std::uint32_t>(lpbq.decompressed_bits - bits(encoding.dtype))};
  for (std::size_t i = 0; i < encoding.scale.size(); ++i) {
    add_unit(encoding, i, result);
  }
  channel_major(encoding.shape, channel, [&](std::size_t unit) {
    result.block_scales.push_back(static_cast<std::uint8_t>(encoding.block_scale[unit]));
  });
  return result;
}

Quantization quantization_of(const Encoding& encoding, const Shape& shape, const Layout& layout) {
  if (const auto* lpbq = std::get_if<Lpbq>(&encoding.granularity)) {
    return block_expansion(encoding, *lpbq, layout);
  }
  if (std::holds_alternative<PerBlock>(encoding.granularity)) {
    return in_blocks(encoding, shape, layout);
  }
  const auto* channel = std::get_if<PerChannel>(&encoding.granularity);
  const std::uint32_t width = significant(encoding.dtype);
  Quantization result;
  result.bits = width;
  if (channel != nullptr) {
    result.kind = width < 8 ? Quantization::Kind::per_axis_bits : Quantization::Kind::per_axis;
    result.axis = static_cast<std::int32_t>(stored_axis(layout, channel->axis.value_or(0)));
  } else {
    result.kind = width < 8 ? Quantization::Kind::per_tensor_bits : Quantization::Kind::per_tensor;
  }
  for (std::size_t i = 0; i < encoding.scale.size(); ++i) {
    add_unit(encoding, i, result);
  }
  return result;
}

}  // namespace

bool same_type(const TensorType& a, const TensorType& b) {
  const Quantization &x = a.quantization, &y = b.quantization;
  return a.type == b.type && x.kind == y.kind && x.scales == y.scales && x.offsets == y.offsets &&
         x.axis == y.axis && x.bits == y.bits && x.block == y.block &&
         x.blocks_per_axis == y.blocks_per_axis && x.block_scales == y.block_scales;
}

bool is_fixed_point(DataType type) noexcept {
  const auto family = static_cast<std::uint32_t>(type) >> 8U;
  return family == 3 || family == 4;
}

bool is_float(DataType type) noexcept {
  return type == DataType::float32 || type == DataType::float16 || type == DataType::bfloat16;
}

std::size_t size_of(DataType type) noexcept {
  switch (static_cast<std::uint32_t>(type) & 0xffU) {
    case 0x64:
      return 8;
    case 0x32:
      return 4;
    case 0x16:
    case 0x17:
      return 2;
    default:
      return 1;
  }
}

DataType plain_type(int elem_type) {
  switch (elem_type) {
    case onnx::TensorProto::FLOAT:
    case onnx::TensorProto::DOUBLE:
      return DataType::float32;
    case onnx::TensorProto::FLOAT16:
      return DataType::float16;
    case onnx::TensorProto::BFLOAT16:
      return DataType::bfloat16;
    case onnx::TensorProto::INT64:
    case onnx::TensorProto::INT32:
      return DataType::int32;
    case onnx::TensorProto::UINT32:
      return DataType::uint32;
    case onnx::TensorProto::INT16:
      return DataType::int16;
    case onnx::TensorProto::UINT16:
      return DataType::uint16;
    case onnx::TensorProto::INT8:
      return DataType::int8;
    case onnx::TensorProto::UINT8:
      return DataType::uint8;
    case onnx::TensorProto::BOOL:
      return DataType::bool8;
    default:
      throw Error(ErrorKind::unsupported,
                  "QNN has no tensors of type " + element_type_name(elem_type));
  }
}

TensorType tensor_type(const Encoding& encoding, const Shape& shape, const Layout& layout) {
  TensorType result{.type = data_type(encoding.dtype)};
  if (encoding.is_float()) {
    return result;
  }
  if (!encoding.minval.empty()) {
    throw Error(ErrorKind::unsupported,
                "QNN has scales and offsets, no minimum values (the minval formulation)");
  }
  result.quantization = quantization_of(encoding, shape, layout);
  return result;
}

}  // namespace halfstep::qnn
