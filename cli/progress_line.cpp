#include "cli/progress_line.h"

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <fstream>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>

#include <sys/ioctl.h>
#include <unistd.h>

#include "cli/text.h"

namespace halfstep::cli {
namespace {

constexpr std::size_t kBarWidth = 24;
constexpr std::string_view kClearLine = "\r\033[K";

std::string bar_text(std::uint64_t done, std::uint64_t total) {
  const double share = static_cast<double>(done) / static_cast<double>(total);
  const auto filled = static_cast<std::size_t>(share * static_cast<double>(kBarWidth));
  return "[" + std::string(filled, '#') + std::string(kBarWidth - filled, '.') + "]";
}

/// A longer line would wrap and could not be cleared.
std::string fitted(const std::string& text) {
  winsize size{};
  if (ioctl(STDERR_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_col == 0) {
    return text;
  }
  return shortened(text, size.ws_col - 1U);
}

std::string rate_text(double rate) { return fixed(rate, rate < 10 ? 1 : 0) + "/s"; }

}  // namespace

std::uint64_t memory_in_use() {
  std::ifstream file("/proc/self/statm");
  std::uint64_t total_pages = 0;
  std::uint64_t resident_pages = 0;
  if (!(file >> total_pages >> resident_pages)) {
    return 0;
  }
  return resident_pages * static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE));
}

std::string progress_text(const ProgressState& state, bool bar) {
  std::string text = state.phase;
  const bool counted_steps = state.total > 0;
  const std::uint64_t done = counted_steps ? std::min(state.done, state.total) : state.done;
  if (counted_steps) {
    text += bar ? "  " + bar_text(done, state.total) : "";
    text += "  " + std::to_string(done) + "/" + std::to_string(state.total);
  } else if (done > 0) {
    text += "  " + std::to_string(done);
  }
  const double rate = state.seconds > 0 ? static_cast<double>(done) / state.seconds : 0;
  if (rate > 0) {
    text += "  " + rate_text(rate);
  }
  if (counted_steps && rate > 0 && done < state.total) {
    text += "  " + human_seconds(static_cast<double>(state.total - done) / rate) + " left";
  } else {
    text += "  " + human_seconds(state.seconds);
  }
  if (state.memory > 0) {
    text += "  " + human_bytes(state.memory);
  }
  return text;
}

ProgressLine::ProgressLine(ProgressStyle style, Write write, Timing timing)
    : style_(style), write_(std::move(write)), timing_(timing) {}

ProgressLine::~ProgressLine() { close(); }

void ProgressLine::begin(std::string_view name, std::uint64_t total) {
  if (style_ == ProgressStyle::none) {
    return;
  }
  const std::lock_guard lock(mutex_);
  finish_phase();
  phase_ = printable(name);
  total_ = total;
  done_ = 0;
  began_ = Clock::now();
  active_ = true;
  ++phase_number_;
  if (!thread_.joinable() && !closed_) {
    thread_ = std::thread([this] { draw_until_closed(); });
  }
  changed_.notify_one();
}

void ProgressLine::update(std::uint64_t done) { done_.store(done, std::memory_order_relaxed); }

void ProgressLine::end() {
  const std::lock_guard lock(mutex_);
  finish_phase();
}

void ProgressLine::close() {
  {
    const std::lock_guard lock(mutex_);
    closed_ = true;
    active_ = false;
    if (drawn_) {
      write_(kClearLine);
      drawn_ = false;
    }
    changed_.notify_one();
  }
  if (thread_.joinable()) {
    thread_.join();
  }
}

ProgressState ProgressLine::state() const {
  return {.phase = phase_,
          .done = done_.load(std::memory_order_relaxed),
          .total = total_,
          .seconds = std::chrono::duration<double>(Clock::now() - began_).count(),
          .memory = memory_in_use()};
}

/// The last line of a phase stays if the phase was long enough to be worth it.
void ProgressLine::finish_phase() {
  if (!active_) {
    return;
  }
  active_ = false;
  std::string text = drawn_ ? std::string(kClearLine) : "";
  if (Clock::now() - began_ >= timing_.kept) {
    text += progress_text(state(), style_ == ProgressStyle::bar) + "\n";
  }
  drawn_ = false;
  if (!text.empty()) {
    write_(text);
  }
}

void ProgressLine::draw_until_closed() {
  const bool bar = style_ == ProgressStyle::bar;
  std::unique_lock lock(mutex_);
  while (!closed_) {
    if (!active_) {
      changed_.wait(lock, [&] { return active_ || closed_; });
      continue;
    }
    const std::uint64_t phase = phase_number_;
    const auto other = [&] { return closed_ || phase_number_ != phase || !active_; };
    auto interval = bar ? timing_.bar : timing_.log_first;
    while (!changed_.wait_for(lock, interval, other)) {
      const std::string text = progress_text(state(), bar);
      write_(bar ? std::string(kClearLine) + fitted(text) : text + "\n");
      drawn_ = bar;
      interval = bar ? interval : std::min(interval * 2, timing_.log_longest);
    }
  }
}

}  // namespace halfstep::cli
