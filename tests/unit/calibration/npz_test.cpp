#include "halfstep/calibration/npz.h"

#include <fstream>
#include <iterator>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "halfstep/support/error.h"
#include "halfstep/support/file.h"

namespace halfstep {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;
using testing::HasSubstr;

const fs::path kData = fs::path(HALFSTEP_TEST_DATA) / "unit/calibration/data";

std::string read_file(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

void write_file(const fs::path& path, const std::string& bytes) {
  // Overwriting would make some file systems wait for the disk.
  fs::remove(path);
  std::ofstream(path, std::ios::binary) << bytes;
}

/// Reads everything; the message of the first error.
std::string problem_of(const fs::path& path) {
  try {
    const NpzFile file(path);
    for (std::size_t i = 0; i < file.keys().size(); ++i) {
      static_cast<void>(file.open(i).read());
    }
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::invalid_file) << error.what();
    return error.what();
  }
  return "";
}

TEST(Npz, ReadsStoredDeflatedAndZip64) {
  for (const char* name : {"stored.npz", "deflated.npz", "zip64.npz"}) {
    const NpzFile file(kData / name);
    ASSERT_THAT(file.keys(), ElementsAre("x", "i")) << name;
    const Tensor x = file.open(0).read();
    EXPECT_EQ(x.shape, (Shape{2, 3, 4}));
    EXPECT_EQ(reinterpret_cast<const float*>(x.data)[23], 23.0F);
    const Tensor i = file.open(1).read();
    EXPECT_EQ(reinterpret_cast<const std::int64_t*>(i.data)[2], 3);
  }
}

TEST(Npz, RefusesOtherMembersAndOtherFiles) {
  EXPECT_THAT(problem_of(kData / "other_member.npz"), HasSubstr("\"notes.txt\" is not an array"));
  EXPECT_THAT(problem_of(kData / "missing.npz"), HasSubstr("missing.npz"));
  EXPECT_THAT(problem_of(kData / "make.py"), HasSubstr("not a complete zip archive with members"));
  EXPECT_THAT(problem_of(kData / "empty.npz"), HasSubstr("zip archive with members"));
  EXPECT_THAT(problem_of(kData), HasSubstr("data"));
}

TEST(Npz, TruncationIsAnErrorEverywhere) {
  const TemporaryDirectory folder;
  for (const char* name : {"stored.npz", "deflated.npz"}) {
    const std::string good = read_file(kData / name);
    // Without its last four bytes (zeros here) the archive still says everything.
    for (std::size_t size = 0; size + 4 < good.size(); size += 7) {
      write_file(folder.path() / "cut.npz", good.substr(0, size));
      EXPECT_NE(problem_of(folder.path() / "cut.npz"), "") << name << " cut at " << size;
    }
  }
}

TEST(Npz, AChangedByteIsAnErrorOrAnArray) {
  const TemporaryDirectory folder;
  const fs::path path = folder.path() / "changed.npz";
  for (const char* name : {"stored.npz", "deflated.npz", "zip64.npz"}) {
    const std::string good = read_file(kData / name);
    for (std::size_t i = 0; i < good.size(); ++i) {
      std::string changed = good;
      changed[i] = static_cast<char>(changed[i] ^ 0xFF);
      write_file(path, changed);
      EXPECT_NO_FATAL_FAILURE(static_cast<void>(problem_of(path)));
    }
  }
}

TEST(Npz, ChangedValuesAreNoticed) {
  const TemporaryDirectory folder;
  std::string bytes = read_file(kData / "stored.npz");
  const std::string value("\x00\x00\xB8\x41", 4);  // 23.0F, the last of x
  const std::size_t at = bytes.find(value);
  ASSERT_NE(at, std::string::npos);
  bytes[at] = '\1';
  write_file(folder.path() / "changed.npz", bytes);
  EXPECT_THAT(problem_of(folder.path() / "changed.npz"), HasSubstr("checksum"));
}

}  // namespace
}  // namespace halfstep
