#include "halfstep/support/diagnostic_text.h"

#include <gtest/gtest.h>

namespace halfstep {
namespace {

std::string text(const std::string& subject, const std::string& message) {
  return full_message({.rule = "a/b", .subject = subject, .message = message});
}

TEST(DiagnosticText, NamesItsSubjectOnce) {
  EXPECT_EQ(text("l", "605 NaN among 1024 values, all left out"),
            "l: 605 NaN among 1024 values, all left out");
  EXPECT_EQ(text("a", "a tensor was empty"), "a: a tensor was empty");
  EXPECT_EQ(text("w", "weight 'w' of Conv"), "weight 'w' of Conv");
  EXPECT_EQ(text("w", "\"w\" is float"), "\"w\" is float");
  EXPECT_EQ(text("m.onnx", "m.onnx: refused"), "m.onnx: refused");
  EXPECT_EQ(text("", "nothing"), "nothing");
}

}  // namespace
}  // namespace halfstep
