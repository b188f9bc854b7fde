#include "cli/progress_line.h"

#include <chrono>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>

#include <gtest/gtest.h>

namespace halfstep::cli {
namespace {

using std::chrono::milliseconds;

TEST(ProgressText, WithTotal) {
  const ProgressState state{
      .phase = "calibrate", .done = 16, .total = 64, .seconds = 4, .memory = 58'200'000};
  EXPECT_EQ(progress_text(state, true),
            "calibrate  [######..................]  16/64  4.0/s  12.0 s left  58.2 MB");
  EXPECT_EQ(progress_text(state, false), "calibrate  16/64  4.0/s  12.0 s left  58.2 MB");
}

TEST(ProgressText, FinishedUnknownAndOverfull) {
  EXPECT_EQ(progress_text({.phase = "a", .done = 64, .total = 64, .seconds = 2}, false),
            "a  64/64  32/s  2.00 s");
  EXPECT_EQ(progress_text({.phase = "a", .done = 70, .total = 64, .seconds = 2}, true),
            "a  [########################]  64/64  32/s  2.00 s");
  EXPECT_EQ(progress_text({.phase = "load", .seconds = 3}, true), "load  3.00 s");
  EXPECT_EQ(progress_text({.phase = "a", .done = 0, .total = 5, .seconds = 3}, false),
            "a  0/5  3.00 s");
}

TEST(ProgressText, MemoryOfThisProcess) { EXPECT_GT(memory_in_use(), 100'000U); }

struct Recorder {
  std::mutex mutex{};
  std::string text{};
  ProgressLine::Write write() {
    return [this](std::string_view piece) {
      const std::lock_guard lock(mutex);
      text += piece;
    };
  }
};

TEST(ProgressLine, BarIsDrawnAndCleared) {
  Recorder recorder;
  {
    ProgressLine line(ProgressStyle::bar, recorder.write(),
                      {.bar = milliseconds(1), .kept = milliseconds(100'000)});
    line.begin("work", 10);
    line.update(5);
    for (int i = 0; i < 2000 && line.cancelled() == false; ++i) {
      std::this_thread::sleep_for(milliseconds(1));
      const std::lock_guard lock(recorder.mutex);
      if (recorder.text.find("5/10") != std::string::npos) {
        break;
      }
    }
    line.end();
  }
  EXPECT_NE(recorder.text.find("\r\033[Kwork  ["), std::string::npos);
  EXPECT_NE(recorder.text.find("5/10"), std::string::npos);
  EXPECT_TRUE(recorder.text.ends_with("\r\033[K")) << recorder.text;
}

TEST(ProgressLine, LongPhaseLeavesItsLine) {
  Recorder recorder;
  ProgressLine line(ProgressStyle::log, recorder.write(), {.kept = milliseconds(0)});
  line.begin("first", 3);
  line.update(3);
  line.begin("second", 0);  // ends the first
  line.end();
  line.end();  // nothing is active: nothing happens
  line.close();
  EXPECT_EQ(recorder.text.find("first  3/3"), 0U) << recorder.text;
  EXPECT_NE(recorder.text.find("\nsecond  "), std::string::npos) << recorder.text;
  EXPECT_EQ(recorder.text.find('\033'), std::string::npos);
}

TEST(ProgressLine, LogLivesWithoutReports) {
  Recorder recorder;
  ProgressLine line(ProgressStyle::log, recorder.write(),
                    {.log_first = milliseconds(1), .log_longest = milliseconds(4)});
  line.begin("silent", 0);
  std::size_t lines = 0;
  for (int i = 0; i < 2000 && lines < 3; ++i) {
    std::this_thread::sleep_for(milliseconds(1));
    const std::lock_guard lock(recorder.mutex);
    lines = static_cast<std::size_t>(std::count(recorder.text.begin(), recorder.text.end(), '\n'));
  }
  line.close();
  EXPECT_GE(lines, 3U);
}

TEST(ProgressLine, ShortPhasesOfALogAreSilentAndNoneIsAlways) {
  Recorder recorder;
  {
    ProgressLine line(ProgressStyle::log, recorder.write());
    line.begin("short", 1);
    line.end();
    ProgressLine none(ProgressStyle::none, recorder.write(), {.kept = milliseconds(0)});
    none.begin("x", 1);
    none.update(1);
    none.end();
    line.begin("left open", 1);
  }
  EXPECT_EQ(recorder.text, "");
}

}  // namespace
}  // namespace halfstep::cli
