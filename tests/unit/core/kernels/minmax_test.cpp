#include "halfstep/core/kernels/minmax/minmax.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include <gtest/gtest.h>

#include "tests/unit/core/fixtures.h"

namespace halfstep {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();

TEST(MinMax, EveryLengthAndInstructionSet) {
  for (const kernels::Isa isa : testing_core::isas()) {
    const kernels::ForcedIsa forced(isa);
    for (const std::size_t count : {1U, 2U, 7U, 15U, 16U, 17U, 33U, 100U, 4095U, 4096U, 9001U}) {
      const std::vector<float> x = testing_core::noise(count, static_cast<std::uint32_t>(count));
      const MinMax found = minmax(x.data(), count);
      EXPECT_EQ(found.min, *std::min_element(x.begin(), x.end())) << kernels::name(isa) << count;
      EXPECT_EQ(found.max, *std::max_element(x.begin(), x.end())) << kernels::name(isa) << count;
    }
  }
}

TEST(MinMax, AnOddValueAnywhereIsLeftOutAndCounted) {
  for (const kernels::Isa isa : testing_core::isas()) {
    const kernels::ForcedIsa forced(isa);
    for (const float odd : {std::numeric_limits<float>::quiet_NaN(), kInfinity, -kInfinity}) {
      std::vector<float> x = testing_core::noise(150);
      for (std::size_t at = 0; at < x.size(); ++at) {
        const float kept = x[at];
        x[at] = odd;
        const MinMax found = minmax(x.data(), x.size());
        EXPECT_EQ(found.nan_count, std::isnan(odd) ? 1 : 0) << at;
        EXPECT_EQ(found.infinity_count, std::isinf(odd) ? 1 : 0) << at;
        EXPECT_TRUE(std::isfinite(found.min) && std::isfinite(found.max)) << at;
        x[at] = kept;
      }
    }
  }
}

TEST(MinMax, NothingFinite) {
  const std::vector<float> x = {kInfinity, -kInfinity};
  EXPECT_EQ(minmax(x.data(), 2).min, 0);
  EXPECT_EQ(minmax(x.data(), 2).infinity_count, 2);
  EXPECT_EQ(minmax(nullptr, 0).max, 0);
}

TEST(MinMax, ForcingAnInstructionSetIsUndone) {
  const kernels::Isa before = kernels::active_isa();
  {
    const kernels::ForcedIsa forced(kernels::Isa::reference);
    EXPECT_EQ(kernels::minmax_kernels().isa, kernels::Isa::reference);
  }
  EXPECT_EQ(kernels::active_isa(), before);
}

}  // namespace
}  // namespace halfstep
