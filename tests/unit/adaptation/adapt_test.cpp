#include "halfstep/adaptation/adapt.h"

#include <sstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "halfstep/adaptation/precision.h"
#include "halfstep/support/error.h"
#include "tests/unit/support/onnx_text.h"

namespace halfstep {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::ThrowsMessage;

/// One line a tensor: "x uint8 0.1 128", "w int8 0.1 0", "w int8[0] 0.1 0.2" (per channel of axis
/// 0), "h float16".
EncodingTable encodings(const std::string& text) {
  EncodingTable table;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    std::string tensor, type;
    if (!(words >> tensor >> type)) {
      continue;
    }
    Encoding encoding{.origin = Origin::override_file};
    const std::size_t axis = type.find('[');
    encoding.dtype = parse_dtype(type.substr(0, axis));
    std::vector<float> numbers;
    for (float number = 0; words >> number;) {
      numbers.push_back(number);
    }
    if (axis != std::string::npos) {
      encoding.granularity = PerChannel{.axis = std::stoll(type.substr(axis + 1))};
      encoding.shape = {static_cast<std::int64_t>(numbers.size())};
      encoding.scale = numbers;
    } else if (!numbers.empty()) {
      encoding.scale = {numbers[0]};
      encoding.zero_point = {static_cast<std::int64_t>(numbers.at(1))};
    }
    table.set(tensor, std::move(encoding));
  }
  return table;
}

/// The adapted model as text: Converts, then every tensor with its encoding, single uses last.
std::string text_of(const Model& model, const AdaptResult& result) {
  std::string text;
  for (const onnx::NodeProto& node : model.graph().node()) {
    if (is_convert(node)) {
      text += "Convert " + node.input(0) + " -> " + node.output(0) + "\n";
    }
  }
  for (const auto& [tensor, encoding] : result.encodings) {
    text += tensor + ": " + describe(encoding) + "\n";
  }
  for (const auto& [use, encoding] : result.encodings.uses()) {
    text += use.node + "[" + std::to_string(use.slot) + "]: " + describe(encoding) + "\n";
  }
  return text;
}

struct Adapted {
  std::string text;
  Diagnostics diagnostics;
  [[nodiscard]] int count(std::string_view rule) const {
    return static_cast<int>(std::count_if(diagnostics.begin(), diagnostics.end(),
                                          [rule](const Diagnostic& d) { return d.rule == rule; }));
  }
};

/// Adapts, and adapts the result again: the second time nothing may change.
Adapted adapted(const std::string& graph, const std::string& table,
                const std::string& target = "htp_v75", const AdaptOptions& options = {}) {
  Model model = model_from_text("<ir_version: 10, opset_import: [\"\" : 21]>\n" + graph);
  Adapted done;
  const Target chip = Target::load(target);
  const AdaptResult first = adapt(model, encodings(table), chip, options, done.diagnostics);
  done.text = text_of(model, first);
  Diagnostics again;
  const AdaptResult second = adapt(model, first.encodings, chip, options, again);
  EXPECT_EQ(text_of(model, second), done.text);
  return done;
}

constexpr const char* kRelu = R"(g (float[1,4] x) => (float[1,4] y) { y = Relu (x) })";
constexpr const char* kConv = R"(g (float[1,2,4,4] x) => (float[1,2,4,4] y)
    <float[2,2,1,1] w = {1, 2, 3, 4}, float[2] b = {1, 2}> { y = Conv (x, w, b) })";

TEST(Adapt, WhatTheTargetTakesStaysBitForBit) {
  EXPECT_EQ(adapted(kRelu, "x uint8 0.1 128\ny uint8 0.05 0").text,
            "x: uint8 scale 0.1 zero point 128\n"
            "y: uint8 scale 0.05 zero point 0\n");
}

TEST(Adapt, WithoutAnyEncodingAllIsFloat16) {
  const Adapted done = adapted(kConv, "");
  EXPECT_EQ(done.text, "b: float16\nw: float16\nx: float16\ny: float16\n");
  EXPECT_EQ(done.count("adapt/default-float"), 3);
}

