// Normalizations.
#include <cmath>
#include <utility>

#include "halfstep/outputs/qnn/families/families.h"
#include "halfstep/outputs/qnn/families/fitted.h"

namespace halfstep::qnn {
namespace {

/// The constant operand without axes of extent 1.
std::string flat_operand(const NodeContext& context, int slot) {
  Layout layout;
  const Shape& shape = context.in_shape(slot);
  for (std::size_t axis = 0; axis < shape.size(); ++axis) {
    if (shape[axis] != 1 || (axis + 1 == shape.size() && layout.empty())) {
      layout.push_back(static_cast<int>(axis));
    }
  }
  return context.operand(slot, layout);
}

/// Scale of LayerNorm or RmsNorm. 16-bit ones have to be symmetric: they are fitted anew.
std::string norm_scale(const NodeContext& context) {
  const TensorType type = context.operand_type(1);
  const bool skewed = type.type == DataType::ufixed16 && type.quantization.offsets[0] != -32768;
  return skewed ? fitted(context, context.in(1) + "_symmetric", values_of(context, 1), type.type)
                : flat_operand(context, 1);
}

}  // namespace

/// LayerNorm and RmsNorm over the axes from `axis` on.
void lower_layer_norm(const NodeContext& context) {
  const std::size_t rank = context.rank();
  const std::int64_t first = context.axis(-1, rank);
  Layout layout = context.graph.preferred(context.in(0));
  if (first + 1 != static_cast<std::int64_t>(rank) || layout.back() != first) {
    layout = identity_layout(rank);
  }
  std::vector<std::uint32_t> axes;
  for (std::int64_t axis = first; axis < static_cast<std::int64_t>(rank); ++axis) {
    axes.push_back(static_cast<std::uint32_t>(stored_axis(layout, axis)));
  }
  if (context.wants(1) || context.wants(2)) {
    context.refuse("its outputs of mean and deviation have no form in QNN");
  }
  std::vector<std::string> inputs{context.operand(0, layout), norm_scale(context)};
  if (context.has(2)) {
    inputs.push_back(flat_operand(context, 2));
  }
  context.graph.add(context.op, std::move(inputs), {context.graph.result(context.out(), layout)},
                    {{.name = "epsilon", .value = context.attribute("epsilon", 1e-5F)},
                     list_param("axes", axes)});
}

/// InstanceNorm and GroupNorm.
void lower_channel_norm(const NodeContext& context) {
  context.graph.assume_shape(context.out(), context.in_shape(0));
  const Layout layout = channels_last(context.rank());
  std::vector<Param> params{{.name = "epsilon", .value = context.attribute("epsilon", 1e-5F)}};
  if (context.op == "GroupNorm") {
    const std::int64_t groups = context.attribute("num_groups", std::int64_t{1});
    if (context.in_shape(1)[0] != context.in_shape(0)[1]) {
      context.refuse(
          "its scale has a value for each group (opset below 21), and QNN's for each "
          "channel");
    }
    params.push_back({.name = "group", .value = static_cast<std::uint32_t>(groups)});
  }
  context.graph.add(context.op,
                    {context.operand(0, layout), context.operand(1), context.operand(2)},
                    {context.graph.result(context.out(), layout)}, std::move(params));
}

/// Formula: weight = scale / sqrt(variance + epsilon), bias = B - mean weight; both are fitted to
///          the types that scale and B have.
void lower_batch_norm(const NodeContext& context) {
  std::vector<float> weight = values_of(context, 1), bias = values_of(context, 2);
  const std::vector<float> mean = values_of(context, 3), variance = values_of(context, 4);
  const float epsilon = context.attribute("epsilon", 1e-5F);
  for (std::size_t i = 0; i < weight.size(); ++i) {
    weight[i] /= std::sqrt(variance[i] + epsilon);
    bias[i] -= mean[i] * weight[i];
  }
  const Layout layout = channels_last(context.rank());
  context.graph.add(context.op,
                    {context.operand(0, layout),
                     fitted(context, context.in(1), weight, context.operand_type(1).type),
                     fitted(context, context.in(2), bias, context.operand_type(2).type)},
                    {context.graph.result(context.out(), layout)});
}

void lower_l2_norm(const NodeContext& context) {
  if (context.attribute("p", std::int64_t{2}) != 2) {
    context.refuse("it has p = 1, and QNN's norm is L2");
  }
  const std::int64_t axis = context.axis(-1, context.rank());
  const Layout layout = context.graph.preferred(context.in(0));
  const std::vector<std::uint32_t> axes{static_cast<std::uint32_t>(stored_axis(layout, axis))};
  context.graph.add(context.op, {context.operand(0, layout)},
                    {context.graph.result(context.out(), layout)},
                    {list_param("axes", axes), {.name = "epsilon", .value = 1e-12F}});
}

/// ONNX divides alpha by the number of channels it sums over, QNN does not.
void lower_lrn(const NodeContext& context) {
  const std::int64_t size = context.attribute("size", std::int64_t{1});
  if (size % 2 == 0) {
    context.refuse("its size is even, and QNN's window reaches as far to either side");
  }
  const Layout layout = channels_last(context.rank());
  context.graph.add(
      context.op, {context.operand(0, layout)}, {context.graph.result(context.out(), layout)},
      {{.name = "alpha", .value = context.attribute("alpha", 0.0001F) / static_cast<float>(size)},
       {.name = "beta", .value = context.attribute("beta", 0.75F)},
       {.name = "bias", .value = context.attribute("bias", 1.0F)},
       {.name = "radius", .value = static_cast<std::int32_t>((size - 1) / 2)}});
}

}  // namespace halfstep::qnn
