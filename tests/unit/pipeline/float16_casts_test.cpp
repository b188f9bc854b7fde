#include "halfstep/frontends/float16_casts.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "halfstep/outputs/float16_onnx.h"
#include "tests/unit/support/onnx_text.h"

namespace halfstep {
namespace {

constexpr const char* kHead = "<ir_version: 10, opset_import: [\"\" : 21]>\n";

std::vector<std::string> op_types(const Model& model) {
  std::vector<std::string> types;
  for (const onnx::NodeProto& node : model.graph().node()) {
    types.push_back(node.op_type());
  }
  return types;
}

TEST(Float16Casts, TakesOutWhatTheWriterPutIn) {
  const std::string text = std::string(kHead) + R"(
    g (float[1,2] x) => (float[1,2] y) <float[2,2] w = {1, 2, 3, 4}>
    { h = MatMul (x, w) y = Relu (h) })";
  Model model = model_from_text(text);
  EncodingTable written;
  for (const char* tensor : {"x", "w", "h", "y"}) {
    written.set(tensor, {.dtype = Dtype::float16});
  }
  write_float16(model, written);
  ASSERT_GT(model.graph().node_size(), 2);
  EncodingTable read;
  extract_float16(model, read);
  EXPECT_THAT(op_types(model), ::testing::ElementsAre("MatMul", "Relu"));
  EXPECT_EQ(model.graph().node(0).input(1), "w");
  EXPECT_EQ(model.graph().node(1).output(0), "y");
  for (const char* tensor : {"x", "w", "h", "y"}) {
    ASSERT_NE(read.find(tensor), nullptr) << tensor;
    EXPECT_EQ(read.find(tensor)->dtype, Dtype::float16);
  }
  EXPECT_EQ(read.size(), 4U);
}

TEST(Float16Casts, ATensorThatOthersReadAsItWasStays) {
  Model model = model_from_text(std::string(kHead) + R"(
    g (float[2] x) => (float[2] y, float[2] z)
    { a = Exp (x) h = Cast <to = 10> (a) f = Cast <to = 1> (h) y = Relu (f) z = Neg (a) })");
  EncodingTable table;
  extract_float16(model, table);
  EXPECT_EQ(model.graph().node_size(), 5);
  EXPECT_TRUE(table.empty());
}

TEST(Float16Casts, ATensorThatIsUsedAsFloat16Stays) {
  Model model = model_from_text(std::string(kHead) + R"(
    g (float[2] x) => (float[2] y, float16[2] z)
    { a = Exp (x) h = Cast <to = 10> (a) z = Neg (h) y = Cast <to = 1> (h) })");
  EncodingTable table;
  extract_float16(model, table);
  EXPECT_EQ(model.graph().node_size(), 4);
  EXPECT_TRUE(table.empty());
}

}  // namespace
}  // namespace halfstep
