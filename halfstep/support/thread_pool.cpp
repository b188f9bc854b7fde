#include "halfstep/support/thread_pool.h"

#include <algorithm>
#include <cstddef>
#include <exception>
#include <thread>
#include <vector>

namespace halfstep {

std::int64_t parallel_parts(int threads, std::int64_t items, std::int64_t grain) {
  const std::int64_t most = items / std::max<std::int64_t>(grain, 1);
  return std::clamp<std::int64_t>(most, 1, std::max(threads, 1));
}

void parallel_for_parts(
    int threads, std::int64_t items, std::int64_t grain,
    const std::function<void(std::int64_t part, std::int64_t begin, std::int64_t end)>& work) {
  const std::int64_t parts = parallel_parts(threads, items, grain);
  if (parts == 1) {
    work(0, 0, items);
    return;
  }
  std::vector<std::exception_ptr> errors(static_cast<std::size_t>(parts));
  const auto run = [&](std::int64_t part) noexcept {
    try {
      work(part, items * part / parts, items * (part + 1) / parts);
    } catch (...) {
      errors[static_cast<std::size_t>(part)] = std::current_exception();
    }
  };
  {
    std::vector<std::jthread> others;
    for (std::int64_t part = 1; part < parts; ++part) {
      others.emplace_back(run, part);
    }
    run(0);
  }
  for (const std::exception_ptr& error : errors) {
    if (error) {
      std::rethrow_exception(error);
    }
  }
}

void parallel_for(int threads, std::int64_t items, std::int64_t grain,
                  const std::function<void(std::int64_t begin, std::int64_t end)>& work) {
  parallel_for_parts(
      threads, items, grain,
      [&work](std::int64_t, std::int64_t begin, std::int64_t end) { work(begin, end); });
}

}  // namespace halfstep
