#include "halfstep/targets/target.h"

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