TEST(Adapt, WithoutTargetAllIsAsGiven) {
  EXPECT_EQ(adapted(kConv, "x uint8 0.1 128\nw int16 0.1 5", "none").text,
            "w: int16 scale 0.1 zero point 5\nx: uint8 scale 0.1 zero point 128\n");
}

TEST(Adapt, AMissingEncodingBesideAQuantizedOneMakesTheOpFloat16) {
  EXPECT_EQ(adapted(kRelu, "x uint8 0.1 128").text,
            "Convert x -> x_float16\n"
            "x: uint8 scale 0.1 zero point 128\n"
            "x_float16: float16\n"
            "y: float16\n");
}

TEST(Adapt, DifferentWidthsRiseAndAreConverted) {
  const Adapted done = adapted(kRelu, "x uint8 0.1 128\ny uint16 0.001 0");
  EXPECT_EQ(done.text,
            "Convert x -> x_uint16\n"
            "x: uint8 scale 0.1 zero point 128\n"
            "x_uint16: uint16 scale 0.00038910506 zero point 32896\n"
            "y: uint16 scale 0.001 zero point 0\n");
  EXPECT_EQ(done.count("adapt/convert"), 1);
}

TEST(Adapt, TheOppositeSignIsReachedByTheZeroPoint) {
  // HardSigmoid has a kernel of uint8, none of int8.
  const Adapted done = adapted(R"(g (float[1,4] x) => (float[1,4] y) { y = HardSigmoid (x) })",
                               "x int8 0.1 0\ny int8 0.004 -128");
  EXPECT_EQ(done.text,
            "Convert x -> x_uint8\n"
            "Convert y_uint8 -> y\n"
            "x: int8 scale 0.1 zero point 0\n"
            "x_uint8: uint8 scale 0.1 zero point 128\n"
            "y: int8 scale 0.004 zero point -128\n"
            "y_uint8: uint8 scale 0.004 zero point 0\n");
  EXPECT_EQ(done.count("adapt/sign"), 2);
}

TEST(Adapt, TheUsersRoundingIsNeverMergedAway) {
  // The op computes in 16 bits, its reader, too; the tensor between was asked to be uint8.
  const Adapted done = adapted(R"(g (float[1,4] x) => (float[1,4] y) { a = Abs (x)  y = Neg (a) })",
                               "x uint16 0.001 0\na uint8 0.2 0\ny uint16 0.002 0");
  EXPECT_THAT(done.text, HasSubstr("Convert a -> a_uint8\nConvert a_uint8 -> a_uint16\n"));
  EXPECT_THAT(done.text, HasSubstr("a: uint16 "));
  EXPECT_THAT(done.text, HasSubstr("a_uint8: uint8 scale 0.2 zero point 0"));
}

TEST(Adapt, ReadersThatNeedTheSameShareAConvert) {
  const Adapted done =
      adapted(R"(g (float[1,4] x) => (float[1,4] y, float[1,4] z) { y = Abs (x)  z = Neg (x) })",
              "x uint8 0.1 128\ny uint16 0.001 0\nz uint16 0.001 0");
  EXPECT_EQ(done.count("adapt/convert"), 1);
}

TEST(Adapt, BiasScaleIsInputTimesWeight) {
  const Adapted done = adapted(kConv, "x uint8 0.5 128\nw int8[0] 0.25 0.5\ny uint8 1 0");
  EXPECT_THAT(done.text, HasSubstr("b: int32 per channel (axis 0)\n"));
  EXPECT_THAT(done.text, Not(HasSubstr("Convert")));
}

TEST(Adapt, AsymmetricWeightsPerChannelAreAnError) {
  Diagnostics diagnostics;
  const auto run = [&](const AdaptOptions& options) {
    Model model =
        model_from_text("<ir_version: 10, opset_import: [\"\" : 21]>\n" + std::string(kConv));
    EncodingTable table = encodings("x uint8 0.5 128\nw uint8[0] 0.25 0.5\ny uint8 1 0");
    const AdaptResult result =
        adapt(model, std::move(table), Target::load("htp_v75"), options, diagnostics);
    return text_of(model, result);
  };
  EXPECT_THAT([&] { (void)run({}); },
              ThrowsMessage<Error>(AllOf(HasSubstr("[adapt/symmetry]"), HasSubstr("symmetric"))));
  // Beside float16 activations the backend ignores the offsets of channels: the weight is float16
  // with the rounding of its codes.
  EXPECT_THAT(run({.fallback = true}),
              AllOf(HasSubstr("x_float16: float16"), HasSubstr("w_uint8: float16")));
}

