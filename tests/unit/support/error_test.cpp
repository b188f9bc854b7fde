#include "halfstep/support/error.h"

#include <gtest/gtest.h>

namespace halfstep {
namespace {

TEST(Error, ReadsFromTheOutsideIn) {
  const Error inner(ErrorKind::invalid_file, "scale must be > 0 (got -0.5)");
  const Error outer = inner.within("tensor 'x'").within("act.json");
  EXPECT_STREQ(outer.what(), "act.json: tensor 'x': scale must be > 0 (got -0.5)");
  EXPECT_EQ(outer.kind(), ErrorKind::invalid_file);
  EXPECT_EQ(outer.context().size(), 3U);
}

TEST(ClosestMatch, PrefersTheFewestEditsAndForgivesCase) {
  EXPECT_EQ(closest_match("conv1.weigth", {"conv2.bias", "conv1.weight"}), "conv1.weight");
  EXPECT_EQ(closest_match("Matmul", {"MatMul", "Mul"}), "MatMul");
  EXPECT_EQ(closest_match("Z", {"x", "y", "z"}), "z");
  EXPECT_EQ(closest_match("Q", {"x", "y", "z"}), "");
  EXPECT_EQ(closest_match("a8w9", {"w8", "a8w8"}), "a8w8");
  EXPECT_EQ(closest_match("", {"x"}), "");
  EXPECT_EQ(closest_match("uint17", {"uint1", "int16", "uint16"}), "uint16");
  EXPECT_EQ(closest_match("a8", {"a16w8", "a8w4", "a8w4_lpbq", "a8w8", "w8"}), "a8w8");
  EXPECT_EQ(closest_match("something", {"else"}), "");
}

}  // namespace
}  // namespace halfstep
