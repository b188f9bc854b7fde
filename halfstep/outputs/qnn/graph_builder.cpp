#include "halfstep/outputs/qnn/graph_builder.h"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <cstring>
#include <unordered_set>
#include <utility>

#include "halfstep/outputs/qnn/constant_data.h"
#include "halfstep/support/error.h"

namespace halfstep::qnn {
namespace {

std::vector<std::uint32_t> dims_of(const Shape& shape) {
  std::vector<std::uint32_t> dims;
  dims.reserve(shape.size());
  for (const std::int64_t extent : shape) {
    dims.push_back(static_cast<std::uint32_t>(extent));
  }
  return dims.empty() ? std::vector<std::uint32_t>{1} : dims;  // QNN has no scalars
}

template <typename T>
Param make_list(std::string name, std::span<const T> values, std::vector<std::uint32_t> dims,
                DataType type) {
  const auto bytes = std::as_bytes(values);
  Tensor tensor{.name = name,
                .kind = TensorKind::constant,
                .type = type,
                .dims = dims.empty() ? std::vector{static_cast<std::uint32_t>(values.size())}
                                     : std::move(dims),
                .data = {bytes.begin(), bytes.end()}};
  return {.name = std::move(name), .value = std::move(tensor)};
}

/// QNN finds a graph in a DLC again only by a name of letters, digits and "_".
std::string graph_name(std::string name) {
  std::ranges::replace_if(name, [](unsigned char c) { return std::isalnum(c) == 0; }, '_');
  return name.empty() ? "graph" : name;
}

}  // namespace

Param list_param(std::string name, std::span<const std::uint32_t> values,
                 std::vector<std::uint32_t> dims) {
  return make_list(std::move(name), values, std::move(dims), DataType::uint32);
}

Param list_param(std::string name, std::span<const std::int32_t> values,
                 std::vector<std::uint32_t> dims) {
  return make_list(std::move(name), values, std::move(dims), DataType::int32);
}

GraphBuilder::GraphBuilder(const LowerRequest& request)
    : request_(request),
      index_(request.model),
      keys_(request.model.graph()),
      names_(request.model.graph()) {
  graph_.name = graph_name(request.model.graph().name());
  number_groups();
  add_inputs();
}

/// Nodes that inner tensors connect are one group, numbered in the order of their first nodes.
void GraphBuilder::number_groups() {
  const onnx::GraphProto& graph = index_.graph();
  group_of_node_.assign(static_cast<std::size_t>(graph.node_size()), -1);
  int groups = 0;
  for (int node = 0; node < graph.node_size(); ++node) {
    int& own = group_of_node_[static_cast<std::size_t>(node)];
    for (const std::string& output : graph.node(node).output()) {
      if (!request_.inner.contains(output)) {
        continue;
      }
      own = own < 0 ? groups++ : own;
      for (const Consumer& consumer : index_.consumers(output)) {
        group_of_node_[static_cast<std::size_t>(consumer.node)] = own;
      }
    }
  }
}

void GraphBuilder::add_inputs() {
  for (const onnx::ValueInfoProto& input : index_.graph().input()) {
    if (index_.is_graph_input(input.name()) && !is_constant(input.name())) {
      make(input.name(), identity_layout(shape(input.name()).size()));
    }
  }
}

const Shape& GraphBuilder::shape(const std::string& tensor) {
  const auto known = shapes_.find(tensor);
  if (known != shapes_.end()) {
    return known->second;
  }
  const onnx::TensorProto* constant = index_.constant(tensor);
  const std::optional<Shape> found =
      constant != nullptr ? shape_of(*constant) : index_.type(tensor).shape;
  if (!found || std::any_of(found->begin(), found->end(), [](auto extent) { return extent < 1; })) {
    throw Error(ErrorKind::unsupported,
                "tensor '" + tensor + "' has the extents " +
                    (found ? to_text(*found) : std::string("(unknown)")) +
                    ", and QNN graphs are static; give the extents of the model's inputs (-d NAME "
                    "1,3,224,224), or write an ONNX file (-o out.onnx)");
  }
  return shapes_.emplace(tensor, *found).first->second;
}

std::vector<GraphBuilder::Form>& GraphBuilder::forms(const std::string& tensor) {
  const auto found = forms_.find(tensor);
  if (found == forms_.end()) {
    throw Error(ErrorKind::internal, "tensor '" + tensor + "' is read before it is made");
  }
  return found->second;
}

Layout GraphBuilder::made_in(const std::string& tensor) { return forms(tensor).front().layout; }

Layout GraphBuilder::preferred(const std::string& tensor) {
  const Layout& made = forms(tensor).front().layout;
  return travels(made) ? made : identity_layout(shape(tensor).size());
}

TensorType GraphBuilder::type_of(const std::string& tensor) {
  std::string end = tensor;
  while (request_.inner.contains(end) && !index_.consumers(end).empty()) {
    end = index_.graph().node(index_.consumers(end).front().node).output(0);
  }
  const Encoding* encoding = request_.encodings.find(end);
  if (encoding == nullptr) {
    return {.type = plain_type(index_.type(tensor).elem_type)};
  }
  return tensor_type(*encoding, shape(tensor), identity_layout(shape(tensor).size()));
}

// ---- names --------------------------------------------------------------------------------------

/// Graph inputs and outputs have their names in the order of the model; of other tensors what is
/// made first has the name.
std::string GraphBuilder::name_for(const std::string& tensor, const Layout& layout) {
  const bool border = index_.is_graph_input(tensor) || index_.is_graph_output(tensor);
  if (!by_name_.contains(tensor) && (!border || is_identity(layout))) {
    return tensor;
  }
  return names_.fresh(tensor + "_" + layout_name(layout));
}

std::string GraphBuilder::add_tensor(Tensor tensor) {
  std::string name = tensor.name;
  by_name_.emplace(name, graph_.tensors.size());
  graph_.tensors.push_back(std::move(tensor));
  return name;
}

std::string GraphBuilder::make(const std::string& tensor, const Layout& layout) {
  const TensorType type = type_of(tensor);
  Tensor made{.name = name_for(tensor, layout),
              .type = type.type,
              .dims = dims_of(stored_shape(shape(tensor), layout)),
              .quantization = type.quantization};
  if (made.name == tensor && index_.is_graph_input(tensor)) {
    made.kind = TensorKind::app_write;
  } else if (made.name == tensor && index_.is_graph_output(tensor)) {
    made.kind = TensorKind::app_read;
  }
  std::string name = add_tensor(std::move(made));
  forms_[tensor].push_back({.name = name, .layout = layout});
  return name;
}

std::string GraphBuilder::result(const std::string& tensor, const Layout& layout) {
  return make(tensor, layout);
}

std::string GraphBuilder::temporary(const std::string& base, const TensorType& type,
                                    const Shape& dims) {
  return add_tensor({.name = names_.fresh(base),
                     .type = type.type,
                     .dims = dims_of(dims),
                     .quantization = type.quantization});
}

std::string GraphBuilder::add_constant(const std::string& base, const TensorType& type,
                                       const Shape& dims, std::vector<std::byte> codes) {
  return add_tensor({.name = names_.fresh(base),
                     .kind = TensorKind::constant,
                     .type = type.type,
                     .dims = dims_of(dims),
                     .quantization = type.quantization,
                     .data = std::move(codes)});
}

std::string GraphBuilder::add_number(const std::string& base, double value, DataType type,
                                     const Shape& dims) {
  const auto count = static_cast<std::size_t>(element_count(dims));
  if (is_float(type)) {
    const std::vector<float> values(count, static_cast<float>(value));
    return add_constant(base, {.type = type}, dims, float_bytes(values, type));
  }
  const bool is_signed = (static_cast<std::uint32_t>(type) >> 8U) == 3 || type == DataType::int32;
  const double highest =
      std::exp2(8.0 * static_cast<double>(size_of(type)) - (is_signed ? 1 : 0)) - 1;
  TensorType full{.type = type};
  std::int64_t code = 0;
  if (is_fixed_point(type)) {
    // The number is the code farthest from zero; unsigned types hold negative ones below the
    // offset.
    const double scale = value == 0 ? 1.0 : std::fabs(value) / highest;
    const bool below = value < 0 && !is_signed;
    full.quantization = {.kind = Quantization::Kind::per_tensor,
                         .scales = {static_cast<float>(scale)},
                         .offsets = {below ? -static_cast<std::int32_t>(highest) : 0}};
    code = value == 0 || below ? 0 : static_cast<std::int64_t>(value < 0 ? -highest : highest);
  } else {
    code = std::llround(value);
  }
  std::vector<std::byte> codes(count * size_of(type));
  for (std::size_t i = 0; i < count; ++i) {
    std::memcpy(codes.data() + i * size_of(type), &code, size_of(type));  // little-endian
  }
  return add_constant(base, full, dims, std::move(codes));
}

void GraphBuilder::alias(const std::string& tensor, const std::string& source,
                         const Layout& layout_of_source, const Layout& layout) {
  forms_[tensor].push_back({.name = in_layout(source, layout_of_source), .layout = layout});
}

// ---- constants ----------------------------------------------------------------------------------

const Encoding* GraphBuilder::encoding_of(int node, int slot) {
  static const Encoding kFloat16{.dtype = Dtype::float16};
  const Encoding* given = given_encoding(node, slot);
  const std::string& first = index_.graph().node(node).input(0);
  const bool unpacks = given != nullptr && !request_.block_scales && slot > 0 &&
                       std::holds_alternative<PerBlock>(given->granularity) &&
                       !is_constant(first) && is_float(type_of(first).type);
  return unpacks ? &kFloat16 : given;
}

const Encoding* GraphBuilder::given_encoding(int node, int slot) const {
  const std::string& tensor = index_.graph().node(node).input(slot);
  return request_.encodings.find_use(
      {.node = keys_.key(node), .slot = static_cast<std::size_t>(slot)}, tensor);
}

std::string GraphBuilder::constant(int node, int slot, const Layout& layout) {
  const std::string& tensor = index_.graph().node(node).input(slot);
  const Encoding* encoding = encoding_of(node, slot);
  const Encoding* given = given_encoding(node, slot);
  const bool own_use = given != request_.encodings.find(tensor);
  const bool unpacks = encoding != given;
  if (unpacks) {
    unpacked_.insert(tensor);
  }
  const std::string key = tensor + "\n" + (own_use ? keys_.key(node) : "") + "\n" +
                          std::to_string(own_use ? slot : 0) + "\n" + layout_name(layout) +
                          (unpacks ? "\nfloat16" : "");
  const auto found = constants_.find(key);
  if (found != constants_.end()) {
    return found->second;
  }
  ConstantData data = constant_data(request_.model, *index_.constant(tensor), encoding,
                                    own_use || unpacks ? nullptr : request_.encodings.codes(tensor),
                                    layout, unpacks ? given : nullptr);
  std::string name = tensor;
  if (by_name_.contains(tensor) || index_.is_graph_output(tensor)) {
    name = names_.fresh(tensor + "_" + (own_use ? keys_.key(node) : layout_name(layout)));
  }
  Tensor made{.name = name,
              .kind = TensorKind::constant,
              .type = data.type.type,
              .dims = dims_of(data.dims),
              .quantization = std::move(data.type.quantization),
              .data = std::move(data.bytes)};
  request_.model.drop(*index_.constant(tensor));
  constants_.emplace(key, add_tensor(std::move(made)));
  if (name == tensor) {
    forms_[tensor].push_back({.name = name, .layout = layout});
  }
  return name;
}

}  // namespace halfstep::qnn
