#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace halfstep {

/// Counts of values in bins a power of two wide, with edges at the multiples of the width.
///
/// Formula: bin k holds the values with floor(x / 2^e) = k. e is the smallest exponent at which
///          [min, max] of all values seen needs at most `limit` bins (and at which a bin is not
///          narrower than 2^-29 of the largest magnitude). A wider range makes e larger: then bins
///          2k and 2k + 1 become bin k, which loses nothing, as floor(floor(x) / 2) = floor(x / 2).
/// Result:  counts, edges and e depend on the values alone: not on their order, on batches or on
///          which of several merged histograms saw them.
/// Memory:  at most `limit` counts of 8 bytes, of which between limit / 2 and limit are used.
class Histogram {
 public:
  static constexpr std::size_t kLimit = 8192;

  explicit Histogram(std::size_t limit = kLimit);

  /// All values must be finite. An empty span changes nothing.
  void add(std::span<const float> values);
  /// The same with their smallest and largest value, if these are known already.
  void add(std::span<const float> values, float min, float max);
  /// Adds what `other` counted. Errors: invalid_argument if its limit is another.
  void merge(const Histogram& other);

  [[nodiscard]] bool empty() const noexcept { return total_ == 0; }
  [[nodiscard]] std::uint64_t total() const noexcept { return total_; }
  [[nodiscard]] std::uint64_t zeros() const noexcept { return zeros_; }
  /// Smallest and largest value; 0 if empty.
  [[nodiscard]] float min() const noexcept { return min_; }
  [[nodiscard]] float max() const noexcept { return max_; }
  [[nodiscard]] int exponent() const noexcept { return exponent_; }
  [[nodiscard]] double width() const noexcept;
  /// Number k of the bin that counts()[0] is of; counts() ends with the bin of max().
  [[nodiscard]] std::int64_t first_bin() const noexcept { return first_; }
  [[nodiscard]] const std::vector<std::uint64_t>& counts() const noexcept { return counts_; }
  [[nodiscard]] std::size_t limit() const noexcept { return limit_; }
  /// The same counts in bins of at least 2^exponent.
  [[nodiscard]] Histogram coarser(int exponent) const;

  /// What the accessors tell, to make a histogram of saved counts.
  struct State {
    float min = 0, max = 0;
    std::uint64_t zeros = 0;
    int exponent = 0;
    std::int64_t first_bin = 0;
    std::vector<std::uint64_t> counts{};
  };
  /// Errors: invalid_argument if the numbers can't be those of a histogram.
  [[nodiscard]] static Histogram from_state(State state, std::size_t limit = kLimit);
  bool operator==(const Histogram&) const = default;

 private:
  void widen(float min, float max);
  void coarsen(int exponent);

  std::size_t limit_;
  float min_ = 0, max_ = 0;
  std::uint64_t total_ = 0, zeros_ = 0;
  int exponent_ = 0;
  std::int64_t first_ = 0;
  std::vector<std::uint64_t> counts_{};
};

}  // namespace halfstep
