#include "halfstep/encodings/encoding_table.h"

#include <gtest/gtest.h>

namespace halfstep {
namespace {

Encoding scaled(float scale) { return {.dtype = Dtype::uint8, .scale = {scale}}; }

TEST(EncodingTable, FindsSetsErases) {
  EncodingTable table;
  EXPECT_TRUE(table.empty());
  table.set("b", scaled(2));
  table.set("a", scaled(1));
  table.set("b", scaled(3));
  ASSERT_NE(table.find("b"), nullptr);
  EXPECT_EQ(table.find("b")->scale[0], 3);
  EXPECT_EQ(table.find("c"), nullptr);
  EXPECT_EQ(table.begin()->first, "a") << "iterated in name order";
  table.erase("b");
  table.erase("never there");
  EXPECT_EQ(table.size(), 1U);
}

TEST(EncodingTable, AUseHasItsOwnEncodingOrTheTensors) {
  EncodingTable table;
  table.set("x", scaled(1));
  table.set_use({.node = "conv", .slot = 1}, scaled(2));
  EXPECT_EQ(table.find_use({.node = "conv", .slot = 1}, "x")->scale[0], 2);
  EXPECT_EQ(table.find_use({.node = "conv", .slot = 0}, "x")->scale[0], 1);
  EXPECT_EQ(table.find_use({.node = "conv", .slot = 0}, "y"), nullptr);
  EXPECT_EQ(table.uses().size(), 1U);
}

TEST(EncodingTable, OverridesWin) {
  EncodingTable model, user;
  model.set("x", scaled(1));
  model.set("y", scaled(1));
  model.set_use({.node = "n"}, scaled(1));
  user.set("y", scaled(5));
  user.set("z", scaled(6));
  user.set_use({.node = "n"}, scaled(7));
  const EncodingTable both = model.overridden_by(user);
  EXPECT_EQ(both.find("x")->scale[0], 1);
  EXPECT_EQ(both.find("y")->scale[0], 5);
  EXPECT_EQ(both.find("z")->scale[0], 6);
  EXPECT_EQ(both.uses().begin()->second.scale[0], 7);
  EXPECT_EQ(model.find("y")->scale[0], 1);
}

}  // namespace
}  // namespace halfstep
