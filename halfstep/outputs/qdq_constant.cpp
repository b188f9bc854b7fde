// Constant tensors: stored as integers behind a DequantizeLinear.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <span>
#include <utility>
#include <variant>

#include "halfstep/core/quantize.h"
#include "halfstep/outputs/onnx_storage.h"
#include "halfstep/outputs/qdq_barrier.h"
#include "halfstep/outputs/qdq_writer.h"

namespace halfstep {
namespace {

bool is_wide(const Encoding& encoding) {
  return is_integer(encoding.dtype) && bits(encoding.dtype) == 32 && encoding.minval.empty() &&
         (std::holds_alternative<PerTensor>(encoding.granularity) ||
          std::holds_alternative<PerChannel>(encoding.granularity));
}

/// 32-bit codes (biases) as QuantizeLinear defines them: the quotient is a float32. Beyond 2^24
/// steps it is coarser than the code, as the float32 value itself is; other tools store the same.
std::vector<std::byte> wide_codes(const std::vector<float>& values, const Encoding& encoding,
                                  const Shape& shape) {
  std::size_t inner = 1;  // values that share a scale in a row
  if (const auto* channel = std::get_if<PerChannel>(&encoding.granularity)) {
    const auto axis = static_cast<std::size_t>(channel->axis.value_or(0));
    inner = static_cast<std::size_t>(element_count(std::span(shape).subspan(axis + 1)));
  }
  const auto lowest = static_cast<double>(info(encoding.dtype).lowest);
  const auto highest = static_cast<double>(info(encoding.dtype).highest);
  std::vector<std::byte> codes(values.size() * sizeof(std::uint32_t));
  for (std::size_t i = 0; i < values.size(); ++i) {
    const std::size_t unit = encoding.scale.size() == 1 ? 0 : i / inner % encoding.scale.size();
    const float steps = values[i] / encoding.scale[unit];
    const auto zero_point =
        static_cast<double>(encoding.zero_point.empty() ? 0 : encoding.zero_point[unit]);
    const double code = std::isnan(steps) ? zero_point : std::rint(steps) + zero_point;
    const auto stored = static_cast<std::int64_t>(std::clamp(code, lowest, highest));
    std::memcpy(codes.data() + i * sizeof(std::uint32_t), &stored, sizeof(std::uint32_t));
  }
  return codes;
}

/// One code a value, in storage_size() bytes of the encoding's own type.
std::vector<std::byte> quantized(const std::vector<float>& values, const Encoding& encoding,
                                 const Shape& shape, int threads) {
  if (is_wide(encoding)) {
    return wide_codes(values, stored_encoding(encoding), shape);  // uint32 goes as int32
  }
  const Mapping mapping = bind(encoding, shape, Role::weight);
  std::vector<std::byte> codes(values.size() * storage_size(encoding.dtype));
  quantize({values.data(), shape}, mapping, codes, threads);
  return codes;
}

/// The codes that the stored type has for the values of `encoding`.
std::vector<std::byte> stored_codes(std::vector<float> values, const Encoding& encoding,
                                    const Shape& shape, int threads) {
  std::vector<std::byte> codes = quantized(values, encoding, shape, threads);
  if (!encoding.half_step) {
    return codes;
  }
  // The grid of half steps is a part of the finer stored grid, so the way over its values is exact.
  dequantize(codes, bind(encoding, shape, Role::weight), {values.data(), shape}, threads);
  return quantized(values, stored_encoding(encoding), shape, threads);
}

}  // namespace

void QdqWriter::write_constant(const Subject& subject, const onnx::TensorProto& tensor) {
  const bool quantize_tensor = subject.encoding != nullptr && subject.read();
  const bool float_use =
      std::any_of(subject.uses.begin(), subject.uses.end(),
                  [](const EncodedUse& use) { return use.encoding->is_float(); });
  const bool keep_float = float_use || (subject.encoding == nullptr && subject.read());
  const std::string float_name =
      quantize_tensor && keep_float ? names_.fresh(subject.name + "_float") : subject.name;
  if (quantize_tensor) {
    const int place =
        subject.plain.empty() ? index_.graph().node_size() : subject.plain.front().node;
    const bool barrier = std::any_of(
        subject.plain.begin(), subject.plain.end(),
        [&](const Consumer& consumer) { return needs_barrier(*subject.encoding, consumer); });
    add_constant(subject, tensor, *subject.encoding, subject.name, {{place, subject.name}},
                 barrier);
  }
  write_constant_uses(subject, tensor, float_name);
  model_.drop(tensor);
  place_float(subject, float_name, keep_float);
}

void QdqWriter::write_constant_uses(const Subject& subject, const onnx::TensorProto& tensor,
                                    const std::string& float_name) {
  std::vector<const EncodedUse*> open;
  for (const EncodedUse& use : subject.uses) {
    if (use.encoding->is_float()) {
      editor_.set_input(use.consumer.node, use.consumer.slot, float_name);
    } else {
      editor_.set_input(use.consumer.node, use.consumer.slot, use.derived);
      open.push_back(&use);
    }
  }
  while (!open.empty()) {
    const EncodedUse& first = *open.front();
    const auto rest = std::stable_partition(open.begin(), open.end(), [&](const EncodedUse* use) {
      return *use->encoding == *first.encoding;
    });
    std::vector<std::pair<int, std::string>> outputs;
    bool barrier = false;
    for (auto use = open.begin(); use != rest; ++use) {
      const std::pair output{(*use)->consumer.node, (*use)->derived};
      barrier = barrier || needs_barrier(*first.encoding, (*use)->consumer);
      if (std::find(outputs.begin(), outputs.end(), output) == outputs.end()) {
        outputs.push_back(output);
      }
    }
    add_constant(subject, tensor, *first.encoding, first.derived, outputs, barrier);
    open.erase(open.begin(), rest);
  }
}

void QdqWriter::add_constant(const Subject& subject, const onnx::TensorProto& tensor,
                             const Encoding& encoding, const std::string& base,
                             const std::vector<std::pair<int, std::string>>& outputs,
                             bool barrier) {
  const Dtype dtype = onnx_storage(encoding).value().dtype;
  const std::vector<std::byte>* kept = table_.codes(subject.name);
  const bool restore = kept != nullptr && subject.encoding == &encoding;
  const std::vector<std::byte> codes =
      restore ? *kept
              : stored_codes(model_.floats(tensor), encoding, subject.shape, options_.threads);
  std::vector<std::byte> packed(
      packed_size(static_cast<std::size_t>(element_count(subject.shape)), dtype));
  pack(codes, dtype, packed);

  const std::string name = names_.fresh(base + "_quantized");
  editor_.add_initializer(name, dtype, subject.shape, std::move(packed));
  QdqParams params = add_params(editor_, names_, base, encoding, subject.shape);
  if (params.scale_node) {
    editor_.insert_before(outputs.front().first, *std::exchange(params.scale_node, std::nullopt));
  }
  for (const auto& [place, output] : outputs) {
    if (!barrier) {
      insert_dequantize(subject, output, params, place, name, output);
      continue;
    }
    const std::string dequantized = names_.fresh(output + "_dequantized");
    const std::string shape = names_.fresh(output + "_shape");
    const auto shape_bytes = std::as_bytes(std::span(subject.shape));
    insert_dequantize(subject, output, params, place, name, dequantized);
    editor_.add_initializer(shape, Dtype::int64, {static_cast<std::int64_t>(subject.shape.size())},
                            {shape_bytes.begin(), shape_bytes.end()});
    editor_.insert_before(place, reshape_node(names_, output, dequantized, shape, output));
  }
}

bool QdqWriter::needs_barrier(const Encoding& encoding, const Consumer& consumer) const {
  return options_.engine_barriers && consumer.slot >= 0 &&
         engine_misreads(table_, index_, encoding, consumer);
}

/// The float values stay only while somebody reads them; a DequantizeLinear may have taken their
/// name.
void QdqWriter::place_float(const Subject& subject, const std::string& float_name, bool needed) {
  const int producer = index_.producer(subject.name);
  if (producer >= 0) {
    if (!needed) {
      editor_.remove_node(producer);
    } else if (float_name != subject.name) {
      editor_.set_output(producer, subject.name, float_name);
    }
    return;
  }
  if (!needed) {
    editor_.remove_initializer(subject.name);
  } else if (float_name != subject.name) {
    editor_.rename_initializer(subject.name, float_name);
  }
}

}  // namespace halfstep
