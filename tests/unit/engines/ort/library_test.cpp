#include "halfstep/engines/ort/library.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "halfstep/engines/engine.h"
#include "halfstep/support/error.h"

namespace halfstep::ort {
namespace {

using testing::HasSubstr;

TEST(Runtime, IsFoundAndShared) {
  const auto first = runtime("");
  EXPECT_EQ(first, runtime(""));
  EXPECT_EQ(first, runtime(first->library()));
  EXPECT_THAT(first->version(), testing::StartsWith("1."));
}

TEST(Runtime, CantBeTwoLibraries) {
  static_cast<void>(runtime(""));
  try {
    static_cast<void>(runtime("/nowhere/libonnxruntime.so"));
    FAIL() << "no error";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::invalid_argument);
    EXPECT_THAT(error.what(), HasSubstr("/nowhere/libonnxruntime.so"));
  }
}

TEST(Runtime, NamesThePlacesItLookedAt) {
  try {
    const Runtime missing("/nowhere/libonnxruntime.so");
    FAIL() << "no error";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::unsupported);
    EXPECT_THAT(error.what(), HasSubstr("pip install onnxruntime"));
    EXPECT_THAT(error.what(), HasSubstr("/nowhere/libonnxruntime.so"));
  }
}

TEST(Runtime, RefusesALibraryThatIsNotOnnxRuntime) {
  try {
    const Runtime other("libz.so.1");
    FAIL() << "no error";
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), HasSubstr("libz.so.1: not ONNX Runtime"));
  }
}

}  // namespace
}  // namespace halfstep::ort
