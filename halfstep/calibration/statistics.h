#pragma once

#include <array>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "halfstep/core/calculators.h"
#include "halfstep/core/histogram.h"
#include "halfstep/core/spec.h"

namespace halfstep {

/// A float tensor to observe and how.
struct ObservedTensor {
  std::string name{};
  ResolvedSpec spec;  ///< range_calculator_cls, qparam_calculator_cls, float_range count here
  /// The axis whose entries are channels, to notice those that are always 0; negative counts from
  /// the end, empty: not looked for.
  std::optional<int> channel_axis{};
};

/// Magnitudes from here on are masks ("minus infinity" of attention: -3.4e38), not numbers.
constexpr float kMaskMagnitude = 1e30F;

/// The smallest of the samples' minima, or the largest of their maxima: enough to tell what the
/// samples would have shown without some of them. Exact, whatever the order of the samples.
class SampleExtremes {
 public:
  static constexpr std::size_t kKept = 4;
  /// `value` grows towards the extreme: pass minima negated.
  void add(float value) noexcept;
  void merge(const SampleExtremes& other) noexcept;
  /// The extreme of all samples less that of 9 of 10 samples, on average over all orders in which
  /// they could have come.
  [[nodiscard]] double expected_movement() const noexcept;
  /// Descending; -infinity where there were fewer samples.
  [[nodiscard]] const std::array<float, kKept>& values() const noexcept { return values_; }
  [[nodiscard]] static SampleExtremes of(const std::array<float, kKept>& values);
  bool operator==(const SampleExtremes&) const = default;

 private:
  static constexpr float kNone = -std::numeric_limits<float>::infinity();
  std::array<float, kKept> values_ = {kNone, kNone, kNone, kNone};
};

/// Which channels held something other than 0 in some sample.
struct ChannelActivity {
  std::vector<std::uint8_t> active{};  ///< by channel, 0 or 1
  bool varies = false;                 ///< samples had different numbers of channels: not known
  [[nodiscard]] std::vector<std::size_t> inactive() const;
  void merge(const ChannelActivity& other);
  bool operator==(const ChannelActivity&) const = default;
};

/// What a tensor showed over all samples. NaN, infinities and masks are counted and left out of
/// everything else.
struct TensorStatistics {
  Ranges range{};              ///< of the spec's calculators; one entry (per tensor)
  std::int64_t values = 0;     ///< values seen
  std::int64_t nan_count = 0;  ///< NaN that arose inside the network: left out, counted, named
  std::int64_t infinity_count = 0;
  std::int64_t mask_count = 0;                          ///< finite values beyond kMaskMagnitude
  bool mask_below = false, mask_above = false;          ///< signs of masks and infinities
  float min = std::numeric_limits<float>::infinity();   ///< +infinity and -infinity if there was no
  float max = -std::numeric_limits<float>::infinity();  ///< value left
  SampleExtremes lowest{}, highest{};  ///< of the samples' negated minima and of their maxima
  std::optional<Histogram> histogram{};
  std::string calculator{};  ///< name of a calculator that depends on more than min and max
  Json calculator_state{};   ///< what its state() tells
  std::optional<ChannelActivity> channels{};
  /// How far the range moved in the last tenth of the samples of this run, as a share of its width;
  /// empty if it is not known.
  std::optional<double> moved{};

  [[nodiscard]] bool has_finite() const noexcept { return min <= max; }
};

/// Whether everything that is no mask is 0.
[[nodiscard]] bool only_masks(const TensorStatistics& statistics);
/// Whether the spec's range is searched in a histogram of all values: range_calculator_cls is one
/// of search_range, and qparam_calculator_cls is global_minmax or left to the role.
[[nodiscard]] bool needs_histogram(const ResolvedSpec& spec);
/// The calculator that is kept beside min and max: empty for global_minmax.
[[nodiscard]] std::string kept_calculator(const ResolvedSpec& spec);

/// The range that the calculators of `spec` choose; [0, 0] if there was no finite value.
///
/// A tensor that holds nothing but masks and zeros gets [-100, 0] (or [0, 100]): exp(-100) is 0 in
/// every type below float32, and a range of nothing would lose the mask.
/// Errors: unsupported if `statistics` lack what the method needs, naming both.
[[nodiscard]] Ranges range_of(const TensorStatistics& statistics, const ResolvedSpec& spec);

/// The range of a constant that holds masks of one sign, as range_of has it for activations; empty
/// if it holds none, or NaN. Masks alone: [-100, 0] or [0, 100].
[[nodiscard]] std::optional<Ranges> range_beside_masks(std::span<const float> values);

/// Adds what `other` saw. Exact: the order of merging does not matter; `range` and `moved` are left
/// alone.
/// Errors: unsupported if the order of samples matters (moving_average); invalid_argument if
/// the two were collected for different methods.
void merge(TensorStatistics& statistics, const TensorStatistics& other);

/// The movement that a last tenth of the samples makes on average, as a share of the range.
[[nodiscard]] double expected_movement(const TensorStatistics& statistics);

}  // namespace halfstep