TEST(Adapt, ActivationsPerChannelAreAnError) {
  EXPECT_THAT([] { (void)adapted(kRelu, "x uint8[1] 1 2 3 4\ny uint8 1 0"); },
              ThrowsMessage<Error>(AllOf(HasSubstr("[adapt/granularity]"), HasSubstr("'x'"))));
}

TEST(Adapt, AComputedOperandIsConvertedToTheSymmetryOfAWeight) {
  const Adapted done =
      adapted(R"(g (float[1,4,4] x, float[1,4,4] z) => (float[1,4,4] y) { y = MatMul (x, z) })",
              "x uint16 0.001 0\nz uint16 0.001 30000\ny uint16 0.01 0");
  EXPECT_THAT(done.text, HasSubstr("Convert z -> z_uint16\n"));
  EXPECT_THAT(done.text, HasSubstr("z_uint16: uint16 scale 0.0010844753 zero point 32768"));
  EXPECT_EQ(done.count("adapt/symmetric-operand"), 1);
}

TEST(Adapt, AFixedEncodingReplacesOneInsideItsRange) {
  const Adapted done = adapted(R"(g (float[1,4] x) => (float[1,4] y) { y = Tanh (x) })",
                               "x uint16 0.001 32768\ny uint16 0.00003 32768");
  EXPECT_THAT(done.text, HasSubstr("y: uint16 scale 3.0517578e-05 zero point 32768"));
  EXPECT_EQ(done.count("adapt/fixed-encoding"), 1);
  EXPECT_THAT(
      [] {
        (void)adapted(R"(g (float[1,4] x) => (float[1,4] y) { y = Tanh (x) })",
                      "x uint16 0.001 32768\ny uint16 0.001 32768");
      },
      ThrowsMessage<Error>(HasSubstr("[adapt/fixed-encoding]")));
}

TEST(Adapt, AChainTakesTheNarrowestAndConvertsAtItsEnds) {
  const Adapted done = adapted(
      R"(g (float[1,4] x) => (float[4,1] y) <int64[2] s = {2, 2}, int64[2] t = {4, 1}> {
        a = Reshape (x, s)
        b = Transpose <perm = [1, 0]> (a)
        y = Reshape (b, t)
      })",
      "x uint16 0.001 0\nb uint8 0.2 0");
  EXPECT_EQ(done.text,
            "Convert x -> x_uint8\n"
            "a: uint8 scale 0.2 zero point 0\n"
            "b: uint8 scale 0.2 zero point 0\n"
            "x: uint16 scale 0.001 zero point 0\n"
            "x_uint8: uint8 scale 0.2 zero point 0\n"
            "y: uint8 scale 0.2 zero point 0\n");
  EXPECT_EQ(done.count("adapt/chain-measured"), 3);
}

TEST(Adapt, OfEqualWidthTheProducersEndWins) {
  const Adapted done = adapted(
      R"(g (float[1,4] x) => (float[1,2] y) <int64[2] i = {0, 2}> {
        y = Gather <axis = 1> (x, i)
      })",
      "x uint8 0.1 0\ny uint8 0.2 0");
  EXPECT_EQ(done.text,
            "Convert y_uint8 -> y\n"
            "x: uint8 scale 0.1 zero point 0\n"
            "y: uint8 scale 0.2 zero point 0\n"
            "y_uint8: uint8 scale 0.1 zero point 0\n");
  EXPECT_EQ(done.count("adapt/chain-specification"), 1);
}

TEST(Adapt, OtherOpsAreNoDataMovement) {
  EXPECT_THAT(adapted(kRelu, "x uint8 0.1 0\ny uint8 0.2 0").text, Not(HasSubstr("Convert")));
}

constexpr const char* kConvRelu = R"(g (float[1,2,4,4] x) => (float[1,2,4,4] y)
    <float[2,2,1,1] w = {1, 2, 3, 4}> { a = Conv (x, w)  y = Relu (a) })";

