#include "halfstep/simulation/fixed_point.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

namespace halfstep::simulation {
namespace {

int code(const Requantizer& requantizer, double sum, int zero_point) {
  return static_cast<int>(
      std::clamp(std::floor(requantizer.steps(sum) + 0.5) + zero_point, 0.0, 255.0));
}

struct Recorded {
  double sum;
  int code;
};

/// Conv2d of ones: input scale 0.02, weight scale 0.005, one sum and code each. Recorded on the
/// emulator (QNN 2.51, v75).
void expect_recorded(float step, int zero_point, const std::vector<Recorded>& recorded) {
  const Requantizer requantizer(static_cast<double>(0.02F) * static_cast<double>(0.005F), step);
  for (const Recorded& r : recorded) {
    EXPECT_EQ(code(requantizer, r.sum, zero_point), r.code) << r.sum << " at step " << step;
  }
}

TEST(Requantizer, GivesTheCodesOfTheEmulator) {
  expect_recorded(0.009900989942252636F, 50,
                  {{6188, 113},
                   {7732, 128},
                   {10372, 155},
                   {10940, 161},
                   {11044, 162},
                   {12524, 177},
                   {13524, 187},
                   {15692, 209},
                   {16780, 220},
                   {18068, 233},
                   {18188, 234},
                   {19692, 249}});
  expect_recorded(
      0.14084506034851074F, 128,
      {{-182080, 0}, {-170816, 7}, {-39488, 100}, {19008, 141}, {61120, 171}, {129344, 220}});
  expect_recorded(0.004504504147917032F, 0,
                  {{10, 0},
                   {518, 12},
                   {1554, 35},
                   {2906, 65},
                   {5878, 131},
                   {6030, 134},
                   {7082, 157},
                   {7446, 165},
                   {7714, 171},
                   {7770, 173},
                   {9842, 219},
                   {11238, 250}});
  expect_recorded(0.11408492177724838F, 77,
                  {{1344, 78},
                   {20544, 95},
                   {53056, 123},
                   {64704, 134},
                   {80192, 147},
                   {122304, 184},
                   {144320, 203},
                   {158912, 216},
                   {170560, 226},
                   {184256, 238},
                   {196800, 249},
                   {197952, 250}});
}

TEST(Requantizer, IsNotPlainRounding) {
  const double m = 0.0101;
  const Requantizer requantizer(m, 1);
  int different = 0;
  for (int sum = -10000; sum < 10000; ++sum) {
    different += std::floor(requantizer.steps(sum) + 0.5) == std::nearbyint(sum * m) ? 0 : 1;
    EXPECT_LE(std::abs(requantizer.steps(sum) - sum * m), 0.05 + std::abs(sum * m) / 4096);
  }
  EXPECT_GT(different, 100);
  EXPECT_LT(different, 1000);
}

TEST(Requantizer, GivesTheCodesOfTheEmulatorForLargeMultipliers) {
  expect_recorded(0.00079365074634552F, 128,
                  {{-123, 113}, {-91, 117}, {-67, 120}, {-44, 122}});  // m = 0.126
  expect_recorded(0.0001960784284165129F, 128,
                  {{-105, 74}, {-103, 76}, {-101, 77}, {-97, 79}, {-56, 99}, {-52, 102}});
  expect_recorded(0.00011111110507044941F, 128, {{-125, 16}, {-85, 52}, {-45, 88}, {-35, 97}});
  expect_recorded(2.7027026590076275e-05F, 128, {{-25, 36}, {-15, 73}, {5, 147}, {25, 221}});
}

TEST(Requantizer, GivesTheCodesOfTheVectorUnit) {
  // DepthWiseConv2d of stride 2, recorded on the emulator (QNN 2.51, v75): m = 0.0013725, plain
  // rounding differs in the first five.
  const Requantizer requantizer = Requantizer::of_vector_unit(
      static_cast<double>(0.03051125817000866F) * static_cast<double>(0.005169999785721302F),
      0.11493231356143951F, 134);
  for (const Recorded& r : std::vector<Recorded>{{9106, 147},
                                                 {-16394, 112},
                                                 {6921, 144},
                                                 {42622, 193},
                                                 {-28780, 95},
                                                 {7725, 145},
                                                 {-3090, 130},
                                                 {27541, 172},
                                                 {40038, 189},
                                                 {-22619, 103}}) {
    EXPECT_EQ(code(requantizer, r.sum, 134), r.code) << r.sum;
  }
}

TEST(BiasCount, MayLoseOne) {
  // Conv2d, recorded on the emulator (QNN 2.51, v75): biases of -43, 57 and 58 counts.
  constexpr float kUnit = 0.02F * 0.005F;
  EXPECT_EQ(bias_count(-43, kUnit, kUnit), -42);
  EXPECT_EQ(bias_count(57, kUnit, kUnit), 56);
  EXPECT_EQ(bias_count(58, kUnit, kUnit), 58);
  EXPECT_EQ(bias_count(100, 2 * kUnit, kUnit), 200);
}

TEST(ChannelBiasCounts, ShareOneStep) {
  // Conv2d, recorded on the emulator (QNN 2.51, v75): input scale 0.0323, weight scales up to
  // 0.0071, one a channel.
  std::vector<float> small = {701, 631, -956, -194, 250, -855, 7, -9, 2300, -4100};
  channel_bias_counts(small, 0.0323F * 0.0071F);
  EXPECT_EQ(small, (std::vector<float>{701, 631, -956, -194, 250, -855, 6, -8, 2300, -4100}));
  std::vector<float> large = {70100, 63100, -95600, -19400, 25000, -85500, 7, -9, 230011, -41000};
  channel_bias_counts(large, 0.0323F * 0.0071F);
  EXPECT_EQ(large, (std::vector<float>{70100, 63100, -95600, -19400, 25000, -85500, 6, -8, 230010,
                                       -41000}));
  std::vector<float> zeros = {0, 0};
  channel_bias_counts(zeros, 1.0F);
  EXPECT_EQ(zeros, (std::vector<float>{0, 0}));
}

TEST(WeightedSumTest, GivesTheCodesOfTheEmulator) {
  // ElementWiseAdd, recorded on the emulator (QNN 2.51, v75); plain rounding differs in eight.
  constexpr double kFirst = 0.0123F;
  constexpr double kSecond = 0.0311F;
  constexpr double kStep = 0.041F;
  const std::array ratios = {kFirst / kStep, kSecond / kStep};
  const std::array zero_points = {44.0, 146.0};
  const WeightedSum sum = weighted_sum(ratios, zero_points, 122);
  const std::vector<std::array<int, 3>> recorded = {
      {42, 245, 197},  {110, 81, 93},   {101, 45, 63},  {203, 93, 130}, {243, 209, 230},
      {222, 187, 207}, {199, 146, 169}, {2, 187, 141},  {43, 160, 132}, {211, 13, 71},
      {169, 100, 125}, {75, 17, 33},    {170, 80, 110}, {223, 198, 215}};
  int plain = 0;
  for (const auto& [a, b, code] : recorded) {
    const double value = a * static_cast<double>(sum.multipliers[0]) +
                         b * static_cast<double>(sum.multipliers[1]) + sum.constant;
    EXPECT_EQ(static_cast<int>(std::floor(value)), code) << a << " + " << b;
    plain += std::nearbyint((a - 44) * ratios[0] + (b - 146) * ratios[1]) + 122 == code ? 0 : 1;
  }
  EXPECT_EQ(plain, 8);
}

TEST(WeightedSumTest, ADifferenceHasFinerMultipliersThanASum) {
  const std::array zero_points = {0.0, 0.0};
  const WeightedSum sum = weighted_sum(std::array{0.6, 0.6}, zero_points, 0);
  const WeightedSum difference = weighted_sum(std::array{0.6, -0.6}, zero_points, 0);
  EXPECT_EQ(sum.multipliers[0], 4915.0F / 8192);
  EXPECT_EQ(difference.multipliers[0], 9830.0F / 16384);
  EXPECT_EQ(difference.multipliers[1], -9830.0F / 16384);
  EXPECT_EQ(sum.constant, 0.5F);
}

TEST(SecondOperandTest, ColumnsInsideSignedBytesStay) {
  const std::vector<double> codes = {127, -128, -5, 6};
  const SecondOperand second = second_operand(codes, 2);
  EXPECT_EQ(second.codes, codes);
  EXPECT_EQ(second.factor, (std::vector<double>{1, 1}));
}

TEST(SecondOperandTest, AWiderColumnIsRoundedToItsOwnScale) {
  const SecondOperand second = second_operand(std::vector<double>{254, -200, 7, 100, 3, 50}, 2);
  EXPECT_EQ(second.factor, (std::vector<double>{2, 200 / 128.0}));
  EXPECT_EQ(second.codes, (std::vector<double>{127, -128, 4, 64, 2, 32}));
}

TEST(SecondOperandTest, TheScaleOfAColumnHas11Bits) {
  // MatMul, recorded on the emulator (QNN 2.51, v75): each of these is next to a tie.
  for (const auto& [largest, code, rounded] : std::vector<std::array<double, 3>>{
           {172, 86, 63}, {152, 149, 125}, {228, 114, 63}, {227, 185, 103}, {202, 198, 125}}) {
    EXPECT_EQ(second_operand(std::vector<double>{largest, code}, 1).codes[1], rounded) << largest;
  }
}

int converted(const Conversion& conversion, int code) {
  const double parts = std::floor(code * static_cast<double>(conversion.multiplier) +
                                  static_cast<double>(conversion.constant));
  return static_cast<int>(std::clamp(std::floor(parts / 64 + 0.5), 0.0, 255.0));
}

double ratio_of(float from, float to) {
  return static_cast<double>(from) / static_cast<double>(to);
}

/// Convert, recorded on the emulator (QNN 2.51, v75). Plain rounding gives another code for 21 and
/// 75 of the first, and for all of the last.
TEST(Conversion, GivesTheCodesOfTheEmulator) {
  const std::vector<std::pair<Conversion, std::vector<std::pair<int, int>>>> recorded = {
      {conversion(ratio_of(0.0213F, 0.0371F), 102, 60),
       {{0, 1}, {21, 14}, {45, 27}, {50, 30}, {75, 45}, {128, 75}, {207, 120}, {255, 148}}},
      {conversion(ratio_of(0.0171F, 0.0123F), 30, 12),
       {{0, 0}, {24, 4}, {50, 40}, {85, 88}, {110, 123}, {149, 177}, {200, 248}, {222, 255}}},
      {conversion(ratio_of(0.025059573352336884F, 0.034696657210588455F), 128, 128),
       {{11, 44}, {29, 57}, {47, 70}, {65, 83}, {83, 96}, {101, 109}, {119, 122}}}};
  for (const auto& [conversion, codes] : recorded) {
    for (const auto& [in, out] : codes) {
      EXPECT_EQ(converted(conversion, in), out) << in;
    }
  }
}

}  // namespace
}  // namespace halfstep::simulation
