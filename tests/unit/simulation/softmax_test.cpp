#include "halfstep/simulation/softmax.h"

#include <array>
#include <cmath>
#include <numbers>
#include <vector>

#include <gtest/gtest.h>

namespace halfstep::simulation {
namespace {

using Codes = std::vector<double>;

// Recorded on the emulator (QNN 2.51, v75): scale 0.05; Softmax with steps of 1/255, LogSoftmax
// with 0.04 and zero point 255.
constexpr std::array kRow = {166.0, 99.0,  104.0, 96.0,  153.0, 93.0,  188.0, 117.0, 122.0, 125.0,
                             135.0, 131.0, 126.0, 189.0, 164.0, 163.0, 151.0, 140.0, 104.0, 188.0};
constexpr double kScale = 0.05F;
constexpr double kStep = 1.0F / 255;

Codes rounded(Codes values, double step, double zero_point) {
  for (double& value : values) {
    value = std::nearbyint(value / step) + zero_point;
  }
  return values;
}

TEST(Softmax, LongRowsGiveTheCodesOfTheEmulator) {
  Codes output(kRow.size());
  softmax({.codes = kRow, .scale = kScale, .step = kStep}, output);
  EXPECT_EQ(rounded(output, kStep, 0),
            (Codes{18, 1, 1, 1, 9, 0, 54, 2, 2, 2, 4, 3, 2, 56, 16, 15, 9, 5, 1, 54}));
}

TEST(Softmax, RowsOfUpTo16CodesUseTheWholeScale) {
  Codes codes(16, 0.0);
  codes[0] = 20;
  Codes output(codes.size());
  softmax({.codes = codes, .scale = kScale, .step = kStep}, output);
  EXPECT_DOUBLE_EQ(output[0] / output[1], std::exp(20 * kScale));
  codes.push_back(0);
  output.push_back(0);
  softmax({.codes = codes, .scale = kScale, .step = kStep}, output);
  const double power = 15 - 20 * cut_to_8_bits(kScale * std::numbers::log2e);
  EXPECT_DOUBLE_EQ(output[0] / output[1], 32768 / std::floor(std::exp2(power)));
}

TEST(Softmax, LogSoftmaxGivesTheCodesOfTheEmulator) {
  constexpr double kLogStep = 0.04F;
  Codes output(kRow.size());
  log_softmax({.codes = kRow, .scale = kScale, .step = kLogStep}, output);
  EXPECT_EQ(rounded(output, kLogStep, 255),
            (Codes{189, 105, 111, 102, 172, 98,  216, 128, 134, 138,
                   150, 145, 139, 217, 186, 185, 170, 156, 111, 216}));
}

TEST(Softmax, AnEmptyRowStaysEmpty) {
  softmax({}, {});
  log_softmax({}, {});
}

TEST(Softmax, EightBitsAreCutNotRounded) {
  EXPECT_EQ(cut_to_8_bits(1.0), 1.0);
  EXPECT_EQ(cut_to_8_bits(255.9 / 256), 255.0 / 256);
  EXPECT_EQ(cut_to_8_bits(0.05), 204.0 / 4096);
}

}  // namespace
}  // namespace halfstep::simulation
