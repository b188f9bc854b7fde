#include "halfstep/engines/ort/canceller.h"

#include <chrono>
#include <utility>

namespace halfstep::ort {

Canceller::Canceller(const Progress* progress) : progress_(progress) {
  if (progress_ != nullptr) {
    thread_ = std::jthread([this](const std::stop_token& stop) { watch(stop); });
  }
}

void Canceller::throw_if_cancelled() const {
  if (progress_ != nullptr) {
    progress_->throw_if_cancelled();
  }
}

void Canceller::watch(const std::stop_token& stop) {
  constexpr std::chrono::milliseconds kPeriod(50);
  std::unique_lock lock(mutex_);
  while (!stop.stop_requested()) {
    changed_.wait_for(lock, stop, kPeriod, [] { return false; });
    if (action_ && cancelled()) {
      // Called under the lock: the guard's destructor waits until the action is over.
      std::exchange(action_, nullptr)();
    }
  }
}

void Canceller::arm(std::function<void()> action) {
  const std::lock_guard lock(mutex_);
  action_ = std::move(action);
}

Canceller::Guard::Guard(Canceller& canceller, std::function<void()> action)
    : canceller_(canceller) {
  if (canceller_.progress_ != nullptr) {
    canceller_.arm(std::move(action));
  }
}

Canceller::Guard::~Guard() {
  if (canceller_.progress_ != nullptr) {
    canceller_.arm(nullptr);
  }
}

}  // namespace halfstep::ort
