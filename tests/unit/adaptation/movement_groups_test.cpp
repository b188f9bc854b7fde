#include "halfstep/adaptation/prepare/movement_groups.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "halfstep/adaptation/adapt.h"
#include "halfstep/adaptation/precision.h"
#include "halfstep/adaptation/prepare/movement_pattern.h"
#include "tests/unit/support/onnx_text.h"

namespace halfstep {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

std::string with_header(const std::string& graph, int opset = 21) {
  return "<ir_version: 8, opset_import: [\"\" : " + std::to_string(opset) +
         ", \"qti_aisw\" : 1]>\n" + graph;
}

/// "ChannelShuffle of 3: axis 1, 2 groups", "BatchToSpace of 4: block 2 2, margins 0 1 0 0, NHWC";
/// one line an operator that is found.
std::string found(const std::string& graph, int opset = 21) {
  const Model model = model_from_text(with_header(graph, opset));
  const GraphIndex index(model);
  std::string text;
  for (int node = 0; node < model.graph().node_size(); ++node) {
    const std::optional<MovementPattern> pattern = find_movement(model, index, node);
    if (!pattern) {
      continue;
    }
    text += pattern->op + " of " + std::to_string(pattern->nodes.size()) + ":";
    if (pattern->op == "ChannelShuffle") {
      text += " axis " + std::to_string(pattern->axis) + ", " + std::to_string(pattern->groups) +
              " groups\n";
      continue;
    }
    text += " block";
    for (const std::int64_t extent : pattern->block_size) {
      text += " " + std::to_string(extent);
    }
    text += ", margins";
    for (const std::int64_t margin : pattern->margins) {
      text += " " + std::to_string(margin);
    }
    text += pattern->channels_last ? ", NHWC\n" : ", NCHW\n";
    node = pattern->nodes.back();
  }
  return text;
}

// ---- ChannelShuffle -----------------------------------------------------------------------------

TEST(Movement, ChannelShuffle) {
  EXPECT_EQ(found(R"(g (float[1,6,4,5] x) => (float[1,6,4,5] y)
    <int64[5] s = {1, 2, 3, 4, 5}, int64[4] t = {1, 6, 4, 5}> {
      a = Reshape (x, s)  b = Transpose <perm = [0, 2, 1, 3, 4]> (a)  y = Reshape (b, t) })"),
            "ChannelShuffle of 3: axis 1, 2 groups\n");
}

TEST(Movement, ChannelShuffleOfAnOpenBatchWithRowsAndColumnsAsOne) {
  EXPECT_EQ(found(R"(g (float[N,6,4,5] x) => (float[N,6,4,5] y)
    <int64[4] s = {0, 3, 2, -1}, int64[4] t = {-1, 6, 4, 5}> {
      a = Reshape (x, s)  b = Transpose <perm = [0, 2, 1, 3]> (a)  y = Reshape (b, t) })"),
            "ChannelShuffle of 3: axis 1, 3 groups\n");
}

TEST(Movement, ChannelShuffleWithChannelsLast) {
  EXPECT_EQ(found(R"(g (float[1,4,5,6] x) => (float[1,4,5,6] y)
    <int64[5] s = {1, 4, 5, 2, 3}, int64[4] t = {-1, 4, 5, 6}> {
      a = Reshape (x, s)  b = Transpose <perm = [0, 1, 2, 4, 3]> (a)  y = Reshape (b, t) })"),
            "ChannelShuffle of 3: axis 3, 2 groups\n");
}

TEST(Movement, ChannelShuffleOfAMatrix) {
  EXPECT_EQ(found(R"(g (float[3,8] x) => (float[3,8] y)
    <int64[3] s = {3, 4, 2}, int64[2] t = {0, -1}> {
      a = Reshape (x, s)  b = Transpose <perm = [0, 2, 1]> (a)  y = Reshape (b, t) })"),
            "ChannelShuffle of 3: axis 1, 4 groups\n");
}

TEST(Movement, ShapesOfConstantNodes) {
  EXPECT_EQ(found(R"(g (float[1,6,4,5] x) => (float[1,6,4,5] y) {
      s = Constant <value_ints = [1, 2, 3, 4, 5]> ()
      a = Reshape (x, s)
      b = Transpose <perm = [0, 2, 1, 3, 4]> (a)
      t = Constant <value = int64[4] {1, 6, 4, 5}> ()
      y = Reshape (b, t) })"),
            "ChannelShuffle of 3: axis 1, 2 groups\n");
}