TEST(Adapt, InnerTensorsOfASuperGroupGetNoEncoding) {
  const Adapted done = adapted(kConvRelu, "x uint8 0.5 128\nw int8[0] 0.25 0.5\ny uint8 1 0");
  EXPECT_EQ(done.count("adapt/super-group"), 1);
  EXPECT_THAT(done.text, Not(HasSubstr("a:")));
}

TEST(Adapt, AnInnerEncodingDisqualifiesTheGroupWithAWarning) {
  const Adapted done =
      adapted(kConvRelu, "x uint8 0.5 128\nw int8[0] 0.25 0.5\na uint8 1 128\ny uint8 1 0");
  EXPECT_EQ(done.count("adapt/super-group"), 0);
  EXPECT_EQ(done.count("adapt/super-group-inner-encoding"), 1);
  EXPECT_THAT(done.text, HasSubstr("a: uint8 scale 1 zero point 128"));
}

TEST(Adapt, HardSwishIsFusedFromV73On) {
  const char* graph = R"(g (float[1,2,4,4] x) => (float[1,2,4,4] y)
    <float[2,2,1,1] w = {1, 2, 3, 4}> { a = Conv (x, w)  y = HardSwish (a) })";
  const char* table = "x uint8 0.5 128\nw int8[0] 0.25 0.5\ny uint8 1 0";
  EXPECT_EQ(adapted(graph, table, "htp_v75").count("adapt/super-group"), 1);
  EXPECT_EQ(adapted(graph, table, "htp_v68").count("adapt/super-group"), 0);
}

TEST(Adapt, HardSwishBehindADepthwiseConvOfAnEvenStrideIsNotFused) {
  const std::string graph = R"(g (float[1,2,4,4] x) => (float[1,2,N,N] y)
    <float[2,1,1,1] w = {1, 2}> { a = Conv <group = 2, strides = STRIDES> (x, w)  y = HardSwish (a) })";
  const char* table = "x uint8 0.5 128\nw int8[0] 0.25 0.5\ny uint8 1 0";
  for (const auto& [strides, groups] :
       {std::pair{"[1, 1]", 1U}, std::pair{"[3, 3]", 1U}, std::pair{"[1, 2]", 0U}}) {
    std::string own = graph;
    own.replace(own.find("STRIDES"), 7, strides);
    EXPECT_EQ(adapted(own.c_str(), table, "htp_v75").count("adapt/super-group"), groups) << strides;
  }
}

TEST(Adapt, AGroupRisesAsAWhole) {
  const Adapted done = adapted(kConvRelu, "x uint8 0.5 128\nw int8[0] 0.25 0.5\ny uint16 0.01 0");
  EXPECT_THAT(done.text, HasSubstr("Convert x -> x_uint16"));
  EXPECT_THAT(done.text, Not(HasSubstr("\na:")));
}

TEST(Adapt, Weights16NeedV73) {
  const char* table = "x uint16 0.5 32768\nw int16[0] 0.25 0.5\ny uint16 1 0";
  EXPECT_THAT(adapted(kConv, table, "htp_v73").text, HasSubstr("w: int16 per channel"));
  const std::string old = adapted(kConv, table, "htp_v68").text;
  EXPECT_THAT(old, HasSubstr("w_int16: float16"));
}

TEST(Adapt, Int4WeightsStayInt4) {
  EXPECT_THAT(adapted(kConv, "x uint16 0.5 0\nw int4[0] 0.25 0.5\ny uint16 1 0").text,
              AllOf(HasSubstr("w: int4 per channel"), Not(HasSubstr("Convert"))));
}

TEST(Adapt, AnIntegerTargetRefusesFloatTensorsAndListsThem) {
  EXPECT_THAT([] { (void)adapted(kRelu, "x uint8 0.1 0", "lpai"); },
              ThrowsMessage<Error>(AllOf(HasSubstr("[adapt/no-kernel]"), HasSubstr("'y'"))));
}

