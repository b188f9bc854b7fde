#include "halfstep/model/source_arithmetic.h"

#include <gtest/gtest.h>

#include "halfstep/model/node_metadata.h"
#include "tests/unit/support/onnx_text.h"

namespace halfstep {
namespace {

Model marked(const char* text, const std::vector<std::string_view>& roles) {
  Model model = model_from_text(text);
  for (int i = 0; i < model.graph().node_size(); ++i) {
    if (const std::string_view role = roles.at(static_cast<std::size_t>(i)); !role.empty()) {
      set_metadata(*model.graph().mutable_node(i), kArithmeticKey, role);
    }
  }
  return model;
}

TEST(RemoveSourceArithmetic, AResultGivesItsNameToWhatItRounds) {
  Model model =
      marked(R"(
    <ir_version: 8, opset_import: ["" : 17]>
    g (float[1, 2] x) => (float[1, 2] z)
    <float half = {0.5}>
    { a = Relu(x) s = Sign(a) m = Mul(s, half) b = Add(a, m) y = Mul(b, half) z = Relu(y) })",
             {"", kArithmeticAside, kArithmeticAside, kArithmeticResult, kArithmeticResult, ""});
  EXPECT_TRUE(is_source_arithmetic(GraphIndex(model), "a"));
  EXPECT_TRUE(is_source_arithmetic(GraphIndex(model), "s"));
  EXPECT_FALSE(is_source_arithmetic(GraphIndex(model), "x"));
  EXPECT_EQ(remove_source_arithmetic(model), 4U);
  ASSERT_EQ(model.graph().node_size(), 2);
  EXPECT_EQ(model.graph().node(0).output(0), "y");
  EXPECT_EQ(model.graph().node(1).input(0), "y");
  EXPECT_EQ(remove_source_arithmetic(model), 0U);
}

TEST(RemoveSourceArithmetic, ReadersOfAnOperandReadWhatItIsMadeOf) {
  Model model = marked(
      R"(
    <ir_version: 8, opset_import: ["" : 18]>
    g (float[1, 2] x) => (float[1, 2] y, float[1, 2] z)
    { a = Relu(x) s = ReduceMax(a) d = Div(a, s) r = Round(d) m = Mul(r, s) y = Relu(m)
      z = Neg(a) })",
      {"", kArithmeticAside, kArithmeticOperand, kArithmeticOperand, kArithmeticOperand, "", ""});
  EXPECT_EQ(remove_source_arithmetic(model), 4U);
  ASSERT_EQ(model.graph().node_size(), 3);
  EXPECT_EQ(model.graph().node(1).input(0), "a");
  EXPECT_EQ(model.graph().node(2).input(0), "a");
}

}  // namespace
}  // namespace halfstep
