#include "halfstep/model/graph_index.h"

#include <chrono>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "tests/unit/model/model_fixtures.h"

namespace halfstep {
namespace {

const char* const kBranches = R"(
  <ir_version: 8, opset_import: ["" : 17]>
  g (float[N, 4] x, bool c) => (float[N, 4] y, float[N, 4] r)
  <float[4] w = {1.0, 2.0, 3.0, 4.0}> {
    [relu] r = Relu (x)
    k = Constant <value = float {2.0}> ()
    s = Mul (r, w)
    [choose] y = If (c) <
      then_branch = t () => (float[N, 4] a) { q = Add (s, k)  a = Mul (q, w) },
      else_branch = e () => (float[N, 4] b) { b = Identity (r) }>
  })";

std::vector<std::pair<int, int>> uses(const GraphIndex& index, const char* tensor) {
  std::vector<std::pair<int, int>> result;
  for (const Consumer& consumer : index.consumers(tensor)) {
    result.emplace_back(consumer.node, consumer.slot);
  }
  return result;
}

TEST(GraphIndex, KnowsProducersAndConsumers) {
  const Model model = model_from_text(kBranches);
  const GraphIndex index(model);
  EXPECT_EQ(index.producer("r"), 0);
  EXPECT_EQ(index.producer("y"), 3);
  EXPECT_EQ(index.producer("x"), -1);
  EXPECT_EQ(index.producer("w"), -1);
  EXPECT_EQ(index.producer("q"), -1);  // of a subgraph
  EXPECT_EQ(index.producer("none"), -1);
  using Uses = std::vector<std::pair<int, int>>;
  EXPECT_EQ(uses(index, "x"), (Uses{{0, 0}}));
  EXPECT_EQ(uses(index, "r"), (Uses{{2, 0}, {3, -1}}));
  EXPECT_EQ(uses(index, "s"), (Uses{{3, -1}}));
  EXPECT_EQ(uses(index, "w"), (Uses{{2, 1}, {3, -1}}));
  EXPECT_EQ(uses(index, "c"), (Uses{{3, 0}}));
  EXPECT_TRUE(index.consumers("q").empty());
  EXPECT_TRUE(index.consumers("y").empty());
}

TEST(GraphIndex, KnowsInputsOutputsAndNames) {
  const Model model = model_from_text(kBranches);
  const GraphIndex index(model);
  EXPECT_TRUE(index.is_graph_input("x"));
  EXPECT_FALSE(index.is_graph_input("w"));
  EXPECT_TRUE(index.is_graph_output("r"));
  EXPECT_FALSE(index.is_graph_output("s"));
  EXPECT_EQ(index.tensor_names(), (std::vector<std::string>{"x", "c", "w", "r", "k", "s", "y"}));
  EXPECT_EQ(index.label(0), "Relu 'relu'");
  EXPECT_EQ(index.label(2), "Mul (writes 's')");
}

TEST(GraphIndex, InfersTypes) {
  const Model model = model_from_text(kBranches);
  const GraphIndex index(model);
  EXPECT_EQ(index.type("s").elem_type, onnx::TensorProto::FLOAT);
  EXPECT_EQ(index.type("s").shape, (Shape{-1, 4}));
  EXPECT_EQ(index.type("w").shape, (Shape{4}));
  EXPECT_EQ(index.type("k").shape, Shape{});
  EXPECT_EQ(index.type("c").elem_type, onnx::TensorProto::BOOL);
  EXPECT_EQ(index.type("none").elem_type, 0);
  EXPECT_FALSE(index.type("none").shape.has_value());
}

TEST(GraphIndex, FollowsShapesThatAreComputed) {
  const Model model = model_from_text(R"(<ir_version: 8, opset_import: ["" : 17]>
    g (float[2, 3, 4] x) => (float[A, B] y) {
      shape = Shape (x)
      zero = Constant <value_ints = [0]> ()
      first = Gather (shape, zero)
      rest = Constant <value_ints = [-1]> ()
      target = Concat <axis = 0> (first, rest)
      y = Reshape (x, target)
    })");
  const GraphIndex index(model);
  EXPECT_EQ(index.type("y").shape, (Shape{2, 12}));
}

TEST(GraphIndex, ReadsConstantNodesOfEveryForm) {
  const Model model = model_from_text(R"(<ir_version: 8, opset_import: ["" : 17]>
    g (float[2] x) => (float[2] y) {
      a = Constant <value = float[2] {1.5, 2.5}> ()
      b = Constant <value_float = 3.5> ()
      c = Constant <value_floats = [1.0, 2.0]> ()
      d = Constant <value_int = 7> ()
      e = Constant <value_ints = [7, 8, 9]> ()
      y = Add (x, a)
    })");
  const GraphIndex index(model);
  const auto values = [&](const char* name) { return model.floats(*index.constant(name)); };
  EXPECT_EQ(values("a"), (std::vector<float>{1.5F, 2.5F}));
  EXPECT_EQ(values("b"), (std::vector<float>{3.5F}));
  EXPECT_EQ(values("c"), (std::vector<float>{1, 2}));
  EXPECT_EQ(values("d"), (std::vector<float>{7}));
  EXPECT_EQ(values("e"), (std::vector<float>{7, 8, 9}));
  EXPECT_EQ(shape_of(*index.constant("e")), (Shape{3}));
  EXPECT_TRUE(shape_of(*index.constant("b")).empty());
  EXPECT_EQ(index.constant("y"), nullptr);
}

TEST(GraphIndex, AnInitializerThatIsAnInputIsConstantOnlyBeforeIr4) {
  onnx::ModelProto proto = large_model();
  auto* input = proto.mutable_graph()->add_input();
  input->set_name("b");
  auto* type = input->mutable_type()->mutable_tensor_type();
  type->set_elem_type(onnx::TensorProto::FLOAT);
  type->mutable_shape()->add_dim()->set_dim_value(64);
  const Model overridable = Model::from_proto(proto, "m");
  EXPECT_EQ(GraphIndex(overridable).constant("b"), nullptr);
  EXPECT_NE(GraphIndex(overridable).constant("w"), nullptr);

  input = proto.mutable_graph()->add_input();
  *input = proto.graph().input(0);
  input->set_name("w");
  proto.set_ir_version(3);
  proto.mutable_opset_import(0)->set_version(8);
  Model old = Model::from_proto(proto, "m");
  EXPECT_NE(GraphIndex(old).constant("b"), nullptr);
  old.raise_ir_version(8);
  EXPECT_NE(GraphIndex(old).constant("b"), nullptr);
  EXPECT_EQ(old.graph().input_size(), 1);
}

TEST(GraphIndex, SurvivesRewiring) {
  Model model = Model::from_proto(large_model(), "m");
  const GraphIndex index(model);
  for (auto& node : *model.graph().mutable_node()) {
    node.set_input(0, "a quite long name that needs memory of its own, " + node.input(0));
    node.set_output(0, "another long name that needs memory of its own, " + node.output(0));
  }
  EXPECT_EQ(index.producer("p"), 0);
  EXPECT_EQ(index.consumers("p").size(), 1U);
  EXPECT_EQ(index.type("p").shape, (Shape{-1, 64}));
}

TEST(GraphIndex, WorksWhereInferenceFails) {
  const Model model = model_from_text(R"(<ir_version: 8, opset_import: ["" : 17, "mine" : 1]>
    g (float[2, 3] x) => (float[7] y) {
      a = mine.Thing (x)
      z = MatMul (x, x)
      y = Add (z, a)
    })");
  const GraphIndex index(model);
  EXPECT_EQ(index.producer("a"), 0);
  EXPECT_FALSE(index.type("a").shape.has_value());
  EXPECT_EQ(index.type("y").shape, (Shape{7}));
  EXPECT_EQ(index.type("x").shape, (Shape{2, 3}));
}

TEST(GraphIndex, IsLinearInTheSizeOfTheGraph) {
  onnx::ModelProto proto = large_model();
  onnx::GraphProto& graph = *proto.mutable_graph();
  const int nodes = 10000;
  for (int i = 0; i < nodes; ++i) {
    onnx::NodeProto* node = graph.add_node();
    node->set_op_type("Add");
    node->set_name("n" + std::to_string(i));
    node->add_input(i == 0 ? "y" : "t" + std::to_string(i - 1));
    node->add_input("b");
    node->add_output("t" + std::to_string(i));
  }
  const Model model = Model::from_proto(std::move(proto), "m");
  const GraphIndex index(model);
  EXPECT_EQ(index.consumers("b").size(), static_cast<std::size_t>(nodes) + 1);
  EXPECT_EQ(index.type("t9999").shape, (Shape{-1, 64}));
  NameMaker names(model.graph());
  const auto start = std::chrono::steady_clock::now();
  for (int i = 0; i < nodes; ++i) {
    ASSERT_EQ(names.fresh("t0"), "t0_" + std::to_string(i + 1));
  }
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(1));
}

