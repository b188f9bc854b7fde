// Every golden vector, on every kernel path. What we do otherwise on purpose is listed in
// tests/golden/deviations.json, with the reason; a listed vector that matches is a failure too.
#include <algorithm>
#include <filesystem>
#include <map>
#include <set>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "halfstep/core/kernels/isa.h"
#include "tests/unit/core/fixtures.h"
#include "tests/unit/core/golden/vectors.h"

namespace halfstep::golden {
namespace {

using Check = Problems (*)(const Json&);

const std::map<std::string, Check> kChecks = {
    {"block", check_block},         {"bulk", check_bulk},
    {"cast", check_cast},           {"dtype", check_dtype},
    {"fakequant", check_fakequant}, {"histogram", check_histogram},
    {"observer", check_observer},   {"spec", check_spec},
    {"fq_tensor", check_torch_op},  {"fq_tensor_qparams", check_torch_op},
    {"fq_channel", check_torch_op}, {"q_tensor", check_torch_op},
    {"q_channel", check_torch_op}};

const std::filesystem::path kFolder = std::filesystem::path(HALFSTEP_TEST_DATA) / "golden";

std::map<std::string, std::string> deviations() {
  std::map<std::string, std::string> reasons;
  const Json file = read_json(kFolder / "deviations.json");
  for (const Json& entry : file["deviations"]) {
    for (const Json& id : entry["cases"]) {
      reasons[id.get<std::string>()] = entry["reason"].get<std::string>();
    }
  }
  return reasons;
}

std::vector<std::filesystem::path> files() {
  std::vector<std::filesystem::path> paths;
  for (const auto& entry : std::filesystem::directory_iterator(kFolder / "core")) {
    paths.push_back(entry.path());
  }
  std::sort(paths.begin(), paths.end());
  return paths;
}

std::string joined(const Problems& problems) {
  std::string text;
  for (const std::string& problem : problems) {
    text += (text.empty() ? "" : ", ") + problem;
  }
  return text;
}

Problems run(const Json& test) {
  try {
    return kChecks.at(test["kind"].get<std::string>())(test);
  } catch (const std::exception& error) {
    return {std::string("raised ") + error.what()};
  }
}

class GoldenVectors : public testing::TestWithParam<kernels::Isa> {};

TEST_P(GoldenVectors, MatchBitForBit) {
  const kernels::ForcedIsa forced(GetParam());
  const std::map<std::string, std::string> excused = deviations();
  std::size_t cases = 0;
  std::set<std::string> seen;
  for (const std::filesystem::path& path : files()) {
    const Json file = read_json(path);
    for (const Json& test : file["cases"]) {
      const std::string id = test["id"].get<std::string>();
      const Problems problems = run(test);
      ++cases;
      seen.insert(id);
      if (excused.count(id) == 0) {
        EXPECT_TRUE(problems.empty())
            << id << " (" << test["level"].get<std::string>() << "): " << joined(problems);
      } else {
        EXPECT_FALSE(problems.empty()) << id << " matches, but is listed as a deviation";
      }
    }
  }
  EXPECT_EQ(cases, 1147U);
  for (const auto& [id, reason] : excused) {
    EXPECT_EQ(seen.count(id), 1U) << "deviations.json names " << id << ", which does not exist";
  }
}

INSTANTIATE_TEST_SUITE_P(EveryPath, GoldenVectors,
                         testing::ValuesIn(testing_core::isas()),  // those of this machine
                         [](const auto& path) { return kernels::name(path.param); });

}  // namespace
}  // namespace halfstep::golden
