#include "halfstep/targets/target.h"

#include <algorithm>
#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "halfstep/support/error.h"
#include "halfstep/support/file.h"

namespace halfstep {
namespace {

using ::testing::HasSubstr;

TEST(Target, CpuSaysWhatItRuns) {
  const Target cpu = Target::load("cpu");
  EXPECT_EQ(cpu.default_float(), Dtype::float32);
  EXPECT_EQ(cpu.rule("Conv").when, QuantizeWhen::always);
  EXPECT_TRUE(cpu.rule("MatMul").float_output);
  EXPECT_EQ(cpu.rule("Add").when, QuantizeWhen::between);
  EXPECT_EQ(cpu.rule("Erf").when, QuantizeWhen::never);
  ASSERT_NE(cpu.data_movement("Pad"), nullptr);
  EXPECT_THAT(cpu.data_movement("Pad")->zero_inputs, ::testing::ElementsAre(2));
  EXPECT_EQ(cpu.data_movement("Conv"), nullptr);
  EXPECT_GE(cpu.super_groups()[0].ops.size(), cpu.super_groups().back().ops.size());
  for (const auto& [op, rule] : cpu.rules()) {
    EXPECT_FALSE(rule.source.empty()) << op;
  }
}

TEST(Target, EveryShippedTargetLoads) {
  for (const std::string& name : Target::shipped()) {
    EXPECT_EQ(Target::load(name).name(), name);
  }
}

TEST(Target, VersionsOfHtpShareKernelsAndDifferInGroups) {
  const Target v75 = Target::load("htp_v75"), v68 = Target::load("htp_v68");
  EXPECT_EQ(v75.arch(), 75);
  EXPECT_EQ(v75.soc(), 57);
  EXPECT_EQ(v75.default_float(), Dtype::float16);
  EXPECT_TRUE(v75.float32_is_float16());
  ASSERT_NE(v75.kernels(), nullptr);
  EXPECT_GE(v75.kernels()->ops.size(), 129U);
  std::size_t rows = 0;
  for (const auto& [op, kernels] : v75.kernels()->ops) {
    for (const Kernel& kernel : kernels.kernels) {
      EXPECT_FALSE(kernel.source.empty()) << op;
      ++rows;
    }
  }
  EXPECT_GE(rows, 1243U);
  const auto from_specification = [](const Target& target) {
    return std::count_if(
        target.super_groups().begin(), target.super_groups().end(),
        [](const SuperGroup& g) { return g.source == "specification" && !g.bias; });
  };
  EXPECT_EQ(from_specification(v75), 7);
  EXPECT_EQ(from_specification(v68), 0);
  EXPECT_EQ(v68.super_groups().size(), Target::load("htp_v69").super_groups().size());
  EXPECT_EQ(v75.super_groups().size(), Target::load("htp_v73").super_groups().size());
}

TEST(Target, KernelRowsSayTypesAndLowestArch) {
  const Target v75 = Target::load("htp_v75");
  const KernelOp& conv = v75.kernels()->ops.at("Conv2d");
  const auto row = [&conv](const std::string& text) {
    return std::find_if(conv.kernels.begin(), conv.kernels.end(),
                        [&text](const Kernel& kernel) { return kernel.text == text; });
  };
  ASSERT_NE(row("u16 s16 s32 > u16"), conv.kernels.end());
  EXPECT_EQ(row("u16 s16 s32 > u16")->min_arch, 73);
  ASSERT_NE(row("u8 s8 s32 > u8"), conv.kernels.end());
  EXPECT_TRUE(row("u8 s8 s32 > u8")->in[2].has(KernelType::s32));
  EXPECT_EQ(v75.kernels()->ops.at("Relu").max_rank.at(KernelType::u16), 5);
  EXPECT_TRUE(Target::load("lpai").integer_only());
}

TEST(Target, FilesOnlyToBeExtendedAreNotListed) {
  EXPECT_THAT(Target::shipped(), ::testing::Not(::testing::Contains("htp")));
  EXPECT_THAT(Target::shipped(), ::testing::IsSupersetOf({"cpu", "none", "lpai", "htp_v81"}));
  EXPECT_THAT([] { (void)Target::load("htp"); },
              ::testing::ThrowsMessage<Error>(HasSubstr("htp_v75")));
}

TEST(Target, AUserFileExtendsAShippedOne) {
  const TemporaryDirectory folder;
  const std::string path = (folder.path() / "mine.json").string();
  std::ofstream(path) << R"({"schema": 1, "name": "mine", "extends": "htp_v75", "summary": "x",
                             "super_groups": []})";
  const Target mine = Target::load(path);
  EXPECT_EQ(mine.name(), "mine");
  EXPECT_EQ(mine.arch(), 75);
  EXPECT_TRUE(mine.super_groups().empty());
  EXPECT_NE(mine.kernels(), nullptr);
  std::ofstream(path) << R"({"schema": 1, "name": "mine", "extends": "mine.json", "summary": "x"})";
  EXPECT_THAT([&] { (void)Target::load(path); },
              ::testing::ThrowsMessage<Error>(HasSubstr("goes in a circle")));
}

TEST(Target, MistakesInKernelTablesNameThePlace) {
  const TemporaryDirectory folder;
  const std::string path = (folder.path() / "mine.json").string();
  std::ofstream(path) << R"({"schema": 1, "name": "mine", "extends": "htp_v75", "summary": "x",
      "kernels": {"Relu": {"kernels": [{"rows": ["u8 > u9"], "source": "x"}]}}})";
  EXPECT_THAT([&] { (void)Target::load(path); },
              ::testing::ThrowsMessage<Error>(
                  ::testing::AllOf(HasSubstr("Relu"), HasSubstr("instead of \"u9\""))));
}

TEST(Target, MistakesNameFileAndKey) {
  EXPECT_THAT([] { (void)Target::load("htp_v99"); },
              ::testing::ThrowsMessage<Error>(HasSubstr("cpu")));
  const TemporaryDirectory folder;
  const std::string path = (folder.path() / "mine.json").string();
  std::ofstream(path) << R"({"schema": 1, "name": "mine", "sumary": "x"})";
  EXPECT_THAT([&] { (void)Target::load(path); },
              ::testing::ThrowsMessage<Error>(
                  ::testing::AllOf(HasSubstr(path), HasSubstr("did you mean \"summary\""))));
}

}  // namespace
}  // namespace halfstep
