#pragma once

#include <cstdint>
#include <functional>

namespace halfstep {

/// Calls `work(begin, end)` on pieces that cover [0, items), on up to `threads` threads.
///
/// Pieces are contiguous and of equal size, at least `grain` items each, so little work stays on
/// the calling thread. `part` of the second form numbers the pieces from 0 in order. Errors: the
/// first (in order of pieces) that `work` throws.
void parallel_for(int threads, std::int64_t items, std::int64_t grain,
                  const std::function<void(std::int64_t begin, std::int64_t end)>& work);
void parallel_for_parts(
    int threads, std::int64_t items, std::int64_t grain,
    const std::function<void(std::int64_t part, std::int64_t begin, std::int64_t end)>& work);
/// How many pieces `parallel_for_parts` makes.
[[nodiscard]] std::int64_t parallel_parts(int threads, std::int64_t items, std::int64_t grain);

}  // namespace halfstep
