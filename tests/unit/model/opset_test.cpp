#include <set>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "halfstep/model/graph_index.h"
#include "halfstep/model/model.h"
#include "halfstep/support/error.h"
#include "tests/unit/model/model_fixtures.h"

namespace halfstep {
namespace {

std::string texts(const Model& model) {
  std::string ops;
  for (const auto& node : model.graph().node()) {
    ops += node.op_type() + " ";
  }
  return ops;
}

TEST(RaiseOpset, OnlySetsTheNumberWhereNothingChanges) {
  Model model = model_from_text(R"(<ir_version: 7, opset_import: ["" : 13]>
    g (float[2] x) => (float[2] y) { [n] y = Sigmoid (x) })");
  const std::string before = model.graph().SerializeAsString();
  EXPECT_EQ(model.opset(), 13);
  model.raise_opset(21);
  EXPECT_EQ(model.opset(), 21);
  EXPECT_EQ(model.proto().ir_version(), 10);
  EXPECT_EQ(model.graph().SerializeAsString(), before);
}

TEST(RaiseOpset, NeverLowers) {
  Model model = model_from_text(R"(<ir_version: 8, opset_import: ["" : 17]>
    g (float[2] x) => (float[2] y) { y = Relu (x) })");
  model.raise_opset(13);
  EXPECT_EQ(model.opset(), 17);
  EXPECT_EQ(model.proto().ir_version(), 8);
}

TEST(RaiseOpset, TurnsAttributesIntoInputs) {
  Model model = model_from_text(R"(<ir_version: 6, opset_import: ["" : 11]>
    g (float[2, 3] x) => (float[2] y) {
      [sum] s = ReduceSum <axes = [1], keepdims = 1> (x)
      [squeeze] y = Squeeze <axes = [1]> (s)
    })");
  model.raise_opset(18);
  const GraphIndex index(model);
  const onnx::NodeProto& sum = model.graph().node(index.producer("s"));
  ASSERT_EQ(sum.input_size(), 2);
  EXPECT_EQ(sum.name(), "sum");
  EXPECT_EQ(sum.input(0), "x");
  EXPECT_EQ(find_attribute(sum, "axes"), nullptr);
  EXPECT_EQ(int_attribute(sum, "keepdims", 0), 1);
  ASSERT_NE(index.constant(sum.input(1)), nullptr);
  EXPECT_EQ(model.floats(*index.constant(sum.input(1))), (std::vector<float>{1}));
  EXPECT_EQ(index.type("y").shape, (Shape{2}));
}

TEST(RaiseOpset, GivesNewTensorsNamesOfTheirOwn) {
  // Numbers, as old exporters call tensors, are also what the converter calls new ones.
  onnx::ModelProto proto = large_model();
  proto.set_ir_version(6);
  proto.mutable_opset_import(0)->set_version(11);
  onnx::GraphProto& graph = *proto.mutable_graph();
  std::string last = "y";
  for (int i = 1; i < 60; ++i) {
    onnx::NodeProto* node = graph.add_node();
    node->set_op_type(i % 2 == 0 ? "Squeeze" : "Unsqueeze");
    node->add_input(last);
    last = std::to_string(i);
    node->add_output(last);
    auto* axes = node->add_attribute();
    axes->set_name("axes");
    axes->set_type(onnx::AttributeProto::INTS);
    axes->add_ints(0);
  }
  Model model = Model::from_proto(std::move(proto), "m");
  model.raise_opset(13);
  const GraphIndex index(model);
  for (int i = 1; i < 60; ++i) {
    const int node = index.producer(std::to_string(i));
    ASSERT_NE(node, -1) << i;
    EXPECT_EQ(model.graph().node(node).input(1), std::to_string(i) + "_opset");
  }
}

TEST(RaiseOpset, KeepsMeaningOfSoftmax) {
  Model model = model_from_text(R"(<ir_version: 6, opset_import: ["" : 11]>
    g (float[2, 3, 4] x) => (float[2, 3, 4] y) { [s] y = Softmax <axis = 1> (x) })");
  model.raise_opset(13);
  // Before 13 the axes from 1 on were one; now they are flattened around it.
  EXPECT_NE(texts(model).find("Flatten"), std::string::npos) << texts(model);
  EXPECT_EQ(model.graph().output(0).name(), "y");
  EXPECT_NE(GraphIndex(model).producer("y"), -1);
  std::set<std::string> names;
  for (const auto& node : model.graph().node()) {
    EXPECT_TRUE(names.insert(node.name()).second) << node.name();
  }
  EXPECT_TRUE(names.contains("s"));
}

onnx::ModelProto decorated() {
  onnx::ModelProto proto = large_model();
  proto.set_ir_version(10);
  proto.mutable_opset_import(0)->set_version(11);
  auto* custom = proto.add_opset_import();
  custom->set_domain("mine");
  custom->set_version(3);
  const auto note = [](auto& message, const char* value) {
    auto* entry = message.add_metadata_props();
    entry->set_key("note");
    entry->set_value(value);
  };
  onnx::GraphProto& graph = *proto.mutable_graph();
  proto.set_doc_string("about the model");
  graph.set_doc_string("about the graph");
  note(proto, "model");
  note(graph, "graph");
  note(*graph.mutable_initializer(0), "initializer");
  note(*graph.mutable_input(0), "input");
  for (auto& node : *graph.mutable_node()) {
    node.set_name("node " + node.output(0));
    node.set_doc_string("about " + node.output(0));
    note(node, "node");
    node.mutable_unknown_fields()->AddLengthDelimited(1010, "hello");
  }
  onnx::NodeProto* squeeze = graph.add_node();
  squeeze->set_op_type("Unsqueeze");
  squeeze->set_name("changed");
  squeeze->add_input("y");
  squeeze->add_output("z");
  squeeze->set_doc_string("about z");
  note(*squeeze, "changed");
  auto* axes = squeeze->add_attribute();
  axes->set_name("axes");
  axes->set_type(onnx::AttributeProto::INTS);
  axes->add_ints(0);
  onnx::NodeProto* thing = graph.add_node();
  thing->set_op_type("Thing");
  thing->set_domain("mine");
  thing->add_input("z");
  thing->add_output("t");
  note(*thing, "custom");
  auto* value = graph.add_value_info();
  value->set_name("p");
  note(*value, "value");
  auto* annotation = graph.add_quantization_annotation();
  annotation->set_tensor_name("p");
  return proto;
}

TEST(RaiseOpset, KeepsEverythingElse) {
  Model model = Model::from_proto(decorated(), "m");
  const Model before = model.clone();
  model.raise_opset(21);
  EXPECT_EQ(model.opset(), 21);
  EXPECT_EQ(model.proto().opset_import(1).domain(), "mine");
  EXPECT_EQ(model.proto().opset_import(1).version(), 3);
  ASSERT_EQ(model.graph().node_size(), 5);  // the axes are a Constant now
  for (const auto& [same, old] : {std::pair(0, 0), std::pair(1, 1), std::pair(4, 3)}) {
    // MatMul and Add have new versions, with the same meaning.
    EXPECT_EQ(model.graph().node(same).SerializeAsString(),
              before.graph().node(old).SerializeAsString())
        << same;
  }
  EXPECT_EQ(model.graph().node(2).output(0), "z_opset");
  const onnx::NodeProto& changed = model.graph().node(3);
  EXPECT_EQ(changed.input(1), "z_opset");
  EXPECT_EQ(changed.name(), "changed");
  EXPECT_EQ(changed.doc_string(), "about z");
  EXPECT_EQ(changed.metadata_props(0).value(), "changed");
  EXPECT_EQ(changed.input_size(), 2);

  onnx::ModelProto rest = model.proto();
  onnx::ModelProto expected = before.proto();
  for (onnx::ModelProto* proto : {&rest, &expected}) {
    proto->mutable_graph()->clear_node();
    proto->mutable_opset_import(0)->clear_version();
  }
  EXPECT_EQ(rest.SerializeAsString(), expected.SerializeAsString());
  EXPECT_EQ(model.floats(model.graph().initializer(0))[4095], 4095.0F);
}

TEST(RaiseOpset, ReachesSubgraphs) {
  Model model = model_from_text(R"(<ir_version: 6, opset_import: ["" : 11]>
    g (float[2, 1] x, bool c) => (float[2] y) {
      [outer] y = If (c) <
        then_branch = t () => (float[2] a) { [inner] a = Squeeze <axes = [1]> (x) },
        else_branch = e () => (float[2] b) { k = Constant <value = int64[1] {2}> ()
                                             b = Reshape (x, k) }>
    })");
  auto* branch = model.graph().mutable_node(0)->mutable_attribute(0)->mutable_g();
  auto* entry = branch->mutable_node(0)->add_metadata_props();
  entry->set_key("note");
  entry->set_value("kept");
  model.raise_opset(13);
  const onnx::NodeProto& outer = model.graph().node(0);
  EXPECT_EQ(outer.name(), "outer");
  const onnx::GraphProto& then = find_attribute(outer, "then_branch")->g();
  const onnx::NodeProto& inner = then.node(then.node_size() - 1);
  EXPECT_EQ(inner.op_type(), "Squeeze");
  EXPECT_EQ(inner.name(), "inner");
  EXPECT_EQ(inner.input_size(), 2);
  EXPECT_EQ(inner.metadata_props(0).value(), "kept");
  EXPECT_EQ(find_attribute(outer, "else_branch")->g().node_size(), 2);
}

TEST(RaiseOpset, ConvertsFunctions) {
  Model model = model_from_text(R"(
    <ir_version: 8, opset_import: ["" : 12, "local" : 1]>
    g (float[2, 1] x) => (float[2] y) { y = local.f (x) }
    <domain: "local", opset_import: ["" : 12]>
    f (u) => (v) { [inner] v = Squeeze <axes = [1]> (u) })");
  model.raise_opset(13);
  ASSERT_EQ(model.proto().functions_size(), 1);
  const onnx::FunctionProto& function = model.proto().functions(0);
  EXPECT_EQ(function.opset_import(0).version(), 13);
  ASSERT_EQ(function.node_size(), 2);
  EXPECT_EQ(function.node(0).op_type(), "Constant");
  EXPECT_EQ(function.node(1).name(), "inner");
  EXPECT_EQ(function.node(1).input(1), function.node(0).output(0));
}

TEST(RaiseOpset, RefusesWhatAFunctionWouldLose) {
  Model model = model_from_text(R"(
    <ir_version: 8, opset_import: ["" : 12, "local" : 1]>
    g (float[2, 1] x) => (float[2] y) { y = local.f <where = [1]> (x) }
    <domain: "local", opset_import: ["" : 12]>
    f <where> (u) => (v) { [inner] v = Squeeze <axes : ints = @where> (u) })");
  const std::string before = model.serialize();
  const std::string message = message_of([&] { model.raise_opset(13); });
  EXPECT_NE(message.find("function 'f'"), std::string::npos) << message;
  EXPECT_NE(message.find("'axes'"), std::string::npos) << message;
  EXPECT_EQ(model.serialize(), before);
}

TEST(RaiseOpset, KeepsOptionalInputsAndOutputs) {
  Model model = model_from_text(R"(<ir_version: 8, opset_import: ["" : 12]>
    g (float[3, 1, 4] x, float[1, 20, 4] w, float[1, 20, 5] r, float[1, 1, 5] h) => (float[1, 1, 5] last) {
      , last = LSTM <hidden_size = 5> (x, w, r, , , h)
    })");
  model.raise_opset(21);
  const onnx::NodeProto& node = model.graph().node(0);
  EXPECT_EQ(std::vector<std::string>(node.input().begin(), node.input().end()),
            (std::vector<std::string>{"x", "w", "r", "", "", "h"}));
  EXPECT_EQ(std::vector<std::string>(node.output().begin(), node.output().end()),
            (std::vector<std::string>{"", "last"}));
}

TEST(RaiseOpset, SaysWhatCannotBeRaised) {
  Model model = model_from_text(R"(<ir_version: 8, opset_import: ["" : 12]>
    g (float[1, 3, 2, 2] x) => (float[1, 3, 2, 2] y) {
      [scale] a = ImageScaler <scale = 2.0> (x)
      y = Relu (a)
    })");
  const std::string before = model.serialize();
  try {
    model.raise_opset(13);
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::unsupported);
    EXPECT_NE(std::string(error.what()).find("ImageScaler"), std::string::npos) << error.what();
    EXPECT_NE(std::string(error.what()).find("from 12 to 13"), std::string::npos) << error.what();
  }
  EXPECT_EQ(model.serialize(), before);
  EXPECT_NE(message_of([&] { model.raise_opset(999); }).find("opset 999 is newer than"),
            std::string::npos);
}

TEST(RaiseOpset, KnowsTheOtherSpellingOfTheDomain) {
  Model model = model_from_text(R"(<ir_version: 8, opset_import: ["ai.onnx" : 12]>
    g (float[2, 1] x) => (float[2] y) { y = Squeeze <axes = [1]> (x) })");
  EXPECT_EQ(model.opset(), 12);
  model.raise_opset(13);
  EXPECT_EQ(model.opset(), 13);
  EXPECT_EQ(model.proto().opset_import_size(), 1);
  EXPECT_EQ(model.proto().opset_import(0).domain(), "ai.onnx");
}

}  // namespace
}  // namespace halfstep
