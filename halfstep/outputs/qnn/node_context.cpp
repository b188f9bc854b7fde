#include "halfstep/outputs/qnn/node_context.h"

#include <cstring>

#include "halfstep/model/op_facts.h"
#include "halfstep/support/error.h"

namespace halfstep::qnn {

std::int64_t NodeContext::attribute(std::string_view name, std::int64_t fallback) const {
  return int_attribute(node, name, fallback);
}

float NodeContext::attribute(std::string_view name, float fallback) const {
  const onnx::AttributeProto* found = find_attribute(node, name);
  return found == nullptr ? fallback : found->f();
}

std::string NodeContext::attribute(std::string_view name, const char* fallback) const {
  const onnx::AttributeProto* found = find_attribute(node, name);
  return found == nullptr ? fallback : found->s();
}

std::vector<std::int64_t> NodeContext::list(std::string_view name) const {
  const onnx::AttributeProto* found = find_attribute(node, name);
  return found == nullptr ? std::vector<std::int64_t>()
                          : std::vector<std::int64_t>(found->ints().begin(), found->ints().end());
}

std::optional<std::vector<std::int64_t>> NodeContext::integers(std::string_view name,
                                                               int slot) const {
  if (!has(slot)) {
    return find_attribute(node, name) == nullptr ? std::nullopt : std::optional(list(name));
  }
  const onnx::TensorProto* constant = graph.index().constant(in(slot));
  if (constant == nullptr) {
    refuse("its input " + std::string(name) + " is computed, and QNN wants it constant");
  }
  const TensorBytes bytes = graph.model().data(*constant);
  std::vector<std::int64_t> values;
  const std::size_t width = constant->data_type() == onnx::TensorProto::INT32 ? 4 : 8;
  for (std::size_t at = 0; at + width <= bytes.size(); at += width) {
    std::int32_t narrow = 0;
    std::int64_t value = 0;
    if (width == 4) {
      std::memcpy(&narrow, bytes.span().data() + at, width);
      value = narrow;
    } else {
      std::memcpy(&value, bytes.span().data() + at, width);
    }
    values.push_back(value);
  }
  return values;
}

std::optional<float> NodeContext::number(std::string_view name, int slot) const {
  if (!has(slot)) {
    const onnx::AttributeProto* found = find_attribute(node, name);
    return found == nullptr ? std::nullopt : std::optional(found->f());
  }
  const onnx::TensorProto* constant = graph.index().constant(in(slot));
  if (constant == nullptr) {
    refuse("its input " + std::string(name) + " is computed, and QNN wants it constant");
  }
  const std::vector<float> values = graph.model().floats(*constant);
  return values.empty() ? std::nullopt : std::optional(values.front());
}

std::int64_t NodeContext::axis(std::int64_t fallback, std::size_t rank) const {
  return normalized_axis(attribute("axis", fallback), rank);
}

std::string NodeContext::operand(int slot, const Layout& layout) const {
  return is_constant(slot) ? graph.constant(index, slot, layout)
                           : graph.in_layout(in(slot), layout);
}

std::string NodeContext::operand(int slot) const {
  return operand(slot, identity_layout(rank(slot)));
}

TensorType NodeContext::operand_type(int slot) const {
  if (!is_constant(slot)) {
    return graph.type_of(in(slot));
  }
  const Encoding* encoding = graph.encoding_of(index, slot);
  const Layout identity = identity_layout(rank(slot));
  return encoding != nullptr
             ? tensor_type(*encoding, in_shape(slot), identity)
             : TensorType{.type = plain_type(graph.index().constant(in(slot))->data_type())};
}

Layout NodeContext::shared_layout() const {
  const std::size_t rank = out_shape().size();
  for (int slot = 0; slot < node.input_size(); ++slot) {
    if (has(slot) && !is_constant(slot) && in_shape(slot).size() == rank) {
      const Layout layout = graph.preferred(in(slot));
      if (!is_identity(layout)) {
        return layout;
      }
    }
  }
  return identity_layout(rank);
}

void NodeContext::refuse(const std::string& reason) const {
  throw Error(ErrorKind::unsupported, reason);
}

}  // namespace halfstep::qnn
