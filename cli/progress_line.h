#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>

#include "halfstep/support/progress.h"

namespace halfstep::cli {

enum class ProgressStyle : std::uint8_t {
  none,  ///< nothing is shown
  bar,   ///< one line, redrawn: for terminals
  log,   ///< a line now and then: for files and pipes
};

/// The numbers behind one line of progress.
struct ProgressState {
  std::string phase{};
  std::uint64_t done = 0;
  std::uint64_t total = 0;   ///< 0: unknown
  double seconds = 0;        ///< since the phase began
  std::uint64_t memory = 0;  ///< bytes in use; 0: unknown
};
/// "calibrate  [######..............]  12/64  4.1/s  13 s left  58.2 MB"
[[nodiscard]] std::string progress_text(const ProgressState& state, bool bar);

/// Resident memory of this process in bytes; 0 if the system does not tell.
[[nodiscard]] std::uint64_t memory_in_use();

/// Shows the phases of long work. A thread of its own draws, so that work which reports nothing for
/// a while still shows that it lives, and reporting costs the work nothing.
class ProgressLine final : public Progress {
 public:
  struct Timing {
    std::chrono::milliseconds bar{100};             ///< between two drawings
    std::chrono::milliseconds log_first{5'000};     ///< in a log: until the first line of a phase,
    std::chrono::milliseconds log_longest{30'000};  ///< then twice as long each time up to this
    std::chrono::milliseconds kept{5'000};  ///< a phase this long leaves its last line behind
  };
  using Write = std::function<void(std::string_view)>;

  ProgressLine(ProgressStyle style, Write write, Timing timing);
  ProgressLine(ProgressStyle style, Write write)
      : ProgressLine(style, std::move(write), Timing{}) {}
  ProgressLine(const ProgressLine&) = delete;
  ProgressLine& operator=(const ProgressLine&) = delete;
  ~ProgressLine() override;

  void begin(std::string_view name, std::uint64_t total) override;
  void update(std::uint64_t done) override;
  void end() override;
  /// Removes the line of a phase that did not end (an error came) and stops drawing.
  void close();

 private:
  using Clock = std::chrono::steady_clock;
  void draw_until_closed();
  void finish_phase();
  [[nodiscard]] ProgressState state() const;

  const ProgressStyle style_;
  const Write write_;
  const Timing timing_;
  std::atomic<std::uint64_t> done_{0};
  std::mutex mutex_{};  // guards what follows
  std::condition_variable changed_{};
  bool closed_ = false;
  bool active_ = false;
  bool drawn_ = false;  // a bar stands on the terminal's line
  std::string phase_{};
  std::uint64_t total_ = 0;
  std::uint64_t phase_number_ = 0;
  Clock::time_point began_{};
  std::thread thread_{};
};

}  // namespace halfstep::cli
