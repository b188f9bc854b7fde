#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "halfstep/model/blob.h"

namespace halfstep {

/// Writes a serialized ModelProto with tokens as the ModelProto with the data put back: the reverse
/// of strip_weights. Nothing large is copied.
class Expander {
 public:
  /// `proto` and `blobs` must outlive the expander. Errors: internal if a token names no blob.
  Expander(std::span<const std::byte> proto, std::span<const Blob> blobs);

  /// Bytes that write() will give.
  [[nodiscard]] std::uint64_t size() const noexcept { return size_; }
  void write(const std::function<void(std::span<const std::byte>)>& sink) const;

 private:
  std::span<const std::byte> proto_;
  std::span<const Blob> blobs_;
  std::vector<std::uint64_t> sizes_{};  ///< of the nested messages, in the order they are met
  std::uint64_t size_ = 0;
};

}  // namespace halfstep
