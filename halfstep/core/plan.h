#pragma once

// How the units of a grid lie in row-major memory, in the two forms that kernels know.
#include <cstdint>
#include <functional>
#include <vector>

#include "halfstep/core/quantize.h"

namespace halfstep::internal {

/// A piece of a tensor that one kernel call handles; elements counted from its start.
struct Tile {
  bool columns = false;         ///< each value of a row has its own unit; otherwise each run one
  std::int64_t element = 0;     ///< first element
  std::int64_t unit = 0;        ///< first unit
  std::int64_t rows = 0;        ///< runs (units unit, unit + 1, ...) or rows (all the same units)
  std::int64_t length = 0;      ///< values of one run or row
  std::int64_t row_stride = 0;  ///< elements from one row to the next; of runs: length
};

/// Splits a tensor into tiles: nested loops, innermost a run of one unit or a row of units.
class Plan {
 public:
  explicit Plan(const UnitGrid& grid);

  /// Calls `work` for tiles that cover the tensor, each of at most `most` elements or one row of
  /// it. Tiles of one thread come in order of memory.
  void for_each(int threads, std::int64_t most,
                const std::function<void(std::int64_t part, const Tile&)>& work) const;
  /// Values of one run or one row.
  [[nodiscard]] std::int64_t row_length() const { return length_; }
  /// How many different `part`s the calls have.
  [[nodiscard]] std::int64_t parts(int threads) const;
  /// Whether tiles of different parts never share a unit.
  [[nodiscard]] bool parts_are_disjoint(int threads) const;

 private:
  struct Loop {
    std::int64_t extent;
    std::int64_t element_step;
    std::int64_t unit_step;  ///< 0: the same units again
  };
  void visit(std::int64_t part, std::int64_t begin, std::int64_t end, std::int64_t most,
             const std::function<void(std::int64_t, const Tile&)>& work) const;
  void emit(std::int64_t part, Tile tile, std::int64_t most,
            const std::function<void(std::int64_t, const Tile&)>& work) const;
  /// What is dealt out to threads: values of the only row, outer steps, or rows.
  struct Work {
    std::int64_t items, values_each;
  };
  [[nodiscard]] Work work_items() const;
  [[nodiscard]] bool single_row() const { return outer_count_ * rows_ == 1; }
  [[nodiscard]] bool by_outer_steps() const { return columns_ && outer_count_ > 1; }

  bool columns_ = false;
  std::int64_t length_ = 1;  ///< of a run, or of a row
  std::int64_t rows_ = 1;    ///< runs after one another, or rows of the same units
  std::int64_t elements_ = 1;
  std::vector<Loop> outer_{};  ///< outermost first
  std::int64_t outer_count_ = 1;
};

}  // namespace halfstep::internal
