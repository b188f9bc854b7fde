#include "halfstep/calibration/stats_file.h"

#include <algorithm>
#include <random>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "halfstep/calibration/collector.h"
#include "halfstep/support/error.h"
#include "halfstep/version.h"

namespace halfstep {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

ObservedTensor observed(const std::string& name, const std::string& range = "percentile",
                        const std::string& calculator = "global_minmax") {
  const QuantizationSpec spec{.dtype = Dtype::uint8,
                              .qscheme = Scheme::asymmetric,
                              .qparam_calculator_cls = calculator,
                              .range_calculator_cls = range,
                              .policy = Policy::safe};
  return {.name = name, .spec = resolve(spec, Role::activation), .channel_axis = 1};
}

WatchedValue value_of(const std::vector<float>& values) {
  const auto count = static_cast<std::int64_t>(values.size());
  return {.data = values.data(), .count = count, .shape = {1, 2, count / 2}};
}

std::vector<std::vector<float>> samples(std::size_t count) {
  std::mt19937 random(3);
  std::normal_distribution<float> normal;
  std::vector<std::vector<float>> list(count, std::vector<float>(600));
  for (auto& sample : list) {
    for (std::size_t i = 0; i < sample.size() / 2; ++i) {
      sample[i] = normal(random) * static_cast<float>(list.size());
    }
  }
  return list;
}

StatisticsFile collect(const std::vector<std::vector<float>>& list,
                       const ObservedTensor& tensor = observed("conv")) {
  Collector collector(tensor);
  for (const auto& sample : list) {
    collector.add(value_of(sample), 1, "sample");
  }
  StatisticsFile file{.source = {.halfstep = std::string(kVersion),
                                 .model = "0123",
                                 .graph = "g",
                                 .engine = "engine 1",
                                 .method = "percentile",
                                 .percentile = 99.99},
                      .samples = list.size()};
  file.tensors.emplace(tensor.name, collector.statistics());
  return file;
}

std::span<const std::byte> bytes_of(const std::string& text) {
  return {reinterpret_cast<const std::byte*>(text.data()), text.size()};
}

std::string refusal(auto work) {
  try {
    work();
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}

TEST(StatisticsFile, ComesBackAsItWas) {
  const StatisticsFile file = collect(samples(5));
  const std::string bytes = to_bytes(file);
  const StatisticsFile again = statistics_from_bytes(bytes_of(bytes), "s");
  EXPECT_EQ(to_bytes(again), bytes);
  const TensorStatistics& tensor = again.tensors.at("conv");
  const TensorStatistics& original = file.tensors.at("conv");
  EXPECT_EQ(tensor.histogram, original.histogram);
  EXPECT_EQ(tensor.min, original.min);
  EXPECT_EQ(tensor.values, 3000);
  EXPECT_THAT(tensor.channels->active, ElementsAre(1, 0));
  EXPECT_EQ(range_of(tensor, observed("conv").spec).max, original.range.max);
}

TEST(StatisticsFile, PartsInAnyOrderGiveTheBytesOfTheWhole) {
  const auto all = samples(9);
  const std::string whole = to_bytes(collect(all));
  std::vector<StatisticsFile> parts = {collect({all[0], all[1], all[2], all[3]}), collect({all[4]}),
                                       collect({all[5], all[6], all[7], all[8]})};
  std::vector<std::string> names = {"a", "b", "c"};
  do {
    EXPECT_EQ(to_bytes(merge_statistics(parts, names)), whole);
    std::ranges::rotate(parts, parts.begin() + 1);
    std::ranges::next_permutation(names);
  } while (names[0] != "c");
}

TEST(StatisticsFile, EveryDamageIsNoticed) {
  const std::string bytes = to_bytes(collect(samples(2)));
  for (std::size_t size = 0; size < bytes.size(); size += 97) {
    const std::string cut = bytes.substr(0, size);
    EXPECT_THAT(refusal([&] { (void)statistics_from_bytes(bytes_of(cut), "cut.stats"); }),
                HasSubstr("cut.stats: "))
        << size;
  }
  for (std::size_t at = 0; at < bytes.size(); at += 61) {
    std::string wrong = bytes;
    wrong[at] = static_cast<char>(wrong[at] ^ 4);
    EXPECT_THAT(refusal([&] { (void)statistics_from_bytes(bytes_of(wrong), "wrong.stats"); }),
                HasSubstr("wrong.stats: "))
        << at;
  }
}

TEST(StatisticsFile, OtherKindsAndVersionsAreNamed) {
  const auto read = [](const std::string& text) {
    return refusal([&] { (void)statistics_from_bytes(bytes_of(text), "x"); });
  };
  EXPECT_THAT(read("PK\3\4 something else"), HasSubstr("no statistics of halfstep"));
  EXPECT_THAT(read("halfstep statistics 2\nmore"),
              HasSubstr("\"halfstep statistics 2\", expected"));
  StatisticsFile file = collect(samples(1));
  file.source.halfstep = "9.9";
  EXPECT_THAT(read(to_bytes(file)), HasSubstr("statistics of halfstep 9.9, and this is"));
}

TEST(StatisticsFile, PartsOfSomethingElseAreRefusedByName) {
  const StatisticsFile first = collect(samples(1));
  const std::vector<std::string> names = {"a.stats", "b.stats"};
  const auto merged_with = [&](auto change) {
    StatisticsFile other = first;
    change(other);
    const std::vector<StatisticsFile> parts = {first, other};
    return refusal([&] { (void)merge_statistics(parts, names); });
  };
  EXPECT_THAT(merged_with([](StatisticsFile& f) { f.source.model = "4567"; }),
              HasSubstr("b.stats: statistics of model g (4567), and those of a.stats"));
  EXPECT_THAT(merged_with([](StatisticsFile& f) { f.source.engine = "engine 2"; }),
              HasSubstr("b.stats: statistics of engine engine 2"));
  EXPECT_THAT(merged_with([](StatisticsFile& f) { f.source.widened = true; }),
              HasSubstr("a run in float32"));
  EXPECT_THAT(merged_with([](StatisticsFile& f) { f.source.percentile = 99; }),
              HasSubstr("percentile 99"));
  EXPECT_THAT(merged_with([](StatisticsFile& f) { f.source.halfstep = "0"; }),
              HasSubstr("statistics of halfstep 0"));
  EXPECT_THAT(
      merged_with([](StatisticsFile& f) { f.tensors.emplace("more", f.tensors.begin()->second); }),
      HasSubstr("a.stats: no statistics of tensor \"more\""));
  EXPECT_EQ(merged_with([](StatisticsFile&) {}), "no error");
}

TEST(StatisticsFile, MovingAveragesDoNotMerge) {
  const StatisticsFile file = collect(samples(3), observed("conv", "minmax", "moving_average"));
  const StatisticsFile again = statistics_from_bytes(bytes_of(to_bytes(file)), "s");
  EXPECT_EQ(
      range_of(again.tensors.at("conv"), observed("conv", "minmax", "moving_average").spec).max,
      file.tensors.at("conv").range.max);
  const std::vector<StatisticsFile> parts = {file, again};
  const std::vector<std::string> names = {"a", "b"};
  EXPECT_THAT(refusal([&] { (void)merge_statistics(parts, names); }),
              HasSubstr("b: tensor \"conv\": statistics of moving_average depend on the order"));
}

TEST(StatisticsFile, MethodsNeedWhatWasCollected) {
  const StatisticsFile minmax = collect(samples(3), observed("conv", "minmax"));
  EXPECT_THAT(
      refusal([&] { (void)range_of(minmax.tensors.at("conv"), observed("c", "mse").spec); }),
      HasSubstr("the statistics hold no histogram, which mse needs"));
  const StatisticsFile histogram = collect(samples(3), observed("conv", "mse"));
  EXPECT_EQ(range_of(histogram.tensors.at("conv"), observed("c", "minmax").spec).max,
            minmax.tensors.at("conv").range.max);
  EXPECT_THAT(refusal([&] {
                (void)range_of(minmax.tensors.at("conv"),
                               observed("c", "minmax", "moving_average").spec);
              }),
              HasSubstr("the spec asks for moving_average"));
}

}  // namespace
}  // namespace halfstep
