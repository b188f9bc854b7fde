#include "halfstep/frontends/tflite/tflite.h"

#include <algorithm>
#include <filesystem>
#include <map>
#include <random>
#include <set>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "halfstep/frontends/load.h"
#include "halfstep/frontends/qdq.h"
#include "halfstep/support/error.h"
#include "halfstep/support/file.h"

namespace halfstep {
namespace {

std::filesystem::path data(const std::string& name) {
  return std::filesystem::path(HALFSTEP_TEST_DATA) / "data/tflite" / (name + ".tflite");
}

Model load(const std::string& name) {
  Diagnostics diagnostics;
  return load_model(data(name), diagnostics);
}

std::map<std::string, int> op_types(const Model& model) {
  std::map<std::string, int> counts;
  for (const auto& node : model.graph().node()) {
    ++counts[node.op_type()];
  }
  return counts;
}

Shape shape_of(const onnx::ValueInfoProto& info) {
  Shape shape;
  for (const auto& dimension : info.type().tensor_type().shape().dim()) {
    shape.push_back(dimension.dim_value());
  }
  return shape;
}

std::string refusal(const std::string& name, ErrorKind kind) {
  try {
    (void)load(name);
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), kind);
    return error.what();
  }
  ADD_FAILURE() << name << " was read";
  return {};
}

TEST(LoadTflite, MovesChannelsOnceInAConvolutionalNetwork) {
  for (const char* name : {"cnn_float", "cnn_fp16w", "cnn_dynrange", "cnn_int8", "cnn_int16x8"}) {
    const Model model = load(name);
    EXPECT_EQ(op_types(model)["Transpose"], 1) << name;
    ASSERT_EQ(model.graph().input_size(), 1) << name;
    EXPECT_EQ(model.graph().input(0).name(), "serving_default_keras_tensor:0");
    EXPECT_EQ(shape_of(model.graph().input(0)), (Shape{1, 32, 32, 3}));
    EXPECT_EQ(model.graph().input(0).type().tensor_type().elem_type(), onnx::TensorProto::FLOAT);
  }
}

TEST(LoadTflite, KeepsChannelsFirstThroughAChain) {
  EXPECT_EQ(op_types(load("ops/chain"))["Transpose"], 1);
  EXPECT_EQ(op_types(load("ops/chain_1d"))["Transpose"], 1);
}

TEST(LoadTflite, AxesOfExtentOneMoveWithoutTranspose) {
  EXPECT_EQ(op_types(load("ops/conv_2d_flat"))["Transpose"], 0);
}

