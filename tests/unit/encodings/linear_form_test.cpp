#include "halfstep/encodings/linear_form.h"

#include <gtest/gtest.h>

#include "halfstep/support/error.h"

namespace halfstep {
namespace {

using Units = std::vector<std::size_t>;

Encoding blocks(PerBlock granularity, Shape shape) {
  const auto count = static_cast<std::size_t>(element_count(shape));
  return {.dtype = Dtype::int4,
          .granularity = std::move(granularity),
          .shape = std::move(shape),
          .scale = std::vector<float>(count, 1.0F)};
}

TEST(LinearForm, PerTensorAndPerChannel) {
  const LinearForm tensor =
      linear_form({.dtype = Dtype::int8, .scale = {1.0F}}, {2, 3}, Spread::full);
  EXPECT_FALSE(tensor.axis);
  EXPECT_TRUE(tensor.shape.empty());
  EXPECT_EQ(tensor.units, Units{0});
  const LinearForm channel = linear_form({.dtype = Dtype::int8,
                                          .granularity = PerChannel{.axis = 1},
                                          .shape = {3},
                                          .scale = {1, 2, 3}},
                                         {2, 3}, Spread::full);
  EXPECT_EQ(channel.axis, 1);
  EXPECT_EQ(channel.block_size, 0);
  EXPECT_EQ(channel.units, (Units{0, 1, 2}));
}

TEST(LinearForm, ConvBlocksCoverTheKernel) {
  const Encoding encoding = blocks({.axis = 1, .block_size = {4}}, {2, 2, 1, 1});
  const LinearForm compact = linear_form(encoding, {2, 8, 1, 2}, Spread::compact);
  EXPECT_EQ(compact.shape, (Shape{2, 2, 1, 1}));
  EXPECT_EQ(compact.block_size, 4);
  const LinearForm full = linear_form(encoding, {2, 8, 1, 2}, Spread::full);
  EXPECT_EQ(full.shape, (Shape{2, 2, 1, 2}));
  EXPECT_EQ(full.units, (Units{0, 0, 1, 1, 2, 2, 3, 3}));
}

TEST(LinearForm, TilesAreRepeatedAlongAllAxesButOne) {
  const Encoding encoding = blocks({.block_size = {2, 2}}, {2, 2});
  const LinearForm form = linear_form(encoding, {4, 4}, Spread::compact);
  EXPECT_EQ(form.axis, 1);
  EXPECT_EQ(form.block_size, 2);
  EXPECT_EQ(form.shape, (Shape{4, 2}));
  EXPECT_EQ(form.units, (Units{0, 1, 0, 1, 2, 3, 2, 3}));
}

TEST(LinearForm, OneBlockIsPerTensor) {
  const LinearForm form =
      linear_form(blocks({.block_size = {-1, -1}}, {1, 1}), {4, 4}, Spread::full);
  EXPECT_FALSE(form.axis);
  EXPECT_TRUE(form.shape.empty());
}

TEST(LinearForm, NeedsKnownExtentsToRepeat) {
  const Encoding encoding = blocks({.axis = 1, .block_size = {4}}, {1, 2});
  EXPECT_EQ(linear_form(encoding, {-1, 8}, Spread::compact).shape, (Shape{1, 2}));
  EXPECT_THROW((void)linear_form(encoding, {-1, 8}, Spread::full), Error);
}

}  // namespace
}  // namespace halfstep
