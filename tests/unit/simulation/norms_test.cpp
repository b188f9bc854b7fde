#include <vector>

#include <gtest/gtest.h>

#include "halfstep/simulation/fixed_point.h"

namespace halfstep::simulation {
namespace {

// One row, recorded on the emulator (QNN 2.51, v75): scale 0.03, zero point 120; gamma 0.005 a
// code; beta 1e-6 a code; output 0.02, 128.
const std::vector<double> kCodes = {132, 103, 47,  71,  36,  97,  17, 101,
                                    56,  132, 250, 163, 159, 110, 79, 157};
const std::vector<double> kGamma = {28, 183, 119, 170, 81,  50, 162, 46,
                                    48, 173, 174, 220, 122, 67, 67,  71};
const std::vector<double> kBeta = {-313717, 173267,  210005,  -23441,  147068,  -67823,
                                   185896,  -120682, -16789,  -348917, -249719, -36268,
                                   -277953, -158838, -386404, -88739};
constexpr double kStep = 0.02F;

class Norms : public testing::Test {
 protected:
  Norms() {
    for (const double code : kCodes) {
      codes_.push_back(code - 120);
    }
    for (const double code : kGamma) {
      gamma_.push_back(code * 0.005F / kStep);
    }
    for (const double code : kBeta) {
      beta_.push_back(code * 1e-6F / kStep);
    }
    row_ = {.codes = codes_,
            .epsilon = 1e-5 / (0.03 * 0.03),
            .gamma = gamma_,
            .gamma_scale = 0.005F / kStep,
            .beta = beta_,
            .zero_point = 128};
  }
  std::vector<double> codes_{}, gamma_{}, beta_{};
  std::vector<double> output_ = std::vector<double>(kCodes.size());
  NormRow row_{};
};

TEST_F(Norms, LayerNormGivesTheCodesOfTheEmulator) {
  layer_norm(row_, output_);
  EXPECT_EQ(output_, (std::vector<double>{115, 134, 108, 100, 110, 123, 73, 121, 116, 130, 225, 180,
                                          142, 121, 101, 140}));
}

TEST_F(Norms, RmsNormGivesTheCodesOfTheEmulator) {
  rms_norm(row_, output_);
  EXPECT_EQ(output_, (std::vector<double>{113, 123, 101, 91, 106, 119, 65, 118, 114, 119, 212, 166,
                                          134, 117, 96, 134}));
}

TEST_F(Norms, InstanceNormGivesTheCodesOfTheEmulator) {
  row_.gamma = row_.gamma.first(1);
  row_.beta = row_.beta.first(1);
  instance_norm(row_, output_);
  EXPECT_EQ(output_, (std::vector<double>{115, 112, 105, 108, 104, 111, 101, 112, 106, 115, 130,
                                          119, 119, 113, 109, 119}));
}

}  // namespace
}  // namespace halfstep::simulation
