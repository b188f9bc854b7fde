#include "halfstep/engines/feed.h"

#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace halfstep {
namespace {

using testing::HasSubstr;

const std::vector<TensorInfo> kInputs = {
    {.name = "image", .dtype = Dtype::float32, .shape = {1, 3, -1, -1}},
    {.name = "mask", .dtype = Dtype::int64, .shape = {1, 4}}};

Tensor zeros(Dtype dtype, Shape shape) {
  const Tensor size{.dtype = dtype, .shape = shape};
  return make_tensor(dtype, std::move(shape), std::vector<std::byte>(size.bytes()));
}

Sample good_sample() {
  return {{"image", zeros(Dtype::float32, {1, 3, 2, 5})}, {"mask", zeros(Dtype::int64, {1, 4})}};
}

std::string problem_of(const Sample& sample) {
  try {
    check_feed(sample, kInputs);
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::invalid_file);
    return error.what();
  }
  return "";
}

TEST(CheckFeed, AcceptsAnyExtentWhereTheModelDoes) { EXPECT_EQ(problem_of(good_sample()), ""); }

TEST(CheckFeed, NamesAMissingInput) {
  Sample sample = good_sample();
  sample.erase("mask");
  EXPECT_THAT(problem_of(sample), HasSubstr("no array for input \"mask\" (int64 [1, 4])"));
}

TEST(CheckFeed, NamesTheClosestInputForAnUnknownOne) {
  Sample sample = good_sample();
  sample["imagee"] = sample["image"];
  EXPECT_THAT(problem_of(sample), HasSubstr("\"imagee\"; did you mean \"image\"?"));
  sample.erase("imagee");
  sample["something"] = sample["image"];
  EXPECT_THAT(problem_of(sample), HasSubstr("its inputs: \"image\", \"mask\""));
}

TEST(CheckFeed, TellsTypeAndShapeFoundAndWanted) {
  Sample sample = good_sample();
  sample["image"] = zeros(Dtype::float64, {1, 3, 2, 5});
  EXPECT_THAT(problem_of(sample),
              HasSubstr("input \"image\" is float64 [1, 3, 2, 5], the model wants float32 "
                        "[1, 3, ?, ?]"));
  sample["image"] = zeros(Dtype::float32, {1, 4, 2, 5});
  EXPECT_THAT(problem_of(sample), HasSubstr("float32 [1, 4, 2, 5]"));
  sample["image"] = zeros(Dtype::float32, {3, 2, 5});
  EXPECT_THAT(problem_of(sample), HasSubstr("float32 [3, 2, 5]"));
}

TEST(FeedProblem, UnknownRankTakesAnyShape) {
  const TensorInfo input{.name = "x", .dtype = Dtype::float32};
  EXPECT_FALSE(feed_problem(input, zeros(Dtype::float32, {2, 3})).has_value());
}

}  // namespace
}  // namespace halfstep
