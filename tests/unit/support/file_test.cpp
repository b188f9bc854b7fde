#include "halfstep/support/file.h"

#include <csignal>
#include <cstddef>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <span>
#include <string>
#include <utility>

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "halfstep/support/error.h"

namespace halfstep {
namespace {

namespace fs = std::filesystem;

void put(const fs::path& path, const std::string& text) {
  std::ofstream(path, std::ios::binary) << text;
}

std::size_t entries(const fs::path& directory) {
  return static_cast<std::size_t>(
      std::distance(fs::directory_iterator(directory), fs::directory_iterator()));
}

Error error_of(const std::function<void()>& action) {
  try {
    action();
  } catch (const Error& error) {
    return error;
  }
  ADD_FAILURE() << "no error";
  return {ErrorKind::internal, "no error"};
}

std::string text_of(const MappedFile& file) {
  return {reinterpret_cast<const char*>(file.bytes().data()), file.bytes().size()};
}

TEST(MappedFile, ShowsTheBytes) {
  const TemporaryDirectory directory;
  put(directory.path() / "a", "abc");
  MappedFile file(directory.path() / "a");
  EXPECT_EQ(text_of(file), "abc");
  const MappedFile moved = std::move(file);
  EXPECT_EQ(text_of(moved), "abc");
  moved.drop(moved.bytes());
  EXPECT_EQ(text_of(moved), "abc");
}

TEST(MappedFile, DropKeepsTheContentOfEveryPart) {
  const TemporaryDirectory directory;
  std::string text;
  for (int i = 0; i < 40000; ++i) {
    text += static_cast<char>('a' + i % 26);
  }
  put(directory.path() / "a", text);
  const MappedFile file(directory.path() / "a");
  file.drop(file.bytes().subspan(100, 9000));
  file.drop(file.bytes().subspan(5, 3));
  file.drop(file.bytes().subspan(20000));
  EXPECT_EQ(text_of(file), text);
}

TEST(MappedFile, AnEmptyFileHasNoBytes) {
  const TemporaryDirectory directory;
  put(directory.path() / "empty", "");
  EXPECT_TRUE(MappedFile(directory.path() / "empty").bytes().empty());
}

TEST(MappedFile, NamesWhatItCannotOpen) {
  const TemporaryDirectory directory;
  const Error missing = error_of([&] { const MappedFile file(directory.path() / "none"); });
  EXPECT_EQ(missing.kind(), ErrorKind::invalid_file);
  EXPECT_NE(std::string(missing.what()).find("none: no such file"), std::string::npos);
  const Error folder = error_of([&] { const MappedFile file(directory.path()); });
  EXPECT_EQ(folder.kind(), ErrorKind::invalid_file);
  EXPECT_NE(std::string(folder.what()).find("is a directory"), std::string::npos);
  const Error device = error_of([&] { const MappedFile file("/dev/null"); });
  EXPECT_NE(std::string(device.what()).find("device"), std::string::npos);
}

TEST(ReadText, ReadsFilesOfEverySize) {
  const TemporaryDirectory directory;
  put(directory.path() / "a", "hello\n");
  EXPECT_EQ(read_text(directory.path() / "a"), "hello\n");
  put(directory.path() / "a", "");
  EXPECT_EQ(read_text(directory.path() / "a"), "");
  EXPECT_FALSE(read_text("/proc/self/status").empty());
  EXPECT_EQ(error_of([&] { (void)read_text(directory.path() / "b"); }).kind(),
            ErrorKind::invalid_file);
}

TEST(AtomicFile, AppearsOnlyWhenCommitted) {
  const TemporaryDirectory directory;
  const fs::path path = directory.path() / "out";
  {
    AtomicFile file(path);
    file.write("hello ");
    file.write("world");
    EXPECT_FALSE(fs::exists(path));
    EXPECT_EQ(read_text(file.flush()), "hello world");
    file.write("!");
    file.commit();
  }
  EXPECT_EQ(read_text(path), "hello world!");
  EXPECT_EQ(entries(directory.path()), 1U);
}

TEST(AtomicFile, LeavesNothingWithoutCommit) {
  const TemporaryDirectory directory;
  put(directory.path() / "out", "old");
  {
    AtomicFile file(directory.path() / "out");
    file.write("new");
    (void)file.flush();
  }
  EXPECT_EQ(read_text(directory.path() / "out"), "old");
  EXPECT_EQ(entries(directory.path()), 1U);
}

TEST(AtomicFile, HasNoNameUntilItIsAskedFor) {
  const TemporaryDirectory directory;
  AtomicFile file(directory.path() / "out");
  file.write("some");
  EXPECT_EQ(entries(directory.path()), 0U);
  EXPECT_EQ(file.size(), 4U);
  const fs::path name = file.flush();
  EXPECT_EQ(name.filename().string().substr(0, 5), ".out.");
  EXPECT_EQ(name, file.flush()) << "and keeps it";
  file.commit_as(directory.path() / "other");
  EXPECT_EQ(read_text(directory.path() / "other"), "some");
  EXPECT_EQ(entries(directory.path()), 1U);
}

// In a child process that ends as if it was killed.
TEST(AtomicFile, LeavesNothingWhenTheProcessIsKilled) {
  const TemporaryDirectory directory;
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    AtomicFile file(directory.path() / "out");
    file.write(std::string(100000, 'x'));
    raise(SIGKILL);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFSIGNALED(status));
  EXPECT_EQ(entries(directory.path()), 0U);
}

TEST(AtomicFile, ReplacesAndKeepsPermissions) {
  const TemporaryDirectory directory;
  const fs::path path = directory.path() / "out";
  put(path, "old");
  fs::permissions(path, fs::perms::owner_read | fs::perms::owner_write);
  AtomicFile file(path);
  file.write("new");
  file.commit();
  EXPECT_EQ(read_text(path), "new");
  EXPECT_EQ(fs::status(path).permissions(), fs::perms::owner_read | fs::perms::owner_write);
}

TEST(AtomicFile, WritesThroughALink) {
  const TemporaryDirectory directory;
  put(directory.path() / "real", "old");
  fs::create_symlink("real", directory.path() / "link");
  AtomicFile file(directory.path() / "link");
  file.write("new");
  file.commit();
  EXPECT_TRUE(fs::is_symlink(directory.path() / "link"));
  EXPECT_EQ(read_text(directory.path() / "real"), "new");
}

TEST(AtomicFile, WritesLargePieces) {
  const TemporaryDirectory directory;
  const std::string piece(100000, 'x');
  AtomicFile file(directory.path() / "out");
  std::string expected;
  for (int i = 0; i < 5; ++i) {
    file.write(piece);
    file.write(std::to_string(i));
    expected += piece + std::to_string(i);
  }
  file.commit();
  EXPECT_TRUE(read_text(directory.path() / "out") == expected);
}

TEST(AtomicFile, AcceptsTheLongestNames) {
  const TemporaryDirectory directory;
  const fs::path path = directory.path() / std::string(255, 'n');
  AtomicFile file(path);
  file.commit();
  EXPECT_TRUE(fs::exists(path));
}

TEST(AtomicFile, NamesDirectoryAndReason) {
  const TemporaryDirectory directory;
  const Error missing = error_of([&] { const AtomicFile file(directory.path() / "no" / "out"); });
  EXPECT_EQ(missing.kind(), ErrorKind::io);
  EXPECT_NE(std::string(missing.what()).find("out: cannot be written: No such file or directory"),
            std::string::npos);
  EXPECT_EQ(error_of([&] { const AtomicFile file(directory.path()); }).kind(), ErrorKind::io);
}

TEST(AtomicFile, ReportsAFullDevice) {
  AtomicFile file("/dev/full");
  const Error error = error_of([&] {
    file.write(std::string(100000, 'x'));
    file.commit();
  });
  EXPECT_EQ(error.kind(), ErrorKind::io);
  EXPECT_NE(std::string(error.what()).find("/dev/full: cannot be written: No space left"),
            std::string::npos);
  EXPECT_TRUE(fs::exists("/dev/full"));
}

TEST(AtomicFile, ReportsALimitAndLeavesNothing) {
  const TemporaryDirectory directory;
  rlimit old{};
  getrlimit(RLIMIT_FSIZE, &old);
  const auto old_handler = std::signal(SIGXFSZ, SIG_IGN);
  const rlimit small{.rlim_cur = 1000, .rlim_max = old.rlim_max};
  setrlimit(RLIMIT_FSIZE, &small);
  const Error error = error_of([&] {
    AtomicFile file(directory.path() / "out");
    file.write(std::string(5000, 'x'));
    file.commit();
  });
  setrlimit(RLIMIT_FSIZE, &old);
  std::signal(SIGXFSZ, old_handler);
  EXPECT_EQ(error.kind(), ErrorKind::io);
  EXPECT_NE(std::string(error.what()).find("File too large"), std::string::npos);
  EXPECT_EQ(entries(directory.path()), 0U);
}

TEST(TemporaryDirectory, IsRemovedWithItsContent) {
  fs::path path;
  {
    const TemporaryDirectory directory;
    path = directory.path();
    fs::create_directories(path / "a" / "b");
    put(path / "a" / "b" / "c", "x");
  }
  EXPECT_FALSE(fs::exists(path));
}

// In a child process, because it removes everything the process has open.
TEST(RemoveTemporaries, WorksInASignalHandler) {
  const TemporaryDirectory directory;
  const fs::path out = directory.path() / "out";
  const fs::path list = directory.path() / "list";
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    std::signal(SIGTERM, [](int) {
      remove_temporaries();
      _exit(42);
    });
    auto* finished = new AtomicFile(directory.path() / "finished");
    finished->commit();
    auto* open = new AtomicFile(out);
    open->write("half");
    const auto* folder = new TemporaryDirectory();
    fs::create_directories(folder->path() / "below");
    for (int i = 0; i < 200; ++i) {
      put(folder->path() / "below" / ("file" + std::to_string(i)), "x");
    }
    put(list, folder->path().string());
    raise(SIGTERM);
    _exit(1);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 42);
  EXPECT_FALSE(fs::exists(out));
  EXPECT_FALSE(fs::exists(read_text(list)));
  EXPECT_TRUE(fs::exists(directory.path() / "finished"));
  EXPECT_EQ(entries(directory.path()), 2U);  // this process's directory is left alone
}

}  // namespace
}  // namespace halfstep