TEST(Movement, ShapesThatAreComputedFromTheInput) {
  EXPECT_EQ(found(R"(g (float[N,6,4,5] x) => (float[N,6,4,5] y)
    <int64[1] zero = {0}, int64[1] one = {1}, int64[4] r = {2, 3, 4, 5}, int64[3] q = {6, 4, 5}> {
      n = Shape (x)  m = Slice (n, zero, one)  s = Concat <axis = 0> (m, r)
      t = Concat <axis = 0> (m, q)
      a = Reshape (x, s)  b = Transpose <perm = [0, 2, 1, 3, 4]> (a)  y = Reshape (b, t) })"),
            "ChannelShuffle of 3: axis 1, 2 groups\n");
}

class NoMovement : public ::testing::TestWithParam<const char*> {};

TEST_P(NoMovement, IsNotFound) { EXPECT_EQ(found(GetParam()), ""); }

INSTANTIATE_TEST_SUITE_P(
    Movement, NoMovement,
    ::testing::Values(
        // another order
        R"(g (float[1,6,4,4] x) => (float[1,6,4,4] y)
           <int64[5] s = {1, 2, 3, 4, 4}, int64[4] t = {1, 6, 4, 4}> {
             a = Reshape (x, s)  b = Transpose <perm = [0, 2, 1, 4, 3]> (a)  y = Reshape (b, t) })",
        // nothing is swapped
        R"(g (float[1,6,4,5] x) => (float[1,6,4,5] y)
           <int64[5] s = {1, 2, 3, 4, 5}, int64[4] t = {1, 6, 4, 5}> {
             a = Reshape (x, s)  b = Transpose <perm = [0, 1, 2, 3, 4]> (a)  y = Reshape (b, t) })",
        // the channels and the rows change places
        R"(g (float[1,6,4,5] x) => (float[1,4,6,5] y)
           <int64[5] s = {1, 2, 3, 4, 5}, int64[4] t = {1, 4, 6, 5}> {
             a = Reshape (x, s)  b = Transpose <perm = [0, 3, 1, 2, 4]> (a)  y = Reshape (b, t) })",
        // the shape of the result is another one
        R"(g (float[1,6,4,5] x) => (float[1,6,20] y)
           <int64[5] s = {1, 2, 3, 4, 5}, int64[3] t = {1, 6, 20}> {
             a = Reshape (x, s)  b = Transpose <perm = [0, 2, 1, 3, 4]> (a)  y = Reshape (b, t) })",
        // an inner tensor is read twice
        R"(g (float[1,6,4,5] x) => (float[1,6,4,5] y, float[1,2,3,4,5] z)
           <int64[5] s = {1, 2, 3, 4, 5}, int64[4] t = {1, 6, 4, 5}> {
             a = Reshape (x, s)  b = Transpose <perm = [0, 2, 1, 3, 4]> (a)  y = Reshape (b, t)
             z = Relu (a) })",
        // an inner tensor is an output
        R"(g (float[1,6,4,5] x) => (float[1,6,4,5] y, float[1,2,3,4,5] a)
           <int64[5] s = {1, 2, 3, 4, 5}, int64[4] t = {1, 6, 4, 5}> {
             a = Reshape (x, s)  b = Transpose <perm = [0, 2, 1, 3, 4]> (a)  y = Reshape (b, t) })",
        // heads of attention
        R"(g (float[1,7,6] x) => (float[1,2,7,3] y) <int64[4] s = {1, 7, 2, 3}> {
             a = Reshape (x, s)  y = Transpose <perm = [0, 2, 1, 3]> (a) })",
        // windows of attention: their position is outer, not inner
        R"(g (float[1,4,4,3] x) => (float[4,2,2,3] y)
           <int64[6] s = {1, 2, 2, 2, 2, 3}, int64[4] t = {4, 2, 2, 3}> {
             a = Reshape (x, s)  b = Transpose <perm = [0, 1, 3, 2, 4, 5]> (a)
             y = Reshape (b, t) })",
        // DepthToSpace by hand
        R"(g (float[1,8,2,2] x) => (float[1,2,4,4] y)
           <int64[6] s = {1, 2, 2, 2, 2, 2}, int64[4] t = {1, 2, 4, 4}> {
             a = Reshape (x, s)  b = Transpose <perm = [0, 3, 4, 1, 5, 2]> (a)
             y = Reshape (b, t) })"));

