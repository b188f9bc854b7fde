#include "halfstep/encodings/encoding.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <string>
#include <utility>
#include <variant>

#include "halfstep/support/error.h"

namespace halfstep {
namespace {

constexpr std::array<std::string_view, 7> kOriginNames{
    "default", "calibrated", "model", "override file", "propagated", "adapted", "fixed range"};

[[noreturn]] void fail(const std::string& message) {
  throw Error(ErrorKind::invalid_argument, message);
}

bool known(std::int64_t extent) { return extent >= 0; }

std::int64_t checked_axis(const std::optional<std::int64_t>& axis, const Shape& shape,
                          std::string_view what) {
  const auto rank = static_cast<std::int64_t>(shape.size());
  if (!axis || *axis < 0 || *axis >= rank) {
    fail(std::string(what) + " must lie in 0.." + std::to_string(rank - 1) + " of shape " +
         to_text(shape) + " (got " + (axis ? std::to_string(*axis) : "none") + ")");
  }
  return *axis;
}

/// Number of blocks of `size` along `axis`; -1 while the extent is unknown.
std::int64_t block_count(const Shape& shape, std::size_t axis, std::int64_t size) {
  if (size == -1) {
    return 1;
  }
  if (size <= 0) {
    fail("block size must be > 0 (got " + std::to_string(size) + ")");
  }
  if (!known(shape[axis])) {
    return -1;
  }
  if (shape[axis] % size != 0) {
    fail("block size " + std::to_string(size) + " does not divide extent " +
         std::to_string(shape[axis]) + " of axis " + std::to_string(axis) + " of shape " +
         to_text(shape));
  }
  return shape[axis] / size;
}

[[noreturn]] void fail_shape(const Encoding& encoding, const Shape& shape,
                             const std::string& expected) {
  fail("parameters of shape " + to_text(encoding.shape) + " do not fit a tensor of shape " +
       to_text(shape) + "; expected " + expected);
}

void check_fit(const PerTensor&, const Encoding& encoding, const Shape& shape) {
  if (!encoding.shape.empty()) {
    fail_shape(encoding, shape, "one value per tensor, shape []");
  }
}

void check_fit(const PerChannel& granularity, const Encoding& encoding, const Shape& shape) {
  const std::int64_t axis = checked_axis(granularity.axis, shape, "axis");
  const std::int64_t extent = shape[static_cast<std::size_t>(axis)];
  if (encoding.shape.size() != 1 || (known(extent) && encoding.shape[0] != extent)) {
    fail_shape(encoding, shape,
               "one value per channel of axis " + std::to_string(axis) +
                   (known(extent) ? ", shape [" + std::to_string(extent) + "]" : ""));
  }
}

void check_fit(const PerBlock& granularity, const Encoding& encoding, const Shape& shape) {
  const std::size_t rank = shape.size();
  if (encoding.shape.size() != rank) {
    fail_shape(encoding, shape, "one number per axis");
  }
  if (!granularity.axis) {
    if (granularity.block_size.size() != rank) {
      fail("block_size needs one entry per axis of shape " + to_text(shape) + " (got " +
           to_text(granularity.block_size) + ")");
    }
    for (std::size_t i = 0; i < rank; ++i) {
      const std::int64_t count = block_count(shape, i, granularity.block_size[i]);
      if (known(count) && encoding.shape[i] != count) {
        fail_shape(encoding, shape,
                   std::to_string(count) + " blocks along axis " + std::to_string(i));
      }
    }
    return;
  }
  const auto axis = static_cast<std::size_t>(checked_axis(granularity.axis, shape, "block axis"));
  if (granularity.block_size.size() != 1) {
    fail("block_size needs one entry when an axis is given (got " +
         to_text(granularity.block_size) + ")");
  }
  for (std::size_t i = 0; i < rank; ++i) {
    const std::int64_t count =
        i == axis ? block_count(shape, i, granularity.block_size[0]) : shape[i];
    const bool fits = encoding.shape[i] == count || (i != axis && encoding.shape[i] == 1);
    if (known(count) && !fits) {
      fail_shape(encoding, shape, std::to_string(count) + " along axis " + std::to_string(i));
    }
  }
}

void check_fit(const Lpbq& granularity, const Encoding& encoding, const Shape& shape) {
  const auto axis = static_cast<std::size_t>(checked_axis(granularity.axis, shape, "block axis"));
  const auto channel =
      static_cast<std::size_t>(checked_axis(granularity.channel_axis, shape, "channel axis"));
  if (axis == channel) {
    fail("block axis and channel axis must differ (both are " + std::to_string(axis) + ")");
  }
  Shape expected(shape.size(), 1);
  expected[axis] = block_count(shape, axis, granularity.block_size);
  expected[channel] = shape[channel];
  const bool fits = std::equal(
      expected.begin(), expected.end(), encoding.shape.begin(), encoding.shape.end(),
      [](std::int64_t wanted, std::int64_t got) { return !known(wanted) || got == wanted; });
  if (!fits) {
    fail_shape(encoding, shape, "block scales of shape " + to_text(expected));
  }
}

/// How many float scales the encoding must have.
std::size_t scale_count(const Encoding& encoding) {
  if (const auto* lpbq = std::get_if<Lpbq>(&encoding.granularity)) {
    return static_cast<std::size_t>(
        encoding.shape.at(static_cast<std::size_t>(lpbq->channel_axis.value_or(0))));
  }
  return static_cast<std::size_t>(element_count(encoding.shape));
}

void check_count(std::string_view what, std::size_t got, std::size_t expected) {
  if (got != expected) {
    fail(std::string(what) + ": expected " + std::to_string(expected) + " (got " +
         std::to_string(got) + ")");
  }
}

std::string at(std::size_t i, std::size_t count) {
  return count == 1 ? "" : "[" + std::to_string(i) + "]";
}

void check_scales(const Encoding& encoding) {
  check_count("scale", encoding.scale.size(), scale_count(encoding));
  for (std::size_t i = 0; i < encoding.scale.size(); ++i) {
    if (!(encoding.scale[i] > 0) || !std::isfinite(encoding.scale[i])) {
      fail("scale" + at(i, encoding.scale.size()) + " must be finite and > 0 (got " +
           std::to_string(encoding.scale[i]) + ")");
    }
  }
}

void check_zero_points(const Encoding& encoding) {
  if (encoding.half_step && (!is_integer(encoding.dtype) || bits(encoding.dtype) != 2)) {
    fail("only 2-bit types may have a zero point between two steps (type is " +
         std::string(name(encoding.dtype)) + ")");
  }
  if (encoding.zero_point.empty()) {
    return;
  }
  check_count("zero point", encoding.zero_point.size(), encoding.scale.size());
  const bool integer = is_integer(encoding.dtype);
  const auto lowest = integer ? static_cast<std::int64_t>(info(encoding.dtype).lowest) : 0;
  const auto highest = integer ? static_cast<std::int64_t>(info(encoding.dtype).highest) : 0;
  for (std::size_t i = 0; i < encoding.zero_point.size(); ++i) {
    const std::int64_t zero_point = encoding.zero_point[i];
    if (zero_point < lowest || zero_point > highest) {
      fail("zero point" + at(i, encoding.zero_point.size()) + " must lie in " +
           std::to_string(lowest) + ".." + std::to_string(highest) + " of " +
           std::string(name(encoding.dtype)) + " (got " + std::to_string(zero_point) + ")");
    }
  }
}

void check_block_scales(const Encoding& encoding) {
  const auto* lpbq = std::get_if<Lpbq>(&encoding.granularity);
  if (lpbq == nullptr) {
    check_count("block scale", encoding.block_scale.size(), 0);
    return;
  }
  const int extra = lpbq->decompressed_bits - bits(encoding.dtype);
  if (!is_integer(encoding.dtype) || extra < 1 || extra > 15) {
    fail("LPBQ needs an integer type below its decompressed width of " +
         std::to_string(lpbq->decompressed_bits) + " bits (got " +
         std::string(name(encoding.dtype)) + ")");
  }
  check_count("block scale", encoding.block_scale.size(),
              static_cast<std::size_t>(element_count(encoding.shape)));
  const std::int32_t highest = 1 << extra;
  for (std::size_t i = 0; i < encoding.block_scale.size(); ++i) {
    if (encoding.block_scale[i] < 1 || encoding.block_scale[i] > highest) {
      fail("block scale[" + std::to_string(i) + "] must lie in 1.." + std::to_string(highest) +
           " (got " + std::to_string(encoding.block_scale[i]) + ")");
    }
  }
}

void check_minvals(const Encoding& encoding) {
  if (encoding.minval.empty()) {
    return;
  }
  check_count("minval", encoding.minval.size(), encoding.scale.size());
  for (const float value : encoding.minval) {
    if (!std::isfinite(value)) {
      fail("minval must be finite (got " + std::to_string(value) + ")");
    }
  }
}

}  // namespace

std::string_view name(Origin origin) noexcept {
  return kOriginNames[static_cast<std::size_t>(origin)];
}

bool Encoding::symmetric() const noexcept {
  if (!minval.empty()) {
    return false;
  }
  const std::int64_t middle = is_unsigned_integer(dtype) ? std::int64_t{1} << (bits(dtype) - 1) : 0;
  if (zero_point.empty()) {
    return middle == 0;
  }
  return std::all_of(zero_point.begin(), zero_point.end(),
                     [middle](std::int64_t value) { return value == middle; });
}

void validate(const Encoding& encoding, const Shape& shape) {
  if (encoding.is_float()) {
    if (!is_floating(encoding.dtype)) {
      fail("an encoding of type " + std::string(name(encoding.dtype)) + " needs a scale");
    }
    return;
  }
  if (!is_integer(encoding.dtype) && !is_floating(encoding.dtype)) {
    fail("type " + std::string(name(encoding.dtype)) + " can't have a scale");
  }
  std::visit([&](const auto& granularity) { check_fit(granularity, encoding, shape); },
             encoding.granularity);
  check_scales(encoding);
  check_zero_points(encoding);
  check_minvals(encoding);
  check_block_scales(encoding);
}

}  // namespace halfstep
