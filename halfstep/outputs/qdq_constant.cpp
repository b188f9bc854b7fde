// Constant tensors: stored as integers behind a DequantizeLinear.
#include <algorithm>
#include <cstdint>
#include <span>
#include <utility>

#include "halfstep/core/quantize.h"
#include "halfstep/outputs/constant_codes.h"
#include "halfstep/outputs/onnx_storage.h"
#include "halfstep/outputs/qdq_barrier.h"
#include "halfstep/outputs/qdq_writer.h"

namespace halfstep {
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

void QdqWriter::add_codes(const Subject& subject, const onnx::TensorProto& tensor,
                          const Encoding& encoding, const std::string& name) {
  const Dtype dtype = onnx_storage(encoding).value().dtype;
  const std::string where = "tensor \"" + subject.name + "\"";
  const auto measured = options_.streams.find(subject.name);
  if (measured != options_.streams.end()) {
    editor_.add_initializer(name, dtype, subject.shape, codes_of(measured->second, where));
    return;
  }
  const std::vector<std::byte>* kept = table_.codes(subject.name);
  const bool restore = kept != nullptr && subject.encoding == &encoding;
  if (!restore && is_streamable(tensor) && WeightStream::takes(encoding)) {
    const auto stream = std::make_shared<WeightStream>(float_source(model_, tensor), encoding,
                                                       dtype, options_.threads);
    editor_.add_initializer(name, dtype, subject.shape, codes_of(stream, where));
    return;
  }
  const std::vector<std::byte> codes =
      restore ? *kept
              : constant_codes(model_.floats(tensor), encoding, subject.shape, options_.threads);
  std::vector<std::byte> packed(
      packed_size(static_cast<std::size_t>(element_count(subject.shape)), dtype));
  pack(codes, dtype, packed);
  editor_.add_initializer(name, dtype, subject.shape, std::move(packed));
}

void QdqWriter::add_constant(const Subject& subject, const onnx::TensorProto& tensor,
                             const Encoding& encoding, const std::string& base,
                             const std::vector<std::pair<int, std::string>>& outputs,
                             bool barrier) {
  const std::string name = names_.fresh(base + "_quantized");
  add_codes(subject, tensor, encoding, name);
  const auto stream = options_.streams.find(subject.name);
  QdqParams params =
      stream != options_.streams.end()
          ? add_params(editor_, names_, base, stream->second)
          : add_params(editor_, names_, base, encoding, subject.shape, onnx_scale_type(encoding));
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
