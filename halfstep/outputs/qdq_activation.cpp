// Tensors that are computed, or given to the model: QuantizeLinear and DequantizeLinear behind
// them.
#include <algorithm>

#include "halfstep/outputs/qdq_writer.h"

namespace halfstep {

void QdqWriter::write_activation(const Subject& subject) {
  const int place = index_.producer(subject.name) + 1;
  const std::string source =
      subject.encoding != nullptr ? add_tensor_pair(subject, place) : subject.name;
  add_use_pairs(subject, source, place);
}

std::string QdqWriter::add_tensor_pair(const Subject& subject, int place) {
  const std::string& name = subject.name;
  QdqParams params = add_params(editor_, names_, name, *subject.encoding, subject.shape);
  add_bounds(editor_, names_, name, *subject.encoding, params);
  const std::string quantized = names_.fresh(name + "_quantized");
  const int producer = index_.producer(name);
  if (subject.is_output && producer >= 0) {
    const std::string before = names_.fresh(name + "_float");
    editor_.set_output(producer, name, before);
    insert_quantize(subject, name, params, place, before, quantized);
    insert_dequantize(subject, name, params, place, quantized, name);
    return name;
  }
  if (subject.is_output) {
    diagnostics_.push_back(
        {.severity = Severity::note,
         .rule = "qdq/input-is-output",
         .subject = name,
         .message = "this graph input is also a graph output; the output stays as given, only the "
                    "nodes that read it see the quantized values"});
  }
  const std::string dequantized = names_.fresh(name + "_dequantized");
  insert_quantize(subject, name, params, place, name, quantized);
  insert_dequantize(subject, name, params, place, quantized, dequantized);
  redirect(subject, dequantized);
  return dequantized;
}

/// Uses with equal encodings share the QuantizeLinear; each node has its own DequantizeLinear.
void QdqWriter::add_use_pairs(const Subject& subject, const std::string& source, int place) {
  struct Made {
    const Encoding* encoding;
    QdqParams params;
    std::string quantized;
  };
  std::vector<Made> made;
  std::vector<std::string> written;
  for (const EncodedUse& use : subject.uses) {
    if (use.encoding->is_float()) {
      editor_.set_input(use.consumer.node, use.consumer.slot, source);
      continue;
    }
    editor_.set_input(use.consumer.node, use.consumer.slot, use.derived);
    if (std::find(written.begin(), written.end(), use.derived) != written.end()) {
      continue;
    }
    auto found = std::find_if(made.begin(), made.end(),
                              [&](const Made& m) { return *m.encoding == *use.encoding; });
    if (found == made.end()) {
      made.push_back(
          {.encoding = use.encoding,
           .params = add_params(editor_, names_, use.derived, *use.encoding, subject.shape),
           .quantized = names_.fresh(use.derived + "_quantized")});
      found = std::prev(made.end());
      add_bounds(editor_, names_, use.derived, *use.encoding, found->params);
      insert_quantize(subject, use.derived, found->params, place, source, found->quantized);
    }
    insert_dequantize(subject, use.derived, found->params, place, found->quantized, use.derived);
    written.push_back(use.derived);
  }
}

}  // namespace halfstep
