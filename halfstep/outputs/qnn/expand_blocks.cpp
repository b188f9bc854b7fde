#include "halfstep/outputs/qnn/expand_blocks.h"

#include <cstdint>
#include <variant>

namespace halfstep::qnn {
namespace {

struct Axes {
  std::size_t block = 0, channel = 0;
};

Axes axes_of(const Lpbq& lpbq) {
  return {.block = static_cast<std::size_t>(lpbq.axis.value_or(1)),
          .channel = static_cast<std::size_t>(lpbq.channel_axis.value_or(0))};
}

}  // namespace

bool is_misread_in_blocks(const Encoding& encoding, const Shape& shape) {
  const auto* lpbq = std::get_if<Lpbq>(&encoding.granularity);
  if (lpbq == nullptr) {
    return false;
  }
  const Axes axes = axes_of(*lpbq);
  constexpr std::int64_t kTile = 32;
  return shape[axes.block] > kTile && shape[axes.block] % kTile != 0 && shape[axes.channel] > kTile;
}

void expand_blocks(Encoding& encoding, std::vector<std::byte>& codes, const Shape& shape) {
  const auto lpbq = std::get<Lpbq>(encoding.granularity);
  const Axes axes = axes_of(lpbq);
  const Shape strides = row_major_strides(shape), of_blocks = row_major_strides(encoding.shape);
  for (std::size_t i = 0; i < codes.size(); ++i) {
    const auto at = static_cast<std::int64_t>(i);
    const std::int64_t block =
        at / strides[axes.block] % shape[axes.block] / lpbq.block_size * of_blocks[axes.block];
    const std::int64_t channel =
        at / strides[axes.channel] % shape[axes.channel] * of_blocks[axes.channel];
    const int code = static_cast<std::int8_t>(codes[i]) *
                     encoding.block_scale[static_cast<std::size_t>(block + channel)];
    codes[i] = static_cast<std::byte>(static_cast<std::int8_t>(code));
  }
  encoding.dtype = Dtype::int8;
  encoding.granularity = PerChannel{.axis = static_cast<std::int64_t>(axes.channel)};
  encoding.shape = {shape[axes.channel]};
  encoding.block_scale.clear();
}

}  // namespace halfstep::qnn