// ---- BatchToSpace, SpaceToBatch -----------------------------------------------------------------

TEST(Movement, BatchToSpaceWithoutCrops) {
  EXPECT_EQ(found(R"(g (float[4,2,3,5] x) => (float[1,4,6,5] y)
    <int64[6] s = {2, 2, 1, 2, 3, 5}, int64[4] t = {1, 4, 6, 5}> {
      a = Reshape (x, s)  b = Transpose <perm = [2, 3, 0, 4, 1, 5]> (a)  y = Reshape (b, t) })"),
            "BatchToSpace of 3: block 2 2, margins 0 0 0 0, NHWC\n");
}

TEST(Movement, BatchToSpaceWithCrops) {
  EXPECT_EQ(found(R"(g (float[N,2,3,5] x) => (float[M,3,4,5] y)
    <int64[6] s = {2, 3, -1, 2, 3, 5}, int64[4] t = {-1, 4, 9, 5}, int64[2] b0 = {0, 3},
     int64[2] e = {3, -2}, int64[2] axes = {1, 2}> {
      a = Reshape (x, s)  b = Transpose <perm = [2, 3, 0, 4, 1, 5]> (a)  c = Reshape (b, t)
      y = Slice (c, b0, e, axes) })"),
            "BatchToSpace of 4: block 2 3, margins 0 1 3 2, NHWC\n");
}

TEST(Movement, OtherCropsAreNoPartOfIt) {
  const std::string head = R"(<int64[6] s = {2, 2, 1, 2, 2, 3}, int64[4] t = {1, 4, 4, 3},
    int64[1] b0 = {0}, int64[1] e = {2}, int64[1] axes = {3}, int64[1] rows = {1},
    int64[1] two = {2}> {
      a = Reshape (x, s)  b = Transpose <perm = [2, 3, 0, 4, 1, 5]> (a)  c = Reshape (b, t)
      )";
  const std::string without = "BatchToSpace of 3: block 2 2, margins 0 0 0 0, NHWC\n";
  EXPECT_EQ(found("g (float[4,2,2,3] x) => (float[1,4,4,2] y)" + head +
                  "y = Slice (c, b0, e, axes) }"),  // of the channels
            without);
  EXPECT_EQ(found("g (float[4,2,2,3] x) => (float[1,1,4,3] y)" + head +
                  "y = Slice (c, b0, e, rows, two) }"),  // every second row
            without);
}

TEST(Movement, PaddingThatIsNotZeroIsNoPartOfIt) {
  EXPECT_EQ(found(R"(g (float[1,3,4,3] x) => (float[4,2,2,3] y)
    <int64[8] p = {0, 0, 0, 0, 0, 1, 0, 0}, float v = {1}, int64[6] s = {1, 2, 2, 2, 2, 3},
     int64[4] t = {4, 2, 2, 3}> {
      q = Pad (x, p, v)
      a = Reshape (q, s)  b = Transpose <perm = [2, 4, 0, 1, 3, 5]> (a)  y = Reshape (b, t) })"),
            "SpaceToBatch of 3: block 2 2, margins 0 0 0 0, NHWC\n");
}

