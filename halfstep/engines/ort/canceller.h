#pragma once

#include <condition_variable>
#include <functional>
#include <mutex>
#include <stop_token>
#include <thread>

#include "halfstep/support/progress.h"

namespace halfstep::ort {

/// Stops work that can't ask by itself: while an action is armed, a thread looks every 50 ms
/// whether `progress` was cancelled and then calls the action once. Without progress it does
/// nothing.
class Canceller {
 public:
  explicit Canceller(const Progress* progress);

  /// Arms `action` until the end of this object's life.
  class Guard {
   public:
    Guard(Canceller& canceller, std::function<void()> action);
    Guard(const Guard&) = delete;
    Guard& operator=(const Guard&) = delete;
    ~Guard();

   private:
    Canceller& canceller_;
  };

  [[nodiscard]] bool cancelled() const noexcept { return progress_ && progress_->cancelled(); }
  /// Errors: interrupted.
  void throw_if_cancelled() const;

 private:
  void watch(const std::stop_token& stop);
  void arm(std::function<void()> action);

  const Progress* progress_;
  std::mutex mutex_{};
  std::condition_variable_any changed_{};
  std::function<void()> action_{};
  std::jthread thread_{};
};

}  // namespace halfstep::ort
