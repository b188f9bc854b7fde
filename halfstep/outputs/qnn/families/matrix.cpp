// Products of matrices.
#include <algorithm>
#include <cstring>
#include <utility>

#include "halfstep/outputs/qnn/constant_data.h"
#include "halfstep/outputs/qnn/families/families.h"

namespace halfstep::qnn {
namespace {

bool is_gemm(const NodeContext& context) { return context.node.op_type() == "Gemm"; }

/// A product and, where a group says so, the Add of a constant per column behind it: one operator.
struct Product {
  std::string output{};  ///< tensor of the model
  int bias_node = -1;    ///< whose input the bias is, -1: there is none
  int bias_slot = -1;
};

Product product_of(const NodeContext& context) {
  Product product{.output = context.out()};
  if (context.has(2)) {
    product.bias_node = context.index;
    product.bias_slot = 2;
    return product;
  }
  const auto readers = context.graph.index().consumers(context.out());
  if (!context.graph.is_inner(context.out()) || readers.size() != 1 || readers[0].slot < 0) {
    return product;
  }
  const onnx::NodeProto& add = context.graph.index().graph().node(readers[0].node);
  const int slot = 1 - readers[0].slot;
  if (add.op_type() != "Add" || !context.graph.is_constant(add.input(slot)) ||
      context.graph.shape(add.output(0)) != context.out_shape() ||
      context.graph.shape(add.input(slot)).empty() ||
      context.graph.shape(add.input(slot)).back() != context.out_shape().back() ||
      element_count(context.graph.shape(add.input(slot))) != context.out_shape().back()) {
    return product;
  }
  context.graph.absorb(readers[0].node);
  return {.output = add.output(0), .bias_node = readers[0].node, .bias_slot = slot};
}

/// A constant of one value, or one for each column.
std::string bias(const NodeContext& context, const Product& product) {
  GraphBuilder& graph = context.graph;
  const std::string& tensor =
      graph.index().graph().node(product.bias_node).input(product.bias_slot);
  const Shape& shape = graph.shape(tensor);
  const std::int64_t columns = context.out_shape().back();
  const std::int64_t count = element_count(shape);
  if (!graph.is_constant(tensor) || (count != columns && count != 1) ||
      (!shape.empty() && shape.back() != count)) {
    context.refuse("its input C has the extents " + to_text(shape) +
                   (graph.is_constant(tensor) ? "" : " and is computed") +
                   "; QNN adds a constant for each column. Make it an Add behind the Gemm");
  }
  const Layout row = shape.empty() ? Layout{-1} : Layout{static_cast<int>(shape.size()) - 1};
  if (count == columns) {
    return graph.constant(product.bias_node, product.bias_slot, row);
  }
  const ConstantData one =
      constant_data(graph.model(), *graph.index().constant(tensor),
                    graph.encoding_of(product.bias_node, product.bias_slot), nullptr, row);
  std::vector<std::byte> bytes;
  for (std::int64_t i = 0; i < columns; ++i) {
    bytes.insert(bytes.end(), one.bytes.begin(), one.bytes.end());
  }
  return graph.add_constant(tensor + "_row", one.type, {columns}, std::move(bytes));
}

/// The last two axes swapped.
Layout swapped(std::size_t rank) {
  Layout layout = identity_layout(rank);
  std::swap(layout[rank - 1], layout[rank - 2]);
  return layout;
}

/// A factor of MatMul, and whether the operator has to swap its last two axes.
struct Factor {
  std::string name{};
  bool is_swapped = false;
};

Factor factor(const NodeContext& context, int slot, bool transposed) {
  const std::size_t rank = context.rank(slot);
  if (rank == 1) {  // a row on the left, a column on the right
    return {.name = context.operand(slot, slot == 0 ? Layout{-1, 0} : Layout{0, -1})};
  }
  if (!context.is_constant(slot) && context.graph.made_in(context.in(slot)) == swapped(rank)) {
    return {.name = context.operand(slot, swapped(rank)), .is_swapped = !transposed};
  }
  return {.name = context.operand(slot), .is_swapped = transposed};
}

Layout product_layout(const NodeContext& context) {
  const std::size_t rank = context.out_shape().size();
  Layout layout = identity_layout(rank);
  if (!is_gemm(context) && context.rank(0) == 1) {
    layout.insert(layout.end() - (context.rank(1) == 1 ? 0 : 1), -1);
  }
  if (!is_gemm(context) && context.rank(1) == 1) {
    layout.push_back(-1);
  }
  return layout;
}

}  // namespace

/// Filter [output, input]. The result has two axes, so that of more is a MatMul, whose kernels take
/// the same types; but for 2-bit filters beside 8-bit activations, which only this operator takes.
void lower_fully_connected(const NodeContext& context) {
  const bool narrow =
      context.operand_type(1).quantization.bits == 2 && size_of(context.operand_type(0).type) == 1;
  const std::size_t rank = context.out_shape().size();
  if (rank > 2 && !narrow) {
    lower_matmul(context);
    return;
  }
  const bool as_stored = is_gemm(context) && context.attribute("transB", std::int64_t{0}) != 0;
  std::vector<std::string> inputs{context.operand(0),
                                  context.operand(1, as_stored ? Layout{0, 1} : Layout{1, 0})};
  const Product product = product_of(context);
  if (product.bias_node >= 0) {
    inputs.push_back(bias(context, product));
  }
  GraphBuilder& graph = context.graph;
  const Layout identity = identity_layout(rank);
  if (rank <= 2) {
    graph.add(context.op, std::move(inputs), {graph.result(product.output, identity)});
    return;
  }
  const std::int64_t columns = context.out_shape().back();
  const std::string rows = graph.temporary(product.output + "_rows", graph.type_of(product.output),
                                           {element_count(context.out_shape()) / columns, columns});
  graph.add(context.op, std::move(inputs), {rows});
  graph.add("Reshape", {rows}, {graph.result(product.output, identity)}, {}, "reshape");
}

void lower_matmul(const NodeContext& context) {
  if (is_gemm(context) && (context.attribute("alpha", 1.0F) != 1.0F ||
                           (context.has(2) && context.attribute("beta", 1.0F) != 1.0F))) {
    context.refuse("its alpha or beta is not 1, and QNN's product has no factors");
  }
  const auto transposed = [&context](const char* name) {
    return is_gemm(context) && context.attribute(name, std::int64_t{0}) != 0;
  };
  Factor left = factor(context, 0, transposed("transA"));
  Factor right = factor(context, 1, transposed("transB"));
  std::vector<std::string> inputs{std::move(left.name), std::move(right.name)};
  const Product product = product_of(context);
  if (product.bias_node >= 0) {
    inputs.push_back(bias(context, product));
  }
  context.graph.add("MatMul", std::move(inputs),
                    {context.graph.result(product.output, product_layout(context))},
                    {{.name = "transpose_in0", .value = left.is_swapped},
                     {.name = "transpose_in1", .value = right.is_swapped}});
}

}  // namespace halfstep::qnn
