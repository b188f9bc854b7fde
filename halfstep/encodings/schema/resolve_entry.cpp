#include <algorithm>
#include <cmath>
#include <string>

#include "halfstep/encodings/schema/file_entry.h"
#include "halfstep/support/error.h"

namespace halfstep {
namespace {

class Resolver {
 public:
  Resolver(const FileEntry& entry, const TensorFacts& facts) : entry_(entry), facts_(facts) {}

  Encoding run() {
    encoding_ = {.dtype = entry_.dtype, .origin = Origin::override_file};
    if (!entry_.scale) {
      return encoding_;
    }
    switch (entry_.layout) {
      case FileLayout::per_tensor:
        per_tensor();
        break;
      case FileLayout::per_channel:
        per_channel();
        break;
      case FileLayout::per_block:
        per_block();
        break;
      case FileLayout::lpbq:
        lpbq();
        break;
    }
    check();
    return encoding_;
  }

 private:
  void per_tensor() {
    if (entry_.scale->values.size() != 1) {
      fault("has " + std::to_string(entry_.scale->values.size()) +
            " scales for a whole tensor; expected 1");
    }
    set_scales(entry_.scale->values);
    set_zero_points(1);
  }

  void per_channel() {
    const auto count = static_cast<std::int64_t>(entry_.scale->values.size());
    const std::optional<std::int64_t> axis = axis_or(entry_.axis, facts_.channel_axis);
    if (facts_.shape && !axis) {
      fault("has " + std::to_string(count) +
            " scales, but no axis, and the model does not show which one is meant");
    }
    if (axis && facts_.shape && (*facts_.shape)[static_cast<std::size_t>(*axis)] >= 0 &&
        (*facts_.shape)[static_cast<std::size_t>(*axis)] != count) {
      fault("has " + std::to_string(count) + " scales for " +
            std::to_string((*facts_.shape)[static_cast<std::size_t>(*axis)]) +
            " channels along axis " + std::to_string(*axis) + " of shape " +
            to_text(*facts_.shape));
    }
    encoding_.granularity = PerChannel{.axis = axis};
    encoding_.shape = {count};
    set_scales(entry_.scale->values);
    set_zero_points(entry_.scale->values.size());
  }

  void per_block() {
    const std::int64_t axis = block_axis();
    encoding_.granularity = PerBlock{.axis = axis, .block_size = {entry_.block_size}};
    encoding_.shape = block_shape(*entry_.scale, axis, channel_axis(axis));
    set_scales(graph_order(entry_.scale->values));
    set_zero_points(entry_.scale->values.size());
  }

  void lpbq() {
    const std::int64_t axis = block_axis();
    const std::optional<std::int64_t> channel = channel_axis(axis);
    if (!channel) {
      fault("LPBQ without a channel axis, and the model does not show which one is meant");
    }
    encoding_.granularity = Lpbq{.axis = axis,
                                 .block_size = entry_.block_size,
                                 .channel_axis = channel,
                                 .decompressed_bits = entry_.decompressed_bits};
    encoding_.shape = block_shape(entry_.block_scale, axis, channel);
    set_scales(entry_.scale->values);
    encoding_.zero_point.assign(encoding_.scale.size(), 0);
    for (const double value : graph_order(entry_.block_scale.values)) {
      if (value != std::floor(value) || std::abs(value) > 1e9) {
        fault("per-block scales must be whole numbers (got " + std::to_string(value) + ")");
      }
      encoding_.block_scale.push_back(static_cast<std::int32_t>(value));
    }
  }

  [[nodiscard]] std::optional<std::int64_t> rank() const {
    if (facts_.shape) {
      return static_cast<std::int64_t>(facts_.shape->size());
    }
    const Shape& shape =
        entry_.layout == FileLayout::lpbq ? entry_.block_scale.shape : entry_.scale->shape;
    return entry_.layout == FileLayout::per_channel || entry_.channels_first
               ? std::nullopt
               : std::optional(static_cast<std::int64_t>(shape.size()));
  }

  /// `axis` of the file, counted from the front; else what the graph says.
  [[nodiscard]] std::optional<std::int64_t> axis_or(
      const std::optional<std::int64_t>& axis, const std::optional<std::int64_t>& fallback) const {
    if (!axis) {
      return fallback;
    }
    const std::optional<std::int64_t> axes = rank();
    const std::int64_t normal = *axis < 0 && axes ? *axis + *axes : *axis;
    if (axes && (normal < 0 || normal >= *axes)) {
      fault("axis " + std::to_string(*axis) + " is outside a tensor of rank " +
            std::to_string(*axes));
    }
    return normal;
  }

  [[nodiscard]] std::int64_t block_axis() const {
    const std::optional<std::int64_t> axis = axis_or(entry_.axis, facts_.block_axis);
    if (!axis || *axis < 0) {
      fault("has blocks, but no axis, and the model does not show which one is meant");
    }
    if (entry_.block_size < 1) {
      fault("block_size must be > 0 (got " + std::to_string(entry_.block_size) + ")");
    }
    return *axis;
  }