TEST(NameMaker, AvoidsEveryNameOfTheModel) {
  const Model model = model_from_text(kBranches);
  NameMaker names(model.graph());
  EXPECT_EQ(names.fresh("new"), "new");
  EXPECT_EQ(names.fresh("new"), "new_1");
  EXPECT_EQ(names.fresh("new"), "new_2");
  for (const char* taken : {"x", "w", "r", "q", "a", "relu", "choose"}) {
    EXPECT_EQ(names.fresh(taken), std::string(taken) + "_1");
  }
}

TEST(MakeNodeNamesUnique, LeavesTheFirstAndTheUnnamed) {
  Model model = model_from_text(R"(<ir_version: 8, opset_import: ["" : 17]>
    g (float[2] x) => (float[2] e) {
      [n] a = Relu (x)
      b = Relu (a)
      [n] c = Relu (b)
      d = Relu (c)
      [n_1] e = Relu (d)
    })");
  EXPECT_EQ(make_node_names_unique(model.graph()), 1);
  std::vector<std::string> names;
  for (const auto& node : model.graph().node()) {
    names.push_back(node.name());
  }
  EXPECT_EQ(names, (std::vector<std::string>{"n", "", "n_2", "", "n_1"}));
  EXPECT_EQ(make_node_names_unique(model.graph()), 0);
}

}  // namespace
}  // namespace halfstep
