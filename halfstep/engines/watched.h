#pragma once

#include <cstddef>
#include <span>

#include "halfstep/engines/engine.h"

namespace halfstep {

/// Calls `action(std::span<const float>)` for stretches of memory that together hold every logical
/// value of `value` once; the padding of blocked layouts is left out. Order: that of memory.
template <typename Action>
void for_each_stretch(const WatchedValue& value, Action action) {
  const auto count = static_cast<std::size_t>(value.count);
  if (!value.padded) {
    action(std::span(value.data, count));
    return;
  }
  const auto block = static_cast<std::size_t>(value.channel_block);
  const auto channels = static_cast<std::size_t>(value.shape[1]);
  const auto images = static_cast<std::size_t>(value.shape[0]);
  const std::size_t blocks = (channels + block - 1) / block;
  const std::size_t image_size = images == 0 ? 0 : count / images;
  const std::size_t full = image_size / blocks * (blocks - 1);
  for (std::size_t image = 0; image < images; ++image) {
    const float* start = value.data + image * image_size;
    action(std::span(start, full));
    for (std::size_t at = full; at < image_size; at += block) {
      action(std::span(start + at, channels % block));
    }
  }
}

}  // namespace halfstep
