#include "halfstep/outputs/qdq_stream.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstring>
#include <span>
#include <utility>
#include <vector>

#include "halfstep/core/minifloat.h"
#include "halfstep/encodings/linear_form.h"
#include "halfstep/model/values.h"
#include "halfstep/outputs/onnx_storage.h"
#include "halfstep/support/error.h"

namespace halfstep {
namespace {

using onnx::TensorProto;
constexpr std::size_t kBuffer = 4096;

/// Bytes of zeros.
ByteProducer zeros(std::uint64_t size) {
  return {.size = size, .write = [size](const ByteSink& sink) {
            constexpr std::array<std::byte, kBuffer> kZeros{};
            for (std::uint64_t left = size; left > 0;) {
              const auto part = std::min<std::uint64_t>(left, kBuffer);
              sink(std::span(kZeros).first(static_cast<std::size_t>(part)));
              left -= part;
            }
          }};
}

/// The unit of each parameter in the order in which ONNX has them.
class Order {
 public:
  Order(const LinearForm& layout, const WeightStream& stream)
      : count_(static_cast<std::size_t>(element_count(layout.shape))) {
    if (count_ != static_cast<std::size_t>(stream.grid().units())) {
      units_ = linear_form(stream.outline(), stream.shape(), Spread::full).units;
    }
  }
  [[nodiscard]] std::size_t count() const noexcept { return count_; }
  [[nodiscard]] std::size_t operator[](std::size_t i) const {
    return units_.empty() ? i : units_[i];
  }

 private:
  std::size_t count_;
  std::vector<std::size_t> units_{};  // empty: the order of the units themselves
};

/// One element a parameter, made by `value`, handed on in small pieces.
template <typename T, typename Value>
void write_each(const Order& order, const Value& value, const ByteSink& sink) {
  std::vector<T> buffer;
  buffer.reserve(kBuffer);
  for (std::size_t i = 0; i < order.count(); ++i) {
    buffer.push_back(value(order[i]));
    if (buffer.size() == kBuffer || i + 1 == order.count()) {
      sink(std::as_bytes(std::span(buffer)));
      buffer.clear();
    }
  }
}

ByteProducer scales(const std::shared_ptr<WeightStream>& stream, const LinearForm& layout,
                    Dtype dtype) {
  const auto count = static_cast<std::uint64_t>(element_count(layout.shape));
  return {.size = count * storage_size(dtype), .write = [=](const ByteSink& sink) {
            const std::vector<float>& scale = stream->parameters().scale;
            const Order order(layout, *stream);
            if (dtype == Dtype::float32) {
              write_each<float>(order, [&](std::size_t unit) { return scale[unit]; }, sink);
            } else {
              write_each<std::uint8_t>(
                  order, [&](std::size_t unit) { return float_to_e8m0(scale[unit]); }, sink);
            }
            if (!stream->has_zero_points()) {
              stream->drop_parameters();
            }
          }};
}

ByteProducer zero_points(const std::shared_ptr<WeightStream>& stream, const LinearForm& layout,
                         Dtype dtype) {
  const auto count = static_cast<std::size_t>(element_count(layout.shape));
  const std::size_t size = packed_size(count, dtype);
  if (!stream->has_zero_points()) {
    return zeros(size);
  }
  return {.size = size, .write = [=](const ByteSink& sink) {
            const std::vector<std::int32_t>& zero_point = stream->parameters().zero_point;
            const Order order(layout, *stream);
            const std::size_t width = storage_size(dtype);
            std::vector<std::byte> codes(count * width);
            for (std::size_t i = 0; i < count; ++i) {
              std::memcpy(codes.data() + i * width, &zero_point[order[i]], width);
            }
            stream->drop_parameters();
            std::vector<std::byte> packed(size);
            pack(codes, dtype, packed);
            sink(packed);
          }};
}

}  // namespace

bool is_streamable(const TensorProto& tensor) {
  const int type = tensor.data_type();
  const bool known = type == TensorProto::FLOAT || type == TensorProto::FLOAT16 ||
                     type == TensorProto::BFLOAT16 || type == TensorProto::DOUBLE;
  return known && byte_size(tensor).value_or(0) >= kStreamedBytes;
}

FloatSource float_source(const Model& model, const TensorProto& tensor) {
  // The model never lets go of bytes that it lends.
  const auto bytes = std::make_shared<const TensorBytes>(model.data(tensor));
  FloatSource source{.bytes = bytes->span(),
                     .dtype = dtype_from_onnx(tensor.data_type()).value(),
                     .shape = shape_of(tensor),
                     .owner = bytes};
  if (const auto file = model.mapped_file(tensor)) {
    source.prefetch = [file](std::span<const std::byte> part) { file->prefetch(part); };
    source.drop = [file](std::span<const std::byte> part) { file->drop(part); };
  }
  return source;
}

ByteProducer codes_of(std::shared_ptr<WeightStream> stream, std::string where) {
  const std::uint64_t size = stream->codes_size();
  return {.size = size,
          .write = [stream = std::move(stream), where = std::move(where)](const ByteSink& sink) {
            try {
              stream->write_codes(sink);
            } catch (const Error& error) {
              throw error.within(where);
            }
          }};
}

QdqParams add_params(GraphEditor& editor, NameMaker& names, const std::string& base,
                     const std::shared_ptr<WeightStream>& stream) {
  const Encoding outline = stream->outline();
  const LinearForm layout = linear_layout(outline, stream->shape(), Spread::full);
  const Dtype zero_point = onnx_storage(outline).value().dtype;
  QdqParams params{.scale = names.fresh(base + "_scale"),
                   .zero_point = names.fresh(base + "_zero_point"),
                   .axis = layout.axis,
                   .block_size = layout.block_size,
                   .scale_type = onnx_scale_type(outline),
                   .dtype = std::string(narrow_type(outline))};
  editor.add_initializer(params.scale, params.scale_type, layout.shape,
                         scales(stream, layout, params.scale_type));
  editor.add_initializer(params.zero_point, zero_point, layout.shape,
                         zero_points(stream, layout, zero_point));
  return params;
}

}  // namespace halfstep
