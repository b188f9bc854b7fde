#include "halfstep/target_graph.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "halfstep/model/graph_index.h"
#include "halfstep/support/error.h"
#include "tests/unit/support/onnx_text.h"

namespace halfstep {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::ThrowsMessage;

Model free_model() {
  return model_from_text(R"(
    <ir_version: 8, opset_import: ["" : 17]>
    g (float[n, 3, h] x) => (float[n, 3, h] y) { y = Relu(x) })");
}

Shape extents_of(const Model& model, const char* tensor) {
  return GraphIndex(model).type(tensor).shape.value_or(Shape());
}

TEST(FixInputExtents, AFreeBatchIsOne) {
  Model model = free_model();
  Diagnostics diagnostics;
  fix_input_extents(model, {}, diagnostics);
  EXPECT_THAT(extents_of(model, "x"), ElementsAre(1, 3, -1));
  ASSERT_EQ(diagnostics.size(), 1U);
  EXPECT_EQ(diagnostics[0].rule, "lower/batch-of-one");
}

TEST(FixInputExtents, WhatIsGivenReachesTheOutputs) {
  Model model = free_model();
  Diagnostics diagnostics;
  fix_input_extents(model, {{"x", {2, 3, 5}}}, diagnostics);
  EXPECT_THAT(extents_of(model, "y"), ElementsAre(2, 3, 5));
  EXPECT_TRUE(diagnostics.empty());
}

TEST(FixInputExtents, MinusOneIsFree) {
  Model model = free_model();
  model.graph()
      .mutable_input(0)
      ->mutable_type()
      ->mutable_tensor_type()
      ->mutable_shape()
      ->mutable_dim(0)
      ->set_dim_value(-1);
  Diagnostics diagnostics;
  fix_input_extents(model, {}, diagnostics);
  EXPECT_EQ(extents_of(model, "x")[0], 1);
}

TEST(FixInputExtents, RefusesWhatDoesNotFit) {
  Diagnostics diagnostics;
  const auto fix = [&](std::map<std::string, Shape> given) {
    return [given = std::move(given), &diagnostics] {
      Model model = free_model();
      fix_input_extents(model, given, diagnostics);
    };
  };
  EXPECT_THAT(fix({{"x", {1, 4, 5}}}), ThrowsMessage<Error>(HasSubstr("the model says 3")));
  EXPECT_THAT(fix({{"x", {1, 3}}}), ThrowsMessage<Error>(HasSubstr("3 axes")));
  EXPECT_THAT(fix({{"z", {1, 3}}}), ThrowsMessage<Error>(HasSubstr("'z'")));
}

}  // namespace
}  // namespace halfstep
