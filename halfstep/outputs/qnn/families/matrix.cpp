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
  if (context.is_constant(slot)) {  // codes in channels want them last
    return {.name = context.operand(slot, transposed ? swapped(rank) : identity_layout(rank))};
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

/// Which operator multiplies by a constant matrix best, whichever the target's table names: they
/// take the same types. Measured: FullyConnected computes garbage with LPBQ weights of many
/// channels; MatMul does with float scales in blocks, and adds an s32 bias to 16-bit sums coarsely.
/// A convolution with filters of one pixel is exact in both cases. 2-bit weights beside 8-bit
/// activations run in FullyConnected only. The result of that has two axes.
enum class Form : std::uint8_t { matmul, fully_connected, pointwise };

Form form_of(const NodeContext& context, bool has_bias) {
  if (!context.is_constant(1) || context.rank(1) != 2 || context.rank(0) < 2) {
    return Form::matmul;
  }
  const Quantization weight = context.operand_type(1).quantization;
  const DataType activation = context.operand_type(0).type;
  const bool expansion = weight.kind == Quantization::Kind::block_expansion;
  const bool narrow =
      weight.bits == 2 && weight.kind != Quantization::Kind::none && size_of(activation) == 1;
  if (weight.kind == Quantization::Kind::block || narrow) {
    return Form::fully_connected;
  }
  if (has_bias && is_fixed_point(activation) && context.rank(0) <= 4 &&
      (expansion || context.rank(0) > 2)) {
    return Form::pointwise;
  }
  const bool flat = context.rank(0) == 2 && context.op == "FullyConnected";
  return flat && !expansion ? Form::fully_connected : Form::matmul;
}

/// Is the constant factor stored [output, input]?
bool is_output_first(const NodeContext& context) {
  return is_gemm(context) && context.attribute("transB", std::int64_t{0}) != 0;
}

/// Weight [output, input].
void add_fully_connected(const NodeContext& context, const Product& product) {
  GraphBuilder& graph = context.graph;
  std::vector<std::string> inputs{
      context.operand(0),
      context.operand(1, is_output_first(context) ? Layout{0, 1} : Layout{1, 0})};
  if (product.bias_node >= 0) {
    inputs.push_back(bias(context, product));
  }
  const Shape& shape = context.out_shape();
  const Layout identity = identity_layout(shape.size());
  if (shape.size() == 2) {
    graph.add("FullyConnected", std::move(inputs), {graph.result(product.output, identity)});
    return;
  }
  const std::string rows = graph.temporary(product.output + "_rows", graph.type_of(product.output),
                                           {element_count(shape) / shape.back(), shape.back()});
  graph.add("FullyConnected", std::move(inputs), {rows});
  graph.add("Reshape", {rows}, {graph.result(product.output, identity)}, {}, "reshape");
}

/// The rows are the pixels of an image, axes in front of the last one as they are.
void add_pointwise(const NodeContext& context, const Product& product) {
  Layout layout = identity_layout(context.rank(0));
  layout.insert(layout.begin(), 4 - layout.size(), -1);
  const Layout filter = is_output_first(context) ? Layout{-1, -1, 1, 0} : Layout{-1, -1, 0, 1};
  const std::vector<std::uint32_t> ones{1, 1}, zeros{0, 0, 0, 0};
  context.graph.add(
      "Conv2d", {context.operand(0, layout), context.operand(1, filter), bias(context, product)},
      {context.graph.result(product.output, layout)},
      {list_param("stride", ones),
       list_param("pad_amount", zeros, {2, 2}),
       list_param("dilation", ones),
       {.name = "group", .value = 1U}});
}

bool has_factors(const NodeContext& context) {
  return is_gemm(context) && (context.attribute("alpha", 1.0F) != 1.0F ||
                              (context.has(2) && context.attribute("beta", 1.0F) != 1.0F));
}

}  // namespace

void lower_product(const NodeContext& context) {
  if (has_factors(context)) {
    context.refuse("its alpha or beta is not 1, and QNN's product has no factors");
  }
  const auto transposed = [&context](const char* name) {
    return is_gemm(context) && context.attribute(name, std::int64_t{0}) != 0;
  };
  const Product product = product_of(context);
  const Form form = transposed("transA") ? Form::matmul : form_of(context, product.bias_node >= 0);
  if (form != Form::matmul) {
    (form == Form::pointwise ? add_pointwise : add_fully_connected)(context, product);
    return;
  }
  Factor left = factor(context, 0, transposed("transA"));
  Factor right = factor(context, 1, transposed("transB"));
  std::vector<std::string> inputs{std::move(left.name), std::move(right.name)};
  if (product.bias_node >= 0) {
    inputs.push_back(bias(context, product));
  }
  context.graph.add("MatMul", std::move(inputs),
                    {context.graph.result(product.output, product_layout(context))},
                    {{.name = "transpose_in0", .value = left.is_swapped},
                     {.name = "transpose_in1", .value = right.is_swapped}});
}

}  // namespace halfstep::qnn
