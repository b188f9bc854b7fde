// Between encodings and types.
#include "halfstep/outputs/qnn/families/families.h"

namespace halfstep::qnn {
namespace {

/// Kernels exist for: fixed point to fixed point (Convert), float to fixed point (Quantize), fixed
/// point to float (Dequantize), float to float (Cast).
const char* conversion(DataType from, DataType to) {
  if (is_fixed_point(from) && is_fixed_point(to)) {
    return "Convert";
  }
  if (is_float(from) && is_fixed_point(to)) {
    return "Quantize";
  }
  return is_fixed_point(from) && is_float(to) ? "Dequantize" : "Cast";
}

}  // namespace

void lower_convert(const NodeContext& context) {
  const Layout layout = context.shared_layout();
  const TensorType from = context.operand_type(0);
  const TensorType to = context.graph.type_of(context.out());
  context.graph.add(conversion(from.type, to.type), {context.operand(0, layout)},
                    {context.graph.result(context.out(), layout)});
}

/// Types that QNN stores alike need no operator. From and to fixed point the values matter, not the
/// codes.
void lower_cast(const NodeContext& context) {
  GraphBuilder& graph = context.graph;
  const TensorType from = context.operand_type(0);
  const TensorType to = graph.type_of(context.out());
  if (same_type(from, to) && !context.is_constant(0)) {
    const Layout layout = graph.made_in(context.in(0));
    graph.alias(context.out(), context.in(0), layout, layout);
    return;
  }
  const Layout layout = context.shared_layout();
  const bool float_side = is_float(from.type) || is_float(to.type);
  const bool encoded = is_fixed_point(from.type) || is_fixed_point(to.type);
  if (encoded && !float_side && !(is_fixed_point(from.type) && is_fixed_point(to.type))) {
    context.refuse(
        "it goes between encoded and plain integers, and QNN's Cast copies codes; give "
        "its float side no encoding");
  }
  graph.add(encoded ? conversion(from.type, to.type) : "Cast", {context.operand(0, layout)},
            {graph.result(context.out(), layout)});
}

}  // namespace halfstep::qnn
