#include "halfstep/engines/ort/canceller.h"

#include <atomic>
#include <chrono>
#include <thread>

#include <gtest/gtest.h>

namespace halfstep::ort {
namespace {

bool soon(const std::atomic<int>& calls) {
  for (int i = 0; i < 500 && calls.load() == 0; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  return calls.load() > 0;
}

TEST(Canceller, CallsTheArmedActionOnce) {
  SilentProgress progress;
  Canceller canceller(&progress);
  std::atomic<int> calls{0};
  const Canceller::Guard guard(canceller, [&] { ++calls; });
  EXPECT_EQ(calls.load(), 0);
  EXPECT_NO_THROW(canceller.throw_if_cancelled());
  progress.cancel();
  EXPECT_TRUE(soon(calls));
  std::this_thread::sleep_for(std::chrono::milliseconds(150));
  EXPECT_EQ(calls.load(), 1);
  EXPECT_TRUE(canceller.cancelled());
  EXPECT_THROW(canceller.throw_if_cancelled(), Error);
}

TEST(Canceller, DoesNothingOnceDisarmed) {
  SilentProgress progress;
  Canceller canceller(&progress);
  std::atomic<int> calls{0};
  {
    const Canceller::Guard guard(canceller, [&] { ++calls; });
  }
  progress.cancel();
  std::this_thread::sleep_for(std::chrono::milliseconds(150));
  EXPECT_EQ(calls.load(), 0);
}

TEST(Canceller, WorksWithoutProgress) {
  Canceller canceller(nullptr);
  const Canceller::Guard guard(canceller, [] { FAIL(); });
  EXPECT_FALSE(canceller.cancelled());
  EXPECT_NO_THROW(canceller.throw_if_cancelled());
}

}  // namespace
}  // namespace halfstep::ort
