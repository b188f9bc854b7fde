#pragma once

#include <algorithm>

#include "halfstep/calibration/samples.h"

namespace halfstep {

/// The first samples of a source: enough for the check when nothing is measured.
class FirstSamples final : public SampleSource {
 public:
  FirstSamples(SampleSource& source, std::size_t count) : source_(source), left_(count) {}
  [[nodiscard]] std::optional<std::size_t> size() const override {
    const std::optional<std::size_t> all = source_.size();
    return all ? std::min(*all, left_) : all;
  }
  [[nodiscard]] std::optional<Sample> next() override {
    if (left_ == 0) {
      return std::nullopt;
    }
    --left_;
    return source_.next();
  }
  [[nodiscard]] std::string where() const override { return source_.where(); }
  [[nodiscard]] std::vector<std::filesystem::path> files() const override {
    return source_.files();
  }

 private:
  SampleSource& source_;
  std::size_t left_;
};

}  // namespace halfstep
