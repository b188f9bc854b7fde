#include "halfstep/core/plan.h"

#include <algorithm>
#include <cstddef>
#include <utility>

#include "halfstep/support/thread_pool.h"

namespace halfstep::internal {
namespace {

/// A thread is worth starting for about this many elements.
constexpr std::int64_t kGrain = std::int64_t{1} << 17;

}  // namespace

Plan::Plan(const UnitGrid& grid) : elements_(element_count(grid.shape)) {
  // Two loops for each axis: over its units and inside one unit; those of extent 1 fall away, and
  // neighbours of the same kind are one loop in memory.
  std::vector<Loop> loops;
  std::int64_t element_step = elements_;
  std::int64_t unit_step = grid.units();
  for (std::size_t axis = 0; axis < grid.shape.size() && elements_ > 0; ++axis) {
    for (const bool over_units : {true, false}) {
      const std::int64_t extent = over_units ? grid.counts[axis] : grid.sizes[axis];
      if (extent == 1) {
        continue;
      }
      element_step /= extent;
      unit_step /= over_units ? extent : 1;
      const bool same_kind = !loops.empty() && (loops.back().unit_step != 0) == over_units;
      if (same_kind) {
        loops.back().extent *= extent;
        loops.back().element_step = element_step;
        loops.back().unit_step = over_units ? unit_step : 0;
      } else {
        loops.push_back({extent, element_step, over_units ? unit_step : 0});
      }
    }
  }
  if (!loops.empty()) {
    columns_ = loops.back().unit_step != 0;
    length_ = loops.back().extent;
    loops.pop_back();
  }
  if (!loops.empty()) {
    rows_ = loops.back().extent;
    loops.pop_back();
  }
  outer_ = std::move(loops);
  for (const Loop& loop : outer_) {
    outer_count_ *= loop.extent;
  }
}

Plan::Work Plan::work_items() const {
  if (single_row()) {
    return {length_, 1};
  }
  return by_outer_steps() ? Work{outer_count_, rows_ * length_}
                          : Work{outer_count_ * rows_, length_};
}

std::int64_t Plan::parts(int threads) const {
  const Work work = work_items();
  return parallel_parts(threads, work.items, kGrain / std::max<std::int64_t>(work.values_each, 1));
}

bool Plan::parts_are_disjoint(int threads) const {
  if (parts(threads) == 1) {
    return true;
  }
  if (outer_.empty()) {
    return single_row() == columns_;
  }
  return by_outer_steps() && outer_.size() == 1;
}

void Plan::emit(std::int64_t part, Tile tile, std::int64_t most,
                const std::function<void(std::int64_t, const Tile&)>& work) const {
  const std::int64_t width = std::min(tile.length, most);
  const std::int64_t height =
      width < tile.length ? 1 : std::max<std::int64_t>(most / std::max<std::int64_t>(width, 1), 1);
  for (std::int64_t row = 0; row < tile.rows; row += height) {
    for (std::int64_t at = 0; at < tile.length; at += width) {
      Tile piece = tile;
      piece.rows = std::min(height, tile.rows - row);
      piece.length = std::min(width, tile.length - at);
      piece.element += row * tile.row_stride + at;
      piece.unit += tile.columns ? at : row;
      work(part, piece);
    }
  }
}

void Plan::visit(std::int64_t part, std::int64_t begin, std::int64_t end, std::int64_t most,
                 const std::function<void(std::int64_t, const Tile&)>& work) const {
  while (begin < end) {
    std::int64_t index = begin / rows_;
    const std::int64_t row = begin % rows_;
    const std::int64_t rows = std::min(rows_ - row, end - begin);
    Tile tile{.columns = columns_, .rows = rows, .length = length_, .row_stride = length_};
    for (auto loop = outer_.rbegin(); loop != outer_.rend(); ++loop) {
      const std::int64_t step = index % loop->extent;
      index /= loop->extent;
      tile.element += step * loop->element_step;
      tile.unit += step * loop->unit_step;
    }
    tile.element += row * length_;
    tile.unit += columns_ ? 0 : row;
    emit(part, tile, most, work);
    begin += rows;
  }
}

void Plan::for_each(int threads, std::int64_t most,
                    const std::function<void(std::int64_t, const Tile&)>& work) const {
  if (elements_ == 0) {
    return;
  }
  const Work items = work_items();
  const std::int64_t grain = kGrain / std::max<std::int64_t>(items.values_each, 1);
  const std::int64_t rows_each = by_outer_steps() ? rows_ : 1;
  parallel_for_parts(threads, items.items, grain,
                     [&](std::int64_t part, std::int64_t begin, std::int64_t end) {
                       if (!single_row()) {
                         visit(part, begin * rows_each, end * rows_each, most, work);
                         return;
                       }
                       emit(part,
                            {.columns = columns_,
                             .element = begin,
                             .unit = columns_ ? begin : 0,
                             .rows = 1,
                             .length = end - begin,
                             .row_stride = end - begin},
                            most, work);
                     });
}

}  // namespace halfstep::internal