  [[nodiscard]] std::optional<std::int64_t> channel_axis(std::int64_t block) const {
    if (entry_.channel_axis) {
      return axis_or(entry_.channel_axis, std::nullopt);
    }
    if (facts_.channel_axis && *facts_.channel_axis != block) {
      return facts_.channel_axis;
    }
    return rank() == 2 ? std::optional(1 - block) : std::nullopt;
  }

  /// The shape of block parameters: as nested in the file, or for flat lists as the tensor has it.
  Shape block_shape(const NumberList& list, std::int64_t axis,
                    const std::optional<std::int64_t>& channel) {
    if (!entry_.channels_first && (!facts_.shape || list.shape.size() == facts_.shape->size())) {
      return list.shape;
    }
    if (!facts_.shape || !channel) {
      fault("has a flat list of blocks, which needs the model to be understood");
    }
    Shape shape(facts_.shape->size(), 1);
    const auto block = static_cast<std::size_t>(axis);
    shape.at(block) = (*facts_.shape)[block] / entry_.block_size;
    shape.at(static_cast<std::size_t>(*channel)) =
        (*facts_.shape)[static_cast<std::size_t>(*channel)];
    transposed_ = entry_.channels_first && shape.size() == 2 && *channel == 1;
    if (element_count(shape) != static_cast<std::int64_t>(list.values.size())) {
      fault("has " + std::to_string(list.values.size()) + " block values; expected " +
            std::to_string(element_count(shape)) + " for blocks of " +
            std::to_string(entry_.block_size) + " along axis " + std::to_string(axis) +
            " of shape " + to_text(*facts_.shape));
    }
    return shape;
  }

  /// Flat lists of 1.0.0 run over channels, then blocks, also where the tensor is stored the other
  /// way.
  [[nodiscard]] std::vector<double> graph_order(const std::vector<double>& values) const {
    if (!transposed_) {
      return values;
    }
    const auto blocks = static_cast<std::size_t>(encoding_.shape[0]);
    const auto channels = static_cast<std::size_t>(encoding_.shape[1]);
    std::vector<double> result(values.size());
    for (std::size_t channel = 0; channel < channels; ++channel) {
      for (std::size_t block = 0; block < blocks; ++block) {
        result[block * channels + channel] = values[channel * blocks + block];
      }
    }
    return result;
  }

  void set_scales(const std::vector<double>& values) {
    for (const double value : values) {
      const auto scale = static_cast<float>(value);
      if (!(scale > 0) || !std::isfinite(scale)) {
        fault("scale must be finite and > 0 (got " + Json(value).dump() + ")");
      }
      encoding_.scale.push_back(scale);
    }
  }

  void set_zero_points(std::size_t count) {
    std::vector<double> values(count, 0.0);
    if (entry_.zero_point && entry_.zero_point->values.size() == 1) {
      std::fill(values.begin(), values.end(), entry_.zero_point->values[0]);
    } else if (entry_.zero_point) {
      if (entry_.zero_point->values.size() != count) {
        fault("has " + std::to_string(entry_.zero_point->values.size()) + " zero points for " +
              std::to_string(count) + " scales");
      }
      values = graph_order(entry_.zero_point->values);
    }
    const bool two_bits = is_integer(entry_.dtype) && bits(entry_.dtype) == 2;
    encoding_.half_step = two_bits && values[0] != std::floor(values[0]);
    for (const double value : values) {
      const double whole = value + (encoding_.half_step ? 0.5 : 0.0);
      if (whole != std::floor(whole) || std::abs(whole) > 9e15) {
        fault("zero point must be whole (got " + Json(value).dump() +
              "; only 2-bit types may have halves, in all units alike)");
      }
      encoding_.zero_point.push_back(static_cast<std::int64_t>(whole));
    }
    if (is_floating(entry_.dtype) &&
        std::all_of(values.begin(), values.end(), [](double v) { return v == 0; })) {
      encoding_.zero_point.clear();
    }
  }

  /// Whatever else may be wrong. An axis that is not known yet is checked with the model.
  void check() const {
    Encoding checked = encoding_;
    Shape shape = facts_.shape.value_or(encoding_.shape);
    if (!facts_.shape) {
      if (auto* channel = std::get_if<PerChannel>(&checked.granularity)) {
        channel->axis = 0;
      } else if (!encoding_.shape.empty()) {
        shape.assign(encoding_.shape.size(), -1);
      }
    }
    try {
      validate(checked, shape);
    } catch (const Error& error) {
      fault(error.what());
    }
  }

  const FileEntry& entry_;
  const TensorFacts& facts_;
  Encoding encoding_{};
  bool transposed_ = false;
};

}  // namespace

Encoding resolve_entry(const FileEntry& entry, const TensorFacts& facts) {
  return Resolver(entry, facts).run();
}

}  // namespace halfstep