/// As the TensorFlow converter writes it: DepthToSpace on the batch, channels first in between.
TEST(Movement, BatchToSpaceByDepthToSpace) {
  EXPECT_EQ(found(R"(g (float[4,2,3,5] x) => (float[1,3,6,5] y)
    <int64[2] b0 = {1, 0}, int64[2] e = {2147483647, 2147483647}, int64[2] axes = {2, 3}> {
      a = Transpose <perm = [0, 3, 1, 2]> (x)
      b = Transpose <perm = [1, 0, 2, 3]> (a)
      c = DepthToSpace <blocksize = 2> (b)
      d = Slice (c, b0, e, axes)
      f = Transpose <perm = [1, 0, 2, 3]> (d)
      y = Transpose <perm = [0, 2, 3, 1]> (f) })"),
            "BatchToSpace of 6: block 2 2, margins 1 0 0 0, NHWC\n");
}

TEST(Movement, SpaceToBatchWithPadding) {
  EXPECT_EQ(found(R"(g (float[1,3,4,5] x) => (float[4,2,2,5] y)
    <int64[8] p = {0, 1, 0, 0, 0, 0, 0, 0}, int64[6] s = {-1, 2, 2, 2, 2, 5},
     int64[4] t = {4, 2, 2, 5}> {
      q = Pad (x, p)
      a = Reshape (q, s)  b = Transpose <perm = [2, 4, 0, 1, 3, 5]> (a)  y = Reshape (b, t) })"),
            "SpaceToBatch of 4: block 2 2, margins 1 0 0 0, NHWC\n");
}

TEST(Movement, SpaceToBatchBySpaceToDepth) {
  EXPECT_EQ(found(R"(g (float[1,3,3,5] x) => (float[4,2,2,5] y)
    <int64[8] p = {0, 0, 0, 0, 0, 0, 1, 1}> {
      a = Transpose <perm = [0, 3, 1, 2]> (x)
      b = Transpose <perm = [1, 0, 2, 3]> (a)
      c = Pad (b, p)
      d = SpaceToDepth <blocksize = 2> (c)
      f = Transpose <perm = [1, 0, 2, 3]> (d)
      y = Transpose <perm = [0, 2, 3, 1]> (f) })"),
            "SpaceToBatch of 6: block 2 2, margins 0 1 0 1, NHWC\n");
}

TEST(Movement, SpaceToBatchWithChannelsFirst) {
  EXPECT_EQ(found(R"(g (float[2,5,4,6] x) => (float[12,5,2,2] y)
    <int64[6] s = {2, 5, 2, 2, 2, 3}, int64[4] t = {12, 5, 2, 2}> {
      a = Reshape (x, s)  b = Transpose <perm = [3, 5, 0, 1, 2, 4]> (a)  y = Reshape (b, t) })"),
            "SpaceToBatch of 3: block 2 3, margins 0 0 0 0, NCHW\n");
}

TEST(Movement, AttributesOfOldOpsets) {
  EXPECT_EQ(found(R"(g (float[1,3,4,5] x) => (float[4,2,2,5] y)
    <int64[6] s = {1, 2, 2, 2, 2, 5}, int64[4] t = {4, 2, 2, 5}> {
      q = Pad <pads = [0, 1, 0, 0, 0, 0, 0, 0]> (x)
      a = Reshape (q, s)  b = Transpose <perm = [2, 4, 0, 1, 3, 5]> (a)  y = Reshape (b, t) })",
                  9),
            "SpaceToBatch of 4: block 2 2, margins 1 0 0 0, NHWC\n");
}

// ---- in an adaptation ---------------------------------------------------------------------------

/// Tensor -> dtype, scale; all given by the user.
using Given = std::vector<std::pair<std::string, std::pair<Dtype, float>>>;

struct Adapted {
  Model model;
  AdaptResult result{};
  Diagnostics diagnostics{};

