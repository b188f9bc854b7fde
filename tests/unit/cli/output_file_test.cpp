#include "cli/output_file.h"

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "cli/command_error.h"
#include "halfstep/support/file.h"

namespace halfstep::cli {
namespace {

namespace fs = std::filesystem;

struct Refusal {
  ErrorKind kind{};
  std::string help{};
};

Refusal refusal(const fs::path& path, const std::vector<fs::path>& inputs = {},
                bool force = false) {
  try {
    check_output("-o", path, inputs, force);
  } catch (const CommandError& error) {
    EXPECT_NE(std::string(error.what()).find("-o " + path.string()), std::string::npos);
    return {.kind = error.kind(), .help = error.help()};
  }
  return {.help = "accepted"};
}

TEST(OutputFile, NewFileIsFine) {
  const TemporaryDirectory directory;
  EXPECT_EQ(refusal(directory.path() / "new.onnx").help, "accepted");
  EXPECT_EQ(refusal("new_in_the_current_directory.onnx").help, "accepted");
}

TEST(OutputFile, ExistingFileNeedsForce) {
  const TemporaryDirectory directory;
  const fs::path file = directory.path() / "old.onnx";
  std::ofstream(file) << "x";
  EXPECT_EQ(refusal(file).kind, ErrorKind::invalid_argument);
  EXPECT_EQ(refusal(file).help, "--force overwrites it");
  EXPECT_EQ(refusal(file, {}, true).help, "accepted");
  EXPECT_EQ(refusal(file, {file}, true).help, "give another name");
}

TEST(OutputFile, RefusesPlacesThatCantHoldIt) {
  const TemporaryDirectory directory;
  EXPECT_EQ(refusal(directory.path() / "none" / "x").kind, ErrorKind::io);
  EXPECT_EQ(refusal(directory.path() / "none" / "x").help,
            "mkdir -p " + (directory.path() / "none").string());
  EXPECT_EQ(refusal(directory.path(), {}, true).kind, ErrorKind::invalid_argument);
  EXPECT_EQ(refusal(directory.path() / "", {}, true).kind, ErrorKind::invalid_argument);
  EXPECT_EQ(refusal("/dev/null", {}, true).kind, ErrorKind::invalid_argument);
  std::ofstream(directory.path() / "file") << "x";
  EXPECT_EQ(refusal(directory.path() / "file" / "x").kind, ErrorKind::io);
}

}  // namespace
}  // namespace halfstep::cli