TEST(Adapt, AnOpWithoutOperatorIsNamed) {
  EXPECT_THAT([] { (void)adapted(R"(g (float[1,4] x) => (float[1,4] y) { y = Erf (x) })", ""); },
              ThrowsMessage<Error>(AllOf(HasSubstr("Erf"), HasSubstr("[adapt/no-operator]"))));
}

TEST(Adapt, SkippedPassesMustExist) {
  EXPECT_THAT([] { (void)adapted(kRelu, "", "htp_v75", {.skip = {"convert"}}); },
              ThrowsMessage<Error>(HasSubstr("did you mean \"converts\"")));
}

constexpr const char* kLinear = R"(g (float[2,3,2] x) => (float[2,3,2] y)
    <float[2,2] w = {1, 2, 3, 4}, float[2] b = {1, 2}> { p = MatMul (x, w) y = Add (p, b) })";
constexpr const char* kLinearTypes = "x uint8 0.1 128\nw int8[1] 0.1 0.2\ny uint8 0.5 128\n";

TEST(Adapt, AConstantAddedToAProductIsItsBias) {
  const Adapted done = adapted(kLinear, kLinearTypes);
  EXPECT_EQ(done.text,
            "b: int32 per channel (axis 0)\nw: int8 per channel (axis 1)\n"
            "x: uint8 scale 0.1 zero point 128\ny: uint8 scale 0.5 zero point 128\n");
  EXPECT_EQ(done.count("adapt/bias-add"), 1);
  EXPECT_EQ(done.count("adapt/super-group"), 0);
}

TEST(Adapt, AnActivationBehindTheBiasMakesASuperGroup) {
  const Adapted done = adapted(R"(g (float[2,2] x) => (float[2,2] y)
    <float[2,2] w = {1, 2, 3, 4}, float[2] b = {1, 2}>
    { p = MatMul (x, w) s = Add (p, b) y = Relu (s) })",
                               kLinearTypes);
  EXPECT_EQ(done.count("adapt/bias-add"), 1);
  EXPECT_EQ(done.count("adapt/super-group"), 1);
  EXPECT_THAT(done.text, Not(HasSubstr("p:")));
  EXPECT_THAT(done.text, Not(HasSubstr("s:")));
}

TEST(Adapt, AProductWithAnEncodingIsNotJoinedWithItsBias) {
  const Adapted done = adapted(kLinear, std::string(kLinearTypes) + "p uint8 0.5 128\n");
  EXPECT_EQ(done.count("adapt/bias-add"), 0);
  EXPECT_THAT(done.text, HasSubstr("p: uint8 scale 0.5 zero point 128"));
}

TEST(Adapt, OneAddedNumberForAllChannelsIsNoBias) {
  const Adapted done = adapted(R"(g (float[2,2] x) => (float[2,2] y)
    <float[2,2] w = {1, 2, 3, 4}, float[1] b = {1}> { p = MatMul (x, w) y = Add (p, b) })",
                               kLinearTypes);
  EXPECT_EQ(done.count("adapt/bias-add"), 0);
}

TEST(Adapt, LpbqWeightsAndTheirBiasStayTwoOperators) {
  std::string zeros = "0";
  for (int i = 1; i < 64; ++i) {
    zeros += ", 0";
  }
  Model model = model_from_text(
      "<ir_version: 10, opset_import: [\"\" : 21]>\n"
      "g (float[2,32] x) => (float[2,2] y) <float[32,2] w = {" +
      zeros + "}, float[2] b = {-1, 2}> { p = MatMul (x, w) y = Add (p, b) }");
  EncodingTable table = encodings("x uint16 0.001 32768\ny uint16 0.001 32768\n");
  table.set("w", {.dtype = Dtype::int4,
                  .granularity = Lpbq{.axis = 0, .block_size = 16, .channel_axis = 1},
                  .shape = {2, 2},
                  .scale = {0.1F, 0.2F},
                  .zero_point = {},
                  .block_scale = {1, 2, 3, 4}});
  Diagnostics diagnostics;
  const AdaptResult result =
      adapt(model, std::move(table), Target::load("htp_v75"), {}, diagnostics);
  const Encoding* product = result.encodings.find("p");
  ASSERT_NE(product, nullptr);
  const RealRange range = real_range(*product);
  EXPECT_NEAR(range.low, -32.768 - 2, 0.01);
  EXPECT_NEAR(range.high, 32.767 + 1, 0.01);
  EXPECT_EQ(result.encodings.find("w")->block_scale.size(), 4U);
}

