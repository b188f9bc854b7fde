#include "halfstep/encodings/diff.h"

#include <gtest/gtest.h>

namespace halfstep {
namespace {

using Kind = EncodingDifference::Kind;

TEST(DifferenceOf, SignedAndUnsignedTwinsMeanTheSame) {
  const Encoding first{.dtype = Dtype::int8, .scale = {0.5F}, .zero_point = {-3}};
  Encoding second{.dtype = Dtype::uint8, .scale = {0.5F}, .zero_point = {125}};
  EXPECT_EQ(difference_of(first, second), "");
  second.zero_point = {126};
  EXPECT_EQ(difference_of(first, second),
            "zero point (counted from the lowest code) 125.0 against 126.0");
}

TEST(DifferenceOf, OriginDoesNotCountAndScalesMayBeRounded) {
  const Encoding first{.dtype = Dtype::uint8, .scale = {0.1F}, .origin = Origin::model};
  Encoding second{.dtype = Dtype::uint8, .scale = {0.10000001F}, .zero_point = {0}};
  EXPECT_EQ(difference_of(first, second), "");
  second.scale = {0.2F};
  EXPECT_NE(difference_of(first, second).find("scale 0.1"), std::string::npos);
}

TEST(DifferenceOf, TypeAndGranularityCount) {
  const Encoding first{.dtype = Dtype::uint8, .scale = {0.1F}};
  EXPECT_EQ(difference_of(first, {.dtype = Dtype::int16, .scale = {0.1F}}),
            "type uint8 against int16");
  EXPECT_EQ(difference_of({.dtype = Dtype::float16}, {.dtype = Dtype::float16}), "");
  const Encoding sizes{.dtype = Dtype::int4,
                       .granularity = PerBlock{.block_size = {1, 2}},
                       .shape = {1, 2},
                       .scale = {1, 2}};
  Encoding axis = sizes;
  axis.granularity = PerBlock{.axis = 1, .block_size = {2}};
  EXPECT_EQ(difference_of(sizes, axis), "");
  axis.granularity = PerBlock{.axis = 0, .block_size = {2}};
  EXPECT_NE(difference_of(sizes, axis), "");
}

TEST(DiffEncodings, ListsTensorsAndUses) {
  const Encoding encoding{.dtype = Dtype::uint8, .scale = {1.0F}};
  EncodingTable first, second;
  first.set("same", encoding);
  second.set("same", encoding);
  first.set("gone", encoding);
  second.set("new", encoding);
  first.set("half", {.dtype = Dtype::float16});
  first.set_use({.node = "n", .slot = 1}, encoding);
  const auto differences = diff_encodings(first, second, 0, true);
  ASSERT_EQ(differences.size(), 3U);
  EXPECT_EQ(differences[0].name, "gone");
  EXPECT_EQ(differences[0].kind, Kind::only_in_first);
  EXPECT_EQ(differences[1].name, "n:1");
  EXPECT_EQ(differences[2].kind, Kind::only_in_second);
  EXPECT_EQ(diff_encodings(first, second).size(), 4U) << "the float entry counts otherwise";
}

}  // namespace
}  // namespace halfstep
