#include "halfstep/engines/ort/watch_graph.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/support/onnx_text.h"

namespace halfstep::ort {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

constexpr const char* kHead =
    "<ir_version: 8, opset_import: [\"\" : 17, \"com.microsoft.nchwc\" : 1]> ";

onnx::ModelProto model_of(const std::string& graph) { return proto_from_text(kHead + graph); }

/// "Relu(x) -> a" for each node.
std::vector<std::string> nodes_of(const onnx::ModelProto& model) {
  std::vector<std::string> texts;
  for (const onnx::NodeProto& node : model.graph().node()) {
    std::string text = node.op_type() + "(";
    for (int i = 0; i < node.input_size(); ++i) {
      text += (i == 0 ? "" : ", ") + node.input(i);
    }
    texts.push_back(text + ") -> " + node.output(0));
  }
  return texts;
}

std::vector<std::string> outputs_of(const onnx::ModelProto& model) {
  std::vector<std::string> names;
  for (const onnx::ValueInfoProto& output : model.graph().output()) {
    names.push_back(output.name());
  }
  return names;
}

TEST(InsertWatches, TakesOverTheNameSoThatReadersStay) {
  onnx::ModelProto model =
      model_of("g (float[4] x) => (float[4] y) { a = Relu (x) y = Add (a, a) }");
  const std::vector<std::string> watch = {"y", "a"};
  const std::vector<std::string> outputs = {"y"};
  const WatchPlan plan = insert_watches(model, watch, outputs, {true, true});
  EXPECT_THAT(nodes_of(model), ElementsAre("Relu(x) -> a_unwatched", "Watch(a_unwatched) -> a",
                                           "Add(a, a) -> y_unwatched", "Watch(y_unwatched) -> y"));
  EXPECT_THAT(plan.points, ElementsAre(WatchPoint{.index = 0}, WatchPoint{.index = 1}));
  EXPECT_THAT(plan.as_outputs, IsEmpty());
  EXPECT_THAT(outputs_of(model), ElementsAre("y"));
  EXPECT_EQ(model.opset_import(2).domain(), kWatchDomain);
  // The attribute is the position in plan.points.
  EXPECT_EQ(model.graph().node(1).attribute(0).i(), 1);
}

TEST(InsertWatches, DropsAReorderOfAnAddedOutput) {
  onnx::ModelProto model = model_of(
      "g (float[1,3,4,4] x) => (float[1,20,4,4] a, float y) { "
      "b = com.microsoft.nchwc.Conv (x) "
      "a = com.microsoft.nchwc.ReorderOutput <channels = 20> (b) "
      "y = com.microsoft.nchwc.GlobalAveragePool (b) }");
  const WatchPlan plan =
      insert_watches(model, std::vector<std::string>{"a"}, std::vector<std::string>{"y"}, {true});
  EXPECT_THAT(nodes_of(model), ElementsAre("Conv(x) -> b_unwatched", "Watch(b_unwatched) -> b",
                                           "GlobalAveragePool(b) -> y"));
  EXPECT_THAT(plan.points, ElementsAre(WatchPoint{.index = 0, .channels = 20}));
  EXPECT_THAT(outputs_of(model), ElementsAre("y"));
}

TEST(InsertWatches, KeepsAReorderThatIsNeeded) {
  const std::string graph =
      "g (float[1,3,4,4] x) => (float[1,20,4,4] a, float y) { "
      "b = com.microsoft.nchwc.Conv (x) "
      "a = com.microsoft.nchwc.ReorderOutput <channels = 20> (b) "
      "y = Flatten (a) }";
  onnx::ModelProto read = model_of(graph);
  const WatchPlan plan =
      insert_watches(read, std::vector<std::string>{"a"}, std::vector<std::string>{"y"}, {true});
  EXPECT_THAT(plan.points, ElementsAre(WatchPoint{.index = 0}));
  EXPECT_EQ(read.graph().node_size(), 4);

  onnx::ModelProto output = model_of(graph);
  const WatchPlan kept = insert_watches(output, std::vector<std::string>{"a"},
                                        std::vector<std::string>{"a", "y"}, {true});
  EXPECT_THAT(kept.points, ElementsAre(WatchPoint{.index = 0}));
  EXPECT_THAT(outputs_of(output), ElementsAre("a", "y"));
}

TEST(InsertWatches, FallsBackToOutputs) {
  onnx::ModelProto model = model_of(
      "g (float[4] x) => (float[4] y, float[4] c, int64[1] s) <float[4] c = {1, 2, 3, 4}> "
      "{ y = Relu (x) s = Shape (x) }");
  const std::vector<std::string> watch = {"c", "s", ""};
  const WatchPlan plan =
      insert_watches(model, watch, std::vector<std::string>{"y"}, {true, false, false});
  EXPECT_THAT(plan.points, IsEmpty());
  EXPECT_THAT(plan.as_outputs, ElementsAre(0, 1));
  EXPECT_THAT(outputs_of(model), ElementsAre("y", "c", "s"));
  EXPECT_EQ(model.opset_import_size(), 2);
}

TEST(InsertWatches, TensorReadInASubgraphKeepsItsName) {
  onnx::ModelProto model = model_of(
      "g (float[4] x, bool b) => (float[4] y) { a = Relu (x) "
      "y = If (b) <then_branch = t () => (float[4] u) { u = Neg (a) }, "
      "else_branch = e () => (float[4] v) { v = Abs (a) }> }");
  const WatchPlan plan =
      insert_watches(model, std::vector<std::string>{"a"}, std::vector<std::string>{"y"}, {true});
  EXPECT_EQ(plan.points.size(), 1U);
  EXPECT_EQ(model.graph().node(1).output(0), "a");
}

TEST(InsertWatches, MakesFreshNames) {
  onnx::ModelProto model = model_of(
      "g (float[4] x) => (float[4] y) { a_unwatched = Relu (x) a = Neg (a_unwatched) "
      "y = Abs (a) }");
  static_cast<void>(
      insert_watches(model, std::vector<std::string>{"a"}, std::vector<std::string>{"y"}, {true}));
  EXPECT_THAT(nodes_of(model),
              ElementsAre("Relu(x) -> a_unwatched", "Neg(a_unwatched) -> a_unwatched_1",
                          "Watch(a_unwatched_1) -> a", "Abs(a) -> y"));
}

TEST(AddOutput, AddsOnlyOnce) {
  onnx::ModelProto model = model_of("g (float[4] x) => (float[4] y) { y = Relu (x) }");
  add_output(*model.mutable_graph(), "y");
  add_output(*model.mutable_graph(), "x");
  EXPECT_THAT(outputs_of(model), ElementsAre("y", "x"));
}

}  // namespace
}  // namespace halfstep::ort