  [[nodiscard]] std::string encoding(const std::string& tensor) const {
    const Encoding* found = result.encodings.find(tensor);
    return found == nullptr ? "none" : describe(*found);
  }
  [[nodiscard]] std::vector<std::string> nodes() const {
    std::vector<std::string> nodes;
    for (const onnx::NodeProto& node : model.graph().node()) {
      nodes.push_back(node.op_type() + " " + node.name());
    }
    return nodes;
  }
  [[nodiscard]] std::vector<std::string> messages(std::string_view rule) const {
    std::vector<std::string> messages;
    for (const Diagnostic& diagnostic : diagnostics) {
      if (diagnostic.rule == rule) {
        messages.push_back(diagnostic.message);
      }
    }
    return messages;
  }
};

EncodingTable table_of(const Given& given, Origin origin) {
  EncodingTable table;
  for (const auto& [tensor, numbers] : given) {
    table.set(
        tensor,
        {.dtype = numbers.first, .scale = {numbers.second}, .zero_point = {0}, .origin = origin});
  }
  return table;
}

Adapted adapted(const std::string& graph, const Given& given, Origin origin = Origin::override_file,
                const AdaptOptions& options = {}) {
  Adapted done{.model = model_from_text(with_header(graph))};
  const Target chip = Target::load("htp_v75");
  done.result = adapt(done.model, table_of(given, origin), chip, options, done.diagnostics);
  // Once more: nothing changes.
  Model again = done.model.clone();
  Diagnostics unused;
  const AdaptResult second = adapt(again, done.result.encodings, chip, options, unused);
  EXPECT_EQ(second.encodings, done.result.encodings);
  EXPECT_EQ(again.serialize(), done.model.serialize());
  return done;
}

constexpr const char* kShuffle = R"(g (float[1,6,4,5] x) => (float[1,6,4,5] y)
    <int64[5] s = {1, 2, 3, 4, 5}, int64[4] t = {1, 6, 4, 5}> {
      [r1] a = Reshape (x, s)
      [p] b = Transpose <perm = [0, 2, 1, 3, 4]> (a)
      [r2] y = Reshape (b, t) })";

TEST(MovementGroups, AGroupCarriesOneEncodingAndNoneInside) {
  const Adapted done = adapted(kShuffle, {{"x", {Dtype::uint8, 0.5F}}});
  EXPECT_EQ(done.encoding("y"), "uint8 scale 0.5 zero point 0");
  EXPECT_EQ(done.encoding("a"), "none");
  EXPECT_EQ(done.encoding("b"), "none");
  EXPECT_THAT(done.nodes(), ElementsAre("Reshape r1", "Transpose p", "Reshape r2"));
  EXPECT_THAT(done.messages("adapt/movement-group"),
              ElementsAre("Reshape 'r1' + Transpose 'p' + Reshape 'r2' run as one ChannelShuffle "
                          "that only moves data"));
  EXPECT_EQ(done.messages("adapt/chain-specification").size(), 1U);
  EXPECT_EQ(done.result.totals.movement_groups, 1);
  EXPECT_TRUE(done.result.inner.contains("a") && done.result.inner.contains("b"));
}

TEST(MovementGroups, TheNodesAreTagged) {
  const Adapted done = adapted(kShuffle, {{"x", {Dtype::uint8, 0.5F}}});
  for (const onnx::NodeProto& node : done.model.graph().node()) {
    ASSERT_EQ(node.metadata_props_size(), 2);
    EXPECT_EQ(node.metadata_props(0).key(), "halfstep.group");
    EXPECT_EQ(node.metadata_props(0).value(), "r2");
    EXPECT_EQ(node.metadata_props(1).key(), "halfstep.group_op");
    EXPECT_EQ(node.metadata_props(1).value(), R"({"op":"ChannelShuffle","axis":1,"num_groups":2})");
  }
}

