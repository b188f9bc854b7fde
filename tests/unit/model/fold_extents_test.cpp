#include "halfstep/model/fold_extents.h"

#include <gtest/gtest.h>

#include "halfstep/model/graph_index.h"
#include "tests/unit/support/onnx_text.h"

namespace halfstep {
namespace {

Shape extents_of(const Model& model, const char* tensor) {
  return GraphIndex(model).type(tensor).shape.value_or(Shape());
}

TEST(FoldExtents, ComputesWhatAReshapeReads) {
  Model model = model_from_text(R"(
    <ir_version: 8, opset_import: ["" : 17]>
    g (float[2, 6, 4] x) => (float[a, b] y)
    <int64[1] zero = {0}, int64[1] minus = {-1}, int64 first = {0}>
    { s = Shape(x) n = Gather<axis = 0>(s, first) u = Unsqueeze(n, zero)
      c = Concat<axis = 0>(u, minus) y = Reshape(x, c) })");
  EXPECT_EQ(fold_extents(model), 4);
  EXPECT_EQ(model.graph().node_size(), 1);
  EXPECT_EQ(extents_of(model, "y"), (Shape{2, 24}));
}

TEST(FoldExtents, GoesOnInRounds) {
  // The second Shape is known only when the Reshape before it is.
  Model model = model_from_text(R"(
    <ir_version: 8, opset_import: ["" : 17]>
    g (float[2, 6] x) => (float[a, b] y)
    <int64[1] two = {2}, int64[1] minus = {-1}, int64[1] at = {1}>
    { s = Shape(x) h = Div(s, two) f = Concat<axis = 0>(h, minus) r = Reshape(x, f)
      v = Shape(r) p = Gather<axis = 0>(v, at) q = Concat<axis = 0>(p, minus) y = Reshape(r, q) }
    )");
  EXPECT_EQ(fold_extents(model), 6);
  EXPECT_EQ(extents_of(model, "r"), (Shape{1, 3, 4}));
  EXPECT_EQ(extents_of(model, "y"), (Shape{3, 4}));
}

TEST(FoldExtents, ComparisonsAndSelection) {
  Model model = model_from_text(R"(
    <ir_version: 8, opset_import: ["" : 17]>
    g (float[1, 4] x) => (float[a, b] y)
    <int64[2] wanted = {3, -1}, int64[2] minus = {-1, -1}>
    { s = Shape(x) e = Equal(wanted, minus) w = Where(e, s, wanted) y = Expand(x, w) })");
  EXPECT_EQ(fold_extents(model), 3);
  EXPECT_EQ(extents_of(model, "y"), (Shape{3, 4}));
}

TEST(FoldExtents, LeavesUnknownExtentsAndOutputsAlone) {
  Model model = model_from_text(R"(
    <ir_version: 8, opset_import: ["" : 17]>
    g (float[n, 4] x, float[2, 3] z) => (int64[2] s, int64[2] t)
    { s = Shape(x) t = Shape(z) })");
  EXPECT_EQ(fold_extents(model), 0);
}

}  // namespace
}  // namespace halfstep
