#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>

namespace halfstep {

/// Takes bytes one piece after another.
using ByteSink = std::function<void(std::span<const std::byte>)>;

/// Bytes that are made when they are written, and again whenever they are written again: the same
/// ones each time.
struct ByteProducer {
  std::uint64_t size = 0;
  std::function<void(const ByteSink&)> write{};
};

}  // namespace halfstep
