#include "halfstep/simulation/pools.h"

#include <utility>
#include <vector>

#include <gtest/gtest.h>

namespace halfstep::simulation {
namespace {

/// PoolAvg2d, recorded on the emulator (QNN 2.51, v75): sums of codes without zero points, codes.
/// Input scale 0.0213, output scale 0.0171, zero point 119.
void expect_recorded(PoolWay way, int side, const std::vector<std::pair<int, int>>& recorded) {
  const PoolAverage average(way, 0.0213F, 0.0171F, side * side, 119);
  for (const auto& [sum, code] : recorded) {
    EXPECT_EQ(average.code(sum) + 119, code) << sum;
  }
}

TEST(PoolAverage, GivesTheCodesOfTheEmulator) {
  expect_recorded(PoolWay::matrix, 3,
                  {{184, 145}, {401, 175}, {343, 167}, {119, 136}, {-52, 112}, {608, 203}});
  expect_recorded(PoolWay::vector, 3, {{401, 175}, {323, 164}, {279, 158}, {423, 178}});
  expect_recorded(PoolWay::exact, 3, {{-401, 63}, {401, 175}, {395, 174}, {526, 192}});
  expect_recorded(PoolWay::moved, 2,
                  {{24, 127}, {69, 141}, {236, 193}, {114, 155}, {207, 183}, {-181, 63}});
}

TEST(PoolAverage, HalvesGoUpBetweenEqualEncodings) {
  for (const PoolWay way : {PoolWay::exact, PoolWay::moved}) {
    const PoolAverage average(way, 0.5, 0.5, 4, 100);
    EXPECT_EQ(average.code(2), 1);
    EXPECT_EQ(average.code(-2), 0);
    EXPECT_EQ(average.code(5), 1);
  }
}

}  // namespace
}  // namespace halfstep::simulation