std::string failure(const std::string& name, const std::map<std::string, Shape>& extents) {
  try {
    Diagnostics diagnostics;
    (void)load_model(data(name), diagnostics, extents);
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}

TEST(LoadTflite, OtherExtentsOfAnInputReachTheOutput) {
  Diagnostics diagnostics;
  const Model model = load_model(data("cnn_int8"), diagnostics,
                                 {{"serving_default_keras_tensor:0", {3, 32, 32, 3}}});
  EXPECT_EQ(shape_of(model.graph().input(0)), (Shape{3, 32, 32, 3}));
  EXPECT_EQ(shape_of(model.graph().output(0)), (Shape{3, 10}));
  EXPECT_THAT(failure("ops/relu", {{"x", {1, 3, 4, 2}}}), testing::HasSubstr("no input"));
}

TEST(LoadTflite, ExtentsThatDoNotFitNameTheOperator) {
  EXPECT_THAT(failure("ops/no_fixed_extents", {}),
              testing::AllOf(testing::HasSubstr("operator 0 (CONV_2D"),
                             testing::HasSubstr("-d NAME EXTENTS")));
}

TEST(LoadTflite, NodesHaveTheNamesOfWhatTheyWrite) {
  std::set<std::string> names;
  const Model model = load("ops_int8");
  for (const auto& node : model.graph().node()) {
    EXPECT_EQ(node.name(), node.output(0));
    EXPECT_TRUE(names.insert(node.name()).second) << node.name();
  }
}

TEST(LoadTflite, EncodingsAreThoseOfTheFile) {
  Model model = load("ops/uint8_conv");
  Diagnostics diagnostics;
  const EncodingTable table = extract_qdq(model, diagnostics);
  ASSERT_NE(table.find("t0"), nullptr);
  EXPECT_EQ(table.find("t0")->dtype, Dtype::uint8);
  EXPECT_EQ(table.find("t0")->scale, std::vector<float>{0.02F});
  EXPECT_EQ(table.find("t0")->zero_point, std::vector<std::int64_t>{128});
  ASSERT_NE(table.find("t1"), nullptr);
  EXPECT_EQ(table.find("t1")->dtype, Dtype::uint8);
  ASSERT_NE(table.find("t2"), nullptr);
  EXPECT_EQ(table.find("t2")->dtype, Dtype::int32);
  ASSERT_NE(table.find("t4"), nullptr) << "the output";
  EXPECT_EQ(table.find("t4")->scale, std::vector<float>{0.04F});
  EXPECT_EQ(op_types(model)["QuantizeLinear"], 0);
  EXPECT_EQ(op_types(model)["DequantizeLinear"], 0);
}

TEST(LoadTflite, ARequantizedTensorHasTwoEncodings) {
  Model model = load("ops/requantize");
  Diagnostics diagnostics;
  const EncodingTable table = extract_qdq(model, diagnostics);
  ASSERT_NE(table.find("t0"), nullptr);
  EXPECT_EQ(table.find("t0")->scale, std::vector<float>{0.05F});
  ASSERT_NE(table.find("t1"), nullptr);
  EXPECT_EQ(table.find("t1")->scale, std::vector<float>{0.1F});
  EXPECT_EQ(model.graph().output(0).name(), "t1");
  EXPECT_EQ(op_types(model)["DequantizeLinear"], 0);
}

TEST(LoadTflite, FourBitWeightsStaySo) {
  Model model = load("ops/int4_fully_connected");
  Diagnostics diagnostics;
  const EncodingTable table = extract_qdq(model, diagnostics);
  ASSERT_NE(table.find("t1"), nullptr);
  EXPECT_EQ(table.find("t1")->dtype, Dtype::int4);
  EXPECT_EQ(model.opset(), 21);
}

TEST(LoadTflite, ScalesPerAxisMoveWithTheirAxis) {
  Model model = load("cnn_int8");
  Diagnostics diagnostics;
  const EncodingTable table = extract_qdq(model, diagnostics);
  const auto& nodes = model.graph().node();
  const auto conv = std::find_if(nodes.begin(), nodes.end(),
                                 [](const auto& node) { return node.op_type() == "Conv"; });
  ASSERT_NE(conv, nodes.end());
  const Encoding* weight = table.find(conv->input(1));
  ASSERT_NE(weight, nullptr) << conv->input(1);
  EXPECT_EQ(weight->dtype, Dtype::int8);
  EXPECT_EQ(weight->scale.size(), 8U);
  EXPECT_TRUE(std::holds_alternative<PerChannel>(weight->granularity));
}

TEST(LoadTflite, RefusesByNameAndReason) {
  const std::string custom = refusal("ops/no_custom", ErrorKind::unsupported);
  EXPECT_NE(custom.find("operator 0 (MyOperator, writes 't1')"), std::string::npos) << custom;
  const std::string variable = refusal("ops/no_variable", ErrorKind::unsupported);
  EXPECT_NE(variable.find("VAR_HANDLE"), std::string::npos) << variable;
  EXPECT_NE(variable.find("keeps variables from run to run"), std::string::npos) << variable;
  const std::string branch = refusal("ops/no_if", ErrorKind::unsupported);
  EXPECT_NE(branch.find("control flow"), std::string::npos) << branch;
}

TEST(LoadTflite, EveryPrefixIsAnError) {
  const MappedFile file(data("ops_int8"));
  for (std::size_t size = 0; size < file.bytes().size(); size += 61) {
    Diagnostics diagnostics;
    EXPECT_THROW((void)tflite_from_bytes(file.bytes().first(size), "part", diagnostics), Error)
        << size;
  }
}

TEST(LoadTflite, ChangedBytesAreAModelOrAnError) {
  const MappedFile file(data("ops_int8"));
  std::mt19937 engine(1);
  for (int round = 0; round < 400; ++round) {
    std::vector<std::byte> bytes(file.bytes().begin(), file.bytes().end());
    for (int change = 0; change < 4; ++change) {
      bytes[engine() % bytes.size()] = static_cast<std::byte>(engine() % 256);
    }
    Diagnostics diagnostics;
    try {
      (void)tflite_from_bytes(bytes, "changed", diagnostics);
    } catch (const Error& error) {
      EXPECT_NE(error.kind(), ErrorKind::internal) << error.what();
    }
  }
}

}  // namespace
}  // namespace halfstep
