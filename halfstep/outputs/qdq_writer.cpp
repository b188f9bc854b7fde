#include "halfstep/outputs/qdq_writer.h"

#include <algorithm>

#include "halfstep/model/node_metadata.h"
#include "halfstep/model/values.h"
#include "halfstep/outputs/onnx_storage.h"
#include "halfstep/support/error.h"

namespace halfstep {
namespace {

std::string type_name(int elem_type) {
  return onnx::TensorProto::DataType_Name(static_cast<onnx::TensorProto::DataType>(elem_type));
}

/// A shape of which nothing is known but that the encoding's axis exists.
Shape any_shape(const Encoding& encoding) {
  if (const auto* channel = std::get_if<PerChannel>(&encoding.granularity)) {
    return Shape(static_cast<std::size_t>(channel->axis.value_or(0)) + 1, -1);
  }
  return Shape(encoding.shape.size(), -1);
}

}  // namespace

QdqWriter::QdqWriter(Model& model, const EncodingTable& table, const QdqOptions& options,
                     Diagnostics& diagnostics)
    : model_(model),
      table_(table),
      options_(options),
      diagnostics_(diagnostics),
      index_(model),
      names_(model.graph()),
      editor_(model) {}

void QdqWriter::write(const std::string& tensor, const Encoding* encoding,
                      const std::vector<EncodedUse>& uses) {
  const Subject subject = describe(tensor, encoding, uses);
  if (!subject.read() && subject.uses.empty()) {
    return;  // nobody reads it, so there is nothing to say
  }
  const onnx::TensorProto* constant = index_.constant(tensor);
  try {
    if (subject.encoding != nullptr) {
      check(subject, *subject.encoding, constant != nullptr);
    }
    for (const EncodedUse& use : subject.uses) {
      check(subject, *use.encoding, constant != nullptr);
    }
    if (constant != nullptr) {
      write_constant(subject, *constant);
    } else {
      write_activation(subject);
    }
  } catch (const Error& error) {
    throw error.within("tensor \"" + tensor + "\"");
  }
}

QdqWriter::Subject QdqWriter::describe(const std::string& tensor, const Encoding* encoding,
                                       const std::vector<EncodedUse>& uses) const {
  const TensorType type = index_.type(tensor);
  const onnx::TensorProto* constant = index_.constant(tensor);
  Subject subject{.name = tensor,
                  .elem_type = constant != nullptr ? constant->data_type() : type.elem_type,
                  .shape = constant != nullptr ? shape_of(*constant) : type.shape.value_or(Shape{}),
                  .rank_known = constant != nullptr || type.shape.has_value(),
                  .encoding = encoding != nullptr && !encoding->is_float() ? encoding : nullptr,
                  .uses = {},
                  .plain = {},
                  .is_output = index_.is_graph_output(tensor)};
  const auto same = [&](const Encoding& own) {
    return subject.encoding == nullptr ? own.is_float() : own == *subject.encoding;
  };
  for (const EncodedUse& use : uses) {
    if (!same(*use.encoding)) {
      subject.uses.push_back(use);
    }
  }
  for (const Consumer& consumer : index_.consumers(tensor)) {
    const bool own = std::any_of(subject.uses.begin(), subject.uses.end(), [&](const auto& use) {
      return use.consumer.node == consumer.node && use.consumer.slot == consumer.slot;
    });
    if (!own) {
      subject.plain.push_back(consumer);
    }
  }
  return subject;
}

void QdqWriter::check(const Subject& subject, const Encoding& encoding, bool constant) {
  if (encoding.is_float()) {
    return;
  }
  if (subject.elem_type != 0 && !is_float_type(subject.elem_type)) {
    throw Error(ErrorKind::invalid_argument, "only float tensors can be quantized (this one is " +
                                                 type_name(subject.elem_type) +
                                                 "); leave it out of the encodings");
  }
  if (!options_.streams.contains(subject.name)) {  // else it is an outline
    validate(encoding, subject.rank_known ? subject.shape : any_shape(encoding));
  }
  if (!constant && !onnx_can_quantize(encoding) && !onnx_can_saturate(encoding)) {
    throw Error(ErrorKind::unsupported,
                "QuantizeLinear can't make values of type " + std::string(name(encoding.dtype)) +
                    " at run time; choose int8, uint8, int16, uint16, int4, uint4 or float8, or a "
                    "narrower integer with one scale for the tensor");
  }
}

void QdqWriter::insert_quantize(const Subject& subject, const std::string& base,
                                const QdqParams& params, int place, const std::string& input,
                                const std::string& output) {
  if (params.scale_node) {
    editor_.insert_before(place, *params.scale_node);
  }
  std::string source = input;
  if (subject.elem_type != onnx::TensorProto::FLOAT && subject.elem_type != 0) {
    source = names_.fresh(base + "_float32");
    editor_.insert_before(place, cast_node(names_, base, input, source, onnx::TensorProto::FLOAT));
  }
  if (!params.low.empty()) {
    const std::string saturated = names_.fresh(base + "_saturated");
    editor_.insert_before(place, saturate_node(names_, base, params, source, saturated));
    source = saturated;
  }
  onnx::NodeProto node = quantize_node(names_, base, params, source, output);
  if (options_.inner_pairs.contains(subject.name)) {
    set_metadata(node, kOpKey, kInnerPairMark);
  }
  editor_.insert_before(place, std::move(node));
}

void QdqWriter::insert_dequantize(const Subject& subject, const std::string& base,
                                  const QdqParams& params, int place, const std::string& input,
                                  const std::string& output) {
  if (subject.elem_type == onnx::TensorProto::FLOAT || subject.elem_type == 0) {
    editor_.insert_before(place, dequantize_node(names_, base, params, input, output));
    return;
  }
  // Scales stay float32, so that the model and its encodings agree to the last bit; ONNX Runtime
  // runs either form.
  const std::string wide = names_.fresh(output + "_float32");
  editor_.insert_before(place, dequantize_node(names_, base, params, input, wide));
  editor_.insert_before(place, cast_node(names_, output, wide, output, subject.elem_type));
}

void QdqWriter::redirect(const Subject& subject, const std::string& to) {
  for (const Consumer& consumer : subject.plain) {
    if (consumer.slot < 0) {
      editor_.rename_in_subgraphs(consumer.node, subject.name, to);
    } else {
      editor_.set_input(consumer.node, consumer.slot, to);
    }
  }
}

}  // namespace halfstep