TEST(Adapt, MeasuredValuesBeyondFloat16AreNamed) {
  const Adapted done =
      adapted(kRelu, "", "htp_v75", {.ranges = {{"y", {.low = 0, .high = 70000}}}});
  EXPECT_EQ(done.count("adapt/float16-range"), 1);
  EXPECT_EQ(done.count("adapt/float32-kept"), 0);
  EXPECT_EQ(adapted(kRelu, "", "htp_v75", {.ranges = {{"y", {.low = 0, .high = 7}}}})
                .count("adapt/float16-range"),
            0);
}

TEST(Adapt, AHigherRankThanTheKernelsTakeIsAnError) {
  EXPECT_THAT(
      [] {
        adapted(R"(g (float[1,1,1,1,1,4] x) => (float[1,1,1,1,1,4] y) { y = Relu (x) })",
                "x uint8 0.1 0\ny uint8 0.1 0\n");
      },
      ThrowsMessage<Error>(AllOf(HasSubstr("at most rank 5, found rank 6"),
                                 HasSubstr("nearest kernels: "), HasSubstr("adapt/no-kernel"))));
}

TEST(Adapt, SignedPadOfAValueRunsUnsigned) {
  const std::string graph = R"(g (float[1,2,2,2] x) => (float[1,2,4,4] y)
    <int64[8] p = {0, 0, 1, 1, 0, 0, 1, 1}> { y = Pad (x, p) })";
  EXPECT_EQ(adapted(graph, "x int8 0.1 -9\ny int8 0.1 -9\n").count("adapt/sign"), 2);
  EXPECT_EQ(adapted(graph, "x uint8 0.1 119\ny uint8 0.1 119\n").count("adapt/sign"), 0);
}

TEST(Adapt, SoftmaxStartsAtZero) {
  const Adapted done = adapted(R"(g (float[1,4] x) => (float[1,4] y) { y = Softmax (x) })",
                               "x uint8 0.1 128\ny uint8 0.0078125 127\n");
  EXPECT_EQ(done.count("adapt/fixed-encoding"), 1);
  EXPECT_THAT(done.text, HasSubstr("zero point 0\n"));
}

TEST(Adapt, WhatNoOutputNeedsIsLeftOut) {
  const Adapted done =
      adapted(R"(g (float[1,4] x) => (float[1,4] y) { y = Relu (x) z = Exp (x) })", "");
  EXPECT_EQ(done.count("adapt/unused-node"), 1);
  EXPECT_EQ(done.text, "x: float16\ny: float16\n");
}

TEST(Adapt, AnOperatorTakesAnyNumberOfOperands) {
  EXPECT_EQ(adapted(R"(g (float[4] a, float[4] b, float[4] c) => (float[4] y)
    { y = Sum (a, b, c) })",
                    "a uint8 0.1 1\nb uint8 0.1 2\nc uint8 0.1 3\ny uint8 0.1 4\n")
                .text,
            "a: uint8 scale 0.1 zero point 1\nb: uint8 scale 0.1 zero point 2\n"
            "c: uint8 scale 0.1 zero point 3\ny: uint8 scale 0.1 zero point 4\n");
}

TEST(Adapt, AConvertThatTheChipIgnoresIsAWarning) {
  const std::string graph = R"(g (float[1,4,2,2] x) => (float[1,1,4,4] y)
    { y = DepthToSpace <blocksize = 2> (x) })";
  EXPECT_EQ(adapted(graph, "x uint8 0.1 0\ny uint8 0.2 0\n").count("adapt/convert-ignored"), 1);
  EXPECT_EQ(adapted(graph, "x uint8 0.1 0\ny uint8 0.1 0\n").count("adapt/convert-ignored"), 0);
  EXPECT_EQ(adapted(graph, "x uint8 0.1 0\ny uint16 0.2 0\n").count("adapt/convert-ignored"), 0);
}

}  // namespace
}  // namespace halfstep
