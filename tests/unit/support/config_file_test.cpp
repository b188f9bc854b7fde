#include "halfstep/support/config_file.h"

#include <string>
#include <string_view>

#include <gtest/gtest.h>

#include "halfstep/support/error.h"

namespace halfstep {
namespace {

std::string refusal(std::string_view text, const std::string& file = "a.yaml") {
  try {
    (void)parse_config(text, file);
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::invalid_argument);
    EXPECT_TRUE(std::string(error.what()).starts_with(file + ": ")) << error.what();
    return error.what();
  }
  return "accepted";
}

TEST(ConfigFile, AliasesAreCopies) {
  EXPECT_EQ(parse_config("a: &x {b: 1}\nc: *x\n", "a.yaml").dump(), R"({"a":{"b":1},"c":{"b":1}})");
}

TEST(ConfigFile, AliasBombsAreRefused) {
  std::string bomb = "l0: &l0 [x, x, x, x, x, x, x, x, x, x]\n";
  for (int level = 1; level < 12; ++level) {
    const std::string before = "*l" + std::to_string(level - 1);
    std::string entries = before;
    for (int i = 0; i < 9; ++i) {
      entries += ", " + before;
    }
    bomb += "l" + std::to_string(level) + ": &l" + std::to_string(level) + " [" + entries + "]\n";
  }
  EXPECT_NE(refusal(bomb).find("more than"), std::string::npos) << refusal(bomb);
}

TEST(ConfigFile, DepthIsLimited) {
  EXPECT_NE(refusal("a: &x [*x]\n"), "accepted");  // holds itself
  EXPECT_NE(refusal("a: " + std::string(100, '[') + std::string(100, ']')).find("deep"),
            std::string::npos);
  EXPECT_NE(refusal("a: " + std::string(100000, '[')), "accepted");
  EXPECT_NE(refusal("a = " + std::string(100000, '['), "a.toml"), "accepted");
  EXPECT_NE(refusal(std::string(100000, '['), "a.json"), "accepted");
}

}  // namespace
}  // namespace halfstep