TEST(MovementGroups, TheEndsMayDifferByAConvert) {
  const Adapted done =
      adapted(kShuffle, {{"x", {Dtype::uint16, 0.001F}}, {"y", {Dtype::uint8, 0.5F}}});
  EXPECT_THAT(done.nodes(),
              ElementsAre("Identity x_uint8_Convert", "Reshape r1", "Transpose p", "Reshape r2"));
  EXPECT_EQ(done.model.graph().node(1).input(0), "x_uint8");
}

TEST(MovementGroups, ADifferentEncodingInsideKeepsThemApart) {
  const Adapted done =
      adapted(kShuffle, {{"x", {Dtype::uint8, 0.5F}}, {"a", {Dtype::uint8, 0.25F}}});
  EXPECT_THAT(done.messages("adapt/movement-group"), ElementsAre(HasSubstr("tensor 'a'")));
  EXPECT_EQ(done.result.totals.movement_groups, 0);
  EXPECT_THAT(done.encoding("b"), HasSubstr("uint8"));
}

TEST(MovementGroups, AnEqualOneInsideGoes) {
  const Adapted done = adapted(kShuffle, {{"x", {Dtype::uint8, 0.5F}},
                                          {"a", {Dtype::uint8, 0.5F}},
                                          {"b", {Dtype::uint8, 0.5F}},
                                          {"y", {Dtype::uint8, 0.5F}}});
  EXPECT_EQ(done.result.totals.movement_groups, 1);
  EXPECT_EQ(done.encoding("a"), "none");
}

TEST(MovementGroups, SkippedByName) {
  const Adapted done = adapted(kShuffle, {{"x", {Dtype::uint8, 0.5F}}}, Origin::override_file,
                               {.skip = {"movement-groups"}});
  EXPECT_THAT(done.messages("adapt/movement-group"), IsEmpty());
  EXPECT_EQ(done.encoding("a"), "uint8 scale 0.5 zero point 0");
}

TEST(MovementGroups, WhatWasMeasuredBehindCropsGivesWay) {
  const Adapted done = adapted(R"(g (float[4,2,3,5] x) => (float[1,3,6,5] y)
    <int64[6] s = {2, 2, 1, 2, 3, 5}, int64[4] t = {1, 4, 6, 5}, int64[1] b0 = {0},
     int64[1] e = {3}, int64[1] axes = {1}> {
      a = Reshape (x, s)  b = Transpose <perm = [2, 3, 0, 4, 1, 5]> (a)  c = Reshape (b, t)
      y = Slice (c, b0, e, axes) })",
                               {{"x", {Dtype::uint8, 0.5F}},
                                {"a", {Dtype::uint8, 0.5F}},
                                {"c", {Dtype::uint8, 0.5F}},
                                {"y", {Dtype::uint8, 0.25F}}},
                               Origin::calibrated);
  EXPECT_EQ(done.encoding("y"), "uint8 scale 0.5 zero point 0");
  EXPECT_THAT(done.messages("adapt/convert"), IsEmpty());
}

TEST(MovementGroups, OperatorsOfTheConverterItselfStay) {
  const Adapted done = adapted(R"(g (float[4,5,2,3] x) => (float[1,5,3,6] y) {
      a = qti_aisw.BatchToSpace <block_size = [2, 2], crops = [0, 1, 0, 0]> (x)
      b = qti_aisw.ChannelShuffle <num_groups = 5, axis = 1> (a)
      y = Relu (b) })",
                               {{"x", {Dtype::uint8, 0.5F}}, {"y", {Dtype::uint8, 0.5F}}});
  EXPECT_EQ(done.encoding("a"), "uint8 scale 0.5 zero point 0");
  EXPECT_EQ(done.encoding("b"), "uint8 scale 0.5 zero point 0");
  EXPECT_EQ(done.model.graph().node(0).op_type(), "BatchToSpace");
  EXPECT_EQ(GraphIndex(done.model).type("a").shape, (Shape{1, 5, 3, 6}));
  EXPECT_THAT(done.messages("adapt/chain-specification"), Not(IsEmpty()));
}

}  // namespace
}  // namespace halfstep
