#include "halfstep/support/thread_pool.h"

#include <atomic>
#include <stdexcept>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace halfstep {
namespace {

TEST(ThreadPool, PiecesCoverEverythingOnce) {
  for (const int threads : {0, 1, 2, 7}) {
    for (const std::int64_t items : {0, 1, 10, 1000}) {
      std::vector<std::atomic<int>> seen(static_cast<std::size_t>(items));
      parallel_for(threads, items, 3, [&](std::int64_t begin, std::int64_t end) {
        for (std::int64_t i = begin; i < end; ++i) {
          ++seen[static_cast<std::size_t>(i)];
        }
      });
      for (const auto& count : seen) {
        EXPECT_EQ(count.load(), 1);
      }
    }
  }
}

TEST(ThreadPool, LittleWorkStaysTogether) {
  EXPECT_EQ(parallel_parts(8, 100, 1000), 1);
  EXPECT_EQ(parallel_parts(8, 3000, 1000), 3);
  EXPECT_EQ(parallel_parts(2, 3000, 1000), 2);
}

TEST(ThreadPool, TheFirstErrorArrives) {
  try {
    parallel_for(4, 4, 1, [](std::int64_t begin, std::int64_t) {
      throw std::runtime_error(std::to_string(begin));
    });
    FAIL();
  } catch (const std::runtime_error& error) {
    EXPECT_STREQ(error.what(), "0");
  }
}

}  // namespace
}  // namespace halfstep
