#include "halfstep/model/check.h"

#include <string>

#include <gtest/gtest.h>

#include "tests/unit/model/model_fixtures.h"

namespace halfstep {
namespace {

std::string refusal(const onnx::ModelProto& proto) {
  return message_of([&] { check_model(proto); });
}

TEST(CheckModel, AcceptsCustomDomainsAndFunctions) {
  EXPECT_EQ(refusal(proto_from_text(R"(
    <ir_version: 8, opset_import: ["" : 17, "com.microsoft" : 1, "mine" : 3, "local" : 1]>
    g (float[2] x) => (float[2] y) {
      a = com.microsoft.FastGelu (x)
      b = mine.Thing <level = 3> (a)
      y = local.f (b)
    }
    <domain: "local", opset_import: ["" : 17]>
    f (u) => (v) { v = Relu (u) })")),
            "no error");
}

TEST(CheckModel, AcceptsExperimentalOpsWithoutPrinting) {
  testing::internal::CaptureStdout();
  EXPECT_EQ(refusal(proto_from_text(R"(<ir_version: 7, opset_import: ["" : 12]>
    g (float[1, 3, 2, 2] x) => (float[1, 3, 2, 2] y) { y = ImageScaler <scale = 2.0> (x) })")),
            "no error");
  EXPECT_EQ(testing::internal::GetCapturedStdout(), "");
}

TEST(CheckModel, AcceptsOutputsWithoutShape) {
  onnx::ModelProto proto = large_model();
  proto.mutable_graph()->mutable_output(0)->mutable_type()->mutable_tensor_type()->clear_shape();
  proto.mutable_graph()->mutable_input(0)->mutable_type()->mutable_tensor_type()->clear_shape();
  EXPECT_EQ(refusal(proto), "no error");
  proto.mutable_graph()->mutable_output(0)->clear_type();
  EXPECT_EQ(refusal(proto), "no error");
}

TEST(CheckModel, AcceptsInitializersThatAreNoInputsInIr3) {
  onnx::ModelProto proto = large_model();
  proto.set_ir_version(3);
  proto.mutable_opset_import(0)->set_version(8);
  EXPECT_EQ(refusal(proto), "no error");
}

TEST(CheckModel, NamesNodeAndReason) {
  onnx::ModelProto proto = large_model();
  proto.mutable_graph()->mutable_node(0)->set_name("first");
  proto.mutable_graph()->mutable_node(0)->add_input("x");
  const std::string message = refusal(proto);
  EXPECT_TRUE(message.starts_with("the ONNX checker refuses the model: ")) << message;
  EXPECT_NE(message.find("first"), std::string::npos) << message;
  EXPECT_NE(message.find("MatMul"), std::string::npos) << message;
  EXPECT_EQ(message.find('\n'), std::string::npos);
}

TEST(CheckModel, RefusesWhatCannotRun) {
  onnx::ModelProto unknown = large_model();
  unknown.mutable_graph()->mutable_node(0)->set_op_type("MatMulx");
  EXPECT_NE(refusal(unknown).find("MatMulx"), std::string::npos);
  onnx::ModelProto dangling = large_model();
  dangling.mutable_graph()->mutable_node(1)->set_input(0, "nothing");
  EXPECT_NE(refusal(dangling).find("'nothing'"), std::string::npos);
  onnx::ModelProto twice = large_model();
  twice.mutable_graph()->mutable_node(1)->set_output(0, "p");
  EXPECT_NE(refusal(twice).find("single static assignment"), std::string::npos);
  onnx::ModelProto newer = large_model();
  newer.set_ir_version(99);
  EXPECT_NE(refusal(newer).find("IR version 99"), std::string::npos);
}

TEST(CheckModel, RefusesNamesThatAreNoText) {
  onnx::ModelProto proto = large_model();
  proto.mutable_graph()->mutable_node(0)->set_name("\xff");
  EXPECT_EQ(refusal(proto), "the name of a node is not UTF-8 text; the file is damaged");
}

TEST(IsUtf8, KnowsTheForms) {
  for (const char* text : {"", "abc", "\xc3\xa4", "\xe2\x82\xac", "\xf0\x9f\x98\x80",
                           "\xed\x9f\xbf", "\xf4\x8f\xbf\xbf"}) {
    EXPECT_TRUE(is_utf8(text)) << text;
  }
  for (const char* text :
       {"\x80", "\xc3", "\xc0\xaf", "\xe0\x80\x80", "\xed\xa0\x80", "\xf4\x90\x80\x80",
        "\xf5\x80\x80\x80", "\xe2\x82", "a\xffz", "\xf0\x80\x80\x80"}) {
    EXPECT_FALSE(is_utf8(text)) << text;
  }
}

}  // namespace
}  // namespace halfstep
