#include "halfstep/output_check.h"

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "halfstep/support/error.h"
#include "halfstep/support/file.h"

namespace halfstep {
namespace {

namespace fs = std::filesystem;

struct Refusal {
  ErrorKind kind{};
  std::string text{};
  [[nodiscard]] bool says(const std::string& words) const {
    return text.find(words) != std::string::npos;
  }
};

Refusal refusal(const fs::path& path, const std::vector<InputFile>& inputs = {},
                bool force = false) {
  try {
    check_output("-o", path, inputs, force);
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("-o " + path.string()), std::string::npos);
    return {.kind = error.kind(), .text = error.what()};
  }
  return {.text = "accepted"};
}

void write(const fs::path& path) { std::ofstream(path) << "x"; }

TEST(OutputCheck, NewFileIsFine) {
  const TemporaryDirectory directory;
  EXPECT_EQ(refusal(directory.path() / "new.onnx").text, "accepted");
  EXPECT_EQ(refusal("new_in_the_current_directory.onnx").text, "accepted");
  EXPECT_EQ(refusal("").text, "accepted");
}

TEST(OutputCheck, ExistingFileNeedsForce) {
  const TemporaryDirectory directory;
  const fs::path file = directory.path() / "old.onnx";
  write(file);
  EXPECT_EQ(refusal(file).kind, ErrorKind::invalid_argument);
  EXPECT_TRUE(refusal(file).says("--force"));
  EXPECT_EQ(refusal(file, {}, true).text, "accepted");
}

TEST(OutputCheck, InputsAreNeverReplaced) {
  const TemporaryDirectory directory;
  const fs::path file = directory.path() / "w.bin";
  write(file);
  fs::create_hard_link(file, directory.path() / "hard");
  fs::create_symlink("w.bin", directory.path() / "soft");
  fs::create_directory_symlink(directory.path(), directory.path() / "there");
  const std::vector<InputFile> inputs = {{.what = "nothing", .path = ""},
                                         {.what = "the weights", .path = file}};
  for (const char* name : {"w.bin", "hard", "soft", "there/w.bin", "there/./w.bin"}) {
    EXPECT_TRUE(refusal(directory.path() / name, inputs, true).says("also an input (the weights"))
        << name;
  }
  write(directory.path() / "other");
  EXPECT_EQ(refusal(directory.path() / "other", inputs, true).text, "accepted");
}

TEST(OutputCheck, SameFileBeforeItExists) {
  const TemporaryDirectory directory;
  fs::create_directory_symlink(directory.path(), directory.path() / "there");
  EXPECT_TRUE(same_file(directory.path() / "new", directory.path() / "there" / "new"));
  EXPECT_FALSE(same_file(directory.path() / "new", directory.path() / "other"));
  EXPECT_FALSE(same_file("", ""));
  EXPECT_FALSE(same_file(std::string(300, 'a'), std::string(300, 'b')));
}

TEST(OutputCheck, RefusesPlacesThatCantHoldIt) {
  const TemporaryDirectory directory;
  EXPECT_EQ(refusal(directory.path() / "none" / "x").kind, ErrorKind::io);
  EXPECT_EQ(refusal(directory.path(), {}, true).kind, ErrorKind::invalid_argument);
  EXPECT_EQ(refusal(directory.path() / "", {}, true).kind, ErrorKind::invalid_argument);
  EXPECT_EQ(refusal("/dev/null", {}, true).kind, ErrorKind::invalid_argument);
  write(directory.path() / "file");
  EXPECT_EQ(refusal(directory.path() / "file" / "x").kind, ErrorKind::io);
  EXPECT_EQ(refusal(directory.path() / std::string(300, 'a')).kind, ErrorKind::io);
  EXPECT_EQ(refusal(directory.path() / std::string(300, 'a') / "x").kind, ErrorKind::io);
}

}  // namespace
}  // namespace halfstep
