#pragma once

#include <span>
#include <utility>
#include <vector>

#include "halfstep/core/observers/observer.h"

namespace halfstep {

/// Keeps a histogram and chooses the range with the smallest estimated squared error.
///
/// The histogram covers the range seen so far; when a batch widens it, each old bin is cut into 16
/// pieces that fall where their middles lie. `chosen_range` then moves the outer quantiles inwards
/// in steps of 1e-5, always the one that skips more bins, until the error of 256 levels (values
/// uniform inside a bin) rises; the parameters follow from that range as those of MinMaxObserver.
/// Edge:   infinities are left out and counted. Policy::safe does so with NaN too.
/// Errors: observe throws invalid_argument for a NaN under Policy::reference.
/// Source: torch.ao.quantization.observer.HistogramObserver of torch 2.13; sums are made in another
///         order there, so the two agree within a bin or two
class HistogramObserver final : public Observer {
 public:
  explicit HistogramObserver(const ObserverOptions& options = {});
  void observe(const FloatView& x, int threads = 1) override;
  [[nodiscard]] ObserverQParams calculate_qparams() const override;
  void reset_min_max_vals() override;
  [[nodiscard]] std::span<const float> min_val() const override { return {&min_, 1}; }
  [[nodiscard]] std::span<const float> max_val() const override { return {&max_, 1}; }
  [[nodiscard]] Json state() const override;
  void load_state(const Json& state) override;
  /// Up to the rebinning of one of the two, the statistics of the whole.
  void merge(const Observer& other) override;

  [[nodiscard]] std::span<const double> histogram() const { return histogram_; }
  [[nodiscard]] std::pair<float, float> chosen_range() const;

 private:
  [[nodiscard]] bool fresh() const { return min_ > max_; }
  void widen_to(float min, float max);
  [[nodiscard]] double error_of(std::size_t first, std::size_t last) const;

  float min_ = 0, max_ = 0;
  std::vector<double> histogram_{};
};

}  // namespace halfstep
