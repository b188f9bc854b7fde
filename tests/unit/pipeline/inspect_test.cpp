#include "halfstep/inspect.h"

#include <limits>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "halfstep/support/json.h"
#include "tests/unit/support/onnx_text.h"

namespace halfstep {
namespace {

const char* const kModel = R"(
  <ir_version: 8, opset_import: ["" : 17, "com.microsoft" : 1, "local" : 1],
   producer_name: "maker", producer_version: "2.1", metadata_props: ["license": "free"]>
  g (float[batch, 4] x, bool c) => (float[batch, 4] y)
  <float[4, 4] w = {1.0,0.0,0.0,0.0, 0.0,1.0,0.0,0.0, 0.0,0.0,1.0,0.0, 0.0,0.0,0.0,1.0}, int64[1] axes = {0}> {
    [first] a = MatMul (x, w)
    [first] b = MatMul (a, w)
    k = Constant <value = float[4, 4] {1.0,0.0,0.0,0.0, 0.0,1.0,0.0,0.0, 0.0,0.0,1.0,0.0, 0.0,0.0,0.0,1.0}> ()
    d = MatMul (b, k)
    t = Transpose (w)
    e = MatMul (d, t)
    [gelu] f = com.microsoft.FastGelu (e)
    h = If (c) <then_branch = p () => (float[batch, 4] q) { q = Relu (f) },
                else_branch = r () => (float[batch, 4] s) { s = local.f (f) }>
    y = Identity (h)
  }
  <domain: "local", opset_import: ["" : 17]>
  f (u) => (v) { v = Neg (u) })";

std::vector<std::string> rules(const ModelReport& report) {
  std::vector<std::string> found;
  for (const Diagnostic& diagnostic : report.diagnostics) {
    found.push_back(diagnostic.rule + " " + diagnostic.subject);
  }
  return found;
}

TEST(Inspect, DescribesTheModel) {
  const ModelReport report = inspect(model_from_text(kModel));
  EXPECT_EQ(report.name, "test model");
  EXPECT_EQ(report.ir_version, 8);
  EXPECT_EQ(report.producer, "maker 2.1");
  EXPECT_EQ(report.metadata.at("license"), "free");
  EXPECT_EQ(report.opsets.at("ai.onnx"), 17);
  EXPECT_EQ(report.opsets.at("com.microsoft"), 1);
  ASSERT_EQ(report.inputs.size(), 2U);
  EXPECT_EQ(report.inputs[0].shape, (std::vector<std::string>{"batch", "4"}));
  EXPECT_EQ(report.inputs[1].type, "bool");
  EXPECT_EQ(report.outputs[0].name, "y");
  EXPECT_EQ(report.nodes, 9);
  EXPECT_EQ(report.subgraphs, 2);
  EXPECT_EQ(report.functions, std::vector<std::string>{"local.f"});
  EXPECT_EQ(report.ops.at("MatMul"), 4);
  EXPECT_EQ(report.ops.at("Relu"), 1);
  EXPECT_EQ(report.ops.at("Neg"), 1);
  EXPECT_EQ(report.ops.at("com.microsoft.FastGelu"), 1);
  EXPECT_EQ(report.custom_domains, (std::vector<std::string>{"com.microsoft", "local"}));
  EXPECT_EQ(report.weights.at("float").tensors, 2);
  EXPECT_EQ(report.weights.at("float").values, 32U);
  EXPECT_EQ(report.weights.at("float").bytes, 128U);
  EXPECT_EQ(report.weights.at("int64").bytes, 8U);
  EXPECT_EQ(report.weights_total.bytes, 136U);
  ASSERT_EQ(report.biggest.size(), 3U);
  EXPECT_EQ(report.biggest[0].name, "w");
  EXPECT_EQ(report.biggest[1].name, "k");
  EXPECT_TRUE(report.encodings.empty());
}

TEST(Inspect, FindsTraps) {
  const ModelReport report = inspect(model_from_text(kModel), {{.rule = "onnx/old-opset"}});
  EXPECT_EQ(rules(report),
            (std::vector<std::string>{
                "onnx/old-opset ", "inspect/dynamic-shape x", "inspect/unnamed-nodes g",
                "inspect/duplicate-node-name first", "inspect/weight-in-constant-node k",
                "inspect/weight-behind-op t", "inspect/shared-weight w",
                "inspect/custom-op com.microsoft.FastGelu"}));
}

TEST(Inspect, FindsBrokenAndReplaceableWeights) {
  onnx::ModelProto proto = proto_from_text(R"(<ir_version: 8, opset_import: ["" : 17]>
    g (float[2, 2] x, float[2] v) => (float[2, 2] y) <float[2, 2] w = {1.0, 2.0, 3.0, 4.0}> {
      [n] a = MatMul (x, w)
      [m] y = Add (a, v)
    })");
  proto.mutable_graph()->mutable_initializer(0)->set_float_data(
      1, std::numeric_limits<float>::infinity());
  onnx::TensorProto* filled = proto.mutable_graph()->add_initializer();
  filled->set_name("v");
  filled->set_data_type(onnx::TensorProto::FLOAT);
  filled->add_dims(2);
  filled->add_float_data(1);
  filled->add_float_data(2);
  const ModelReport report = inspect(Model::from_proto(std::move(proto), "m"));
  EXPECT_EQ(rules(report),
            (std::vector<std::string>{"weights/non-finite w", "inspect/weight-is-input v"}));
  EXPECT_EQ(report.diagnostics[0].message, "NaN or infinite: 1 of 4 values");
  EXPECT_EQ(report.inputs.size(), 1U);
}

TEST(Inspect, CountsEncodings) {
  const ModelReport report = inspect(model_from_text(R"(<ir_version: 10, opset_import: ["" : 21]>
    g (float[1, 4] x) => (float[1, 4] y)
    <float s = {0.5}, uint8 z = {128}, int8[4, 4] w = {1,2,3,4, 1,2,3,4, 1,2,3,4, 1,2,3,4},
     float[4] ws = {1.0, 1.0, 1.0, 1.0}, float[2, 4] bs = {1.0,1.0,1.0,1.0, 1.0,1.0,1.0,1.0}> {
      q = QuantizeLinear (x, s, z)
      d = DequantizeLinear (q, s, z)
      e = DequantizeLinear <axis = 1> (w, ws)
      f = DequantizeLinear <axis = 0, block_size = 2> (w, bs)
      a = MatMul (d, e)
      y = MatMul (a, f)
    })"));
  ASSERT_EQ(report.encodings.size(), 3U);
  const auto row = [&report](std::size_t i) {
    const EncodingReport& e = report.encodings[i];
    return e.of + " " + e.type + " " + e.granularity + " " + std::to_string(e.tensors);
  };
  EXPECT_EQ(row(0), "activation uint8 per tensor 1");
  EXPECT_EQ(row(1), "weight int8 per block 1");
  EXPECT_EQ(row(2), "weight int8 per channel 1");
}

TEST(Inspect, WritesJson) {
  const Json json = to_json(inspect(model_from_text(kModel)));
  EXPECT_EQ(json["nodes"], 9);
  EXPECT_EQ(json["inputs"][0].dump(), R"({"name":"x","type":"float","shape":["batch","4"]})");
  EXPECT_EQ(json["weights"]["by_type"]["int64"].dump(), R"({"tensors":1,"values":1,"bytes":8})");
  EXPECT_EQ(json["diagnostics"][0]["severity"], "note");
  EXPECT_EQ(json["opsets"]["ai.onnx"], 17);
}

}  // namespace
}  // namespace halfstep
