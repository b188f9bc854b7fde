#include "halfstep/evaluation/agreement.h"

#include <limits>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "halfstep/support/error.h"

namespace halfstep {
namespace {

TEST(Agreement, CountsStepsAndEqualCodes) {
  Agreement agreement;
  agreement.add(std::vector<float>{0, 1, 2, 3}, std::vector<float>{0, 1.5F, 2.05F, 3}, 0.25F);
  EXPECT_EQ(agreement.max_steps, 2U);
  EXPECT_EQ(agreement.codes, 4U);
  EXPECT_EQ(agreement.equal, 3U);
  EXPECT_DOUBLE_EQ(agreement.equal_share().value(), 0.75);
}

TEST(Agreement, WithoutAScaleThereAreNoSteps) {
  Agreement agreement;
  agreement.add(std::vector<float>{3, 4}, std::vector<float>{3, 4.5F}, 0);
  EXPECT_FALSE(agreement.equal_share());
  EXPECT_DOUBLE_EQ(agreement.power.sqnr_db(), 20);
}

TEST(Agreement, NanOfTheTargetIsAnInfiniteError) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  Agreement agreement;
  agreement.add(std::vector<float>{1, nan}, std::vector<float>{nan, 1}, 1);
  EXPECT_EQ(agreement.power.values, 1U);
  EXPECT_EQ(agreement.power.sqnr_db(), -std::numeric_limits<double>::infinity());
  EXPECT_EQ(agreement.max_steps, std::numeric_limits<std::uint32_t>::max());
}

TEST(Agreement, RefusesAnotherNumberOfValues) {
  Agreement agreement;
  EXPECT_THROW(agreement.add(std::vector<float>{1, 2}, std::vector<float>{1}, 1), Error);
}

TEST(AgreementBound, ReadsDecibelsAndSteps) {
  EXPECT_EQ(parse_agreement_bound("30").sqnr_db, 30);
  EXPECT_EQ(parse_agreement_bound("12.5dB").sqnr_db, 12.5);
  EXPECT_EQ(parse_agreement_bound("2 steps").max_steps, 2U);
  EXPECT_EQ(parse_agreement_bound("1step").text(), "1 step or more");
  for (const char* text :
       {"", "dB", "x", "30 bits", "0steps", "1.5steps", "-2steps", "nan", "inf"}) {
    EXPECT_THROW((void)parse_agreement_bound(text), Error) << text;
  }
}

TEST(AgreementBound, JudgesFloatsByTheirSqnr) {
  Agreement agreement;
  agreement.add(std::vector<float>{3, 4}, std::vector<float>{3, 4.5F}, 0);
  EXPECT_TRUE(AgreementBound{.max_steps = 100}.broken_by(agreement));
  EXPECT_FALSE(AgreementBound{.sqnr_db = 19}.broken_by(agreement));
  EXPECT_TRUE(AgreementBound{.sqnr_db = 21}.broken_by(agreement));
}

}  // namespace
}  // namespace halfstep
