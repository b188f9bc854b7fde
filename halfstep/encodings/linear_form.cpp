#include "halfstep/encodings/linear_form.h"

#include <algorithm>
#include <numeric>
#include <string>
#include <utility>
#include <variant>

#include "halfstep/support/error.h"

namespace halfstep {
namespace {

/// The block size along each axis; -1 is the whole axis.
Shape sizes_of(const Encoding& encoding) {
  if (const auto* blocks = std::get_if<PerBlock>(&encoding.granularity);
      blocks != nullptr && !blocks->axis) {
    return blocks->block_size;
  }
  Shape sizes;
  for (const std::int64_t count : encoding.shape) {
    sizes.push_back(count == 1 ? -1 : 1);
  }
  if (const auto* blocks = std::get_if<PerBlock>(&encoding.granularity)) {
    sizes[static_cast<std::size_t>(*blocks->axis)] = blocks->block_size.at(0);
  } else if (const auto* lpbq = std::get_if<Lpbq>(&encoding.granularity)) {
    sizes[static_cast<std::size_t>(*lpbq->axis)] = lpbq->block_size;
  }
  return sizes;
}

std::optional<std::int64_t> named_block_axis(const Encoding& encoding) {
  if (const auto* blocks = std::get_if<PerBlock>(&encoding.granularity)) {
    return blocks->axis;
  }
  return std::get<Lpbq>(encoding.granularity).axis;
}

/// The axis that stays cut into blocks: the named one, else the last with real blocks, else the
/// last with several units.
std::size_t block_axis(const Encoding& encoding, const Shape& sizes) {
  if (const auto axis = named_block_axis(encoding)) {
    return static_cast<std::size_t>(*axis);
  }
  std::size_t result = 0;
  bool real = false;
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    const bool several = encoding.shape[i] > 1;
    if (several && (sizes[i] > 1 || !real)) {
      result = i;
      real = sizes[i] > 1;
    }
  }
  return result;
}

/// A layout, and how many positions of it along each axis share a unit.
struct Layout {
  LinearForm form{};
  Shape repeat{};
};

/// Row-major walk over `form.shape`; each position maps to the unit that covers it.
void fill_units(const Shape& counts, const Shape& repeat, LinearForm& form) {
  const Shape strides = row_major_strides(counts);
  Shape position(form.shape.size(), 0);
  const auto total = static_cast<std::size_t>(element_count(form.shape));
  form.units.reserve(total);
  for (std::size_t n = 0; n < total; ++n) {
    std::int64_t unit = 0;
    for (std::size_t i = 0; i < position.size(); ++i) {
      unit += position[i] / repeat[i] * strides[i];
    }
    form.units.push_back(static_cast<std::size_t>(unit));
    for (std::size_t i = position.size(); i-- > 0;) {
      if (++position[i] < form.shape[i]) {
        break;
      }
      position[i] = 0;
    }
  }
}

Layout block_layout(const Encoding& encoding, const Shape& shape, Spread spread) {
  const Shape sizes = sizes_of(encoding);
  const std::size_t axis = block_axis(encoding, sizes);
  LinearForm form{.axis = static_cast<std::int64_t>(axis)};
  Shape repeat(shape.size(), 1);
  for (std::size_t i = 0; i < shape.size(); ++i) {
    const std::int64_t count = encoding.shape[i];
    const bool whole = count == 1;
    if (i == axis || (whole && spread == Spread::compact) || (!whole && sizes[i] == 1)) {
      form.shape.push_back(count);
      continue;
    }
    if (shape[i] < 0) {
      throw Error(ErrorKind::unsupported,
                  "blocks need the extent of axis " + std::to_string(i) +
                      ", which is not fixed in shape " + to_text(shape) +
                      "; fix the model's input shapes or quantize the tensor as a whole");
    }
    form.shape.push_back(shape[i]);
    repeat[i] = whole ? std::max<std::int64_t>(shape[i], 1) : sizes[i];
  }
  form.block_size = sizes[axis] == -1 ? shape[axis] : sizes[axis];
  return {.form = std::move(form), .repeat = std::move(repeat)};
}

Layout layout_of(const Encoding& encoding, const Shape& shape, Spread spread) {
  const auto* blocks = std::get_if<PerBlock>(&encoding.granularity);
  if (blocks != nullptr && !blocks->axis && element_count(encoding.shape) == 1) {
    return {};
  }
  if (blocks != nullptr || std::holds_alternative<Lpbq>(encoding.granularity)) {
    return block_layout(encoding, shape, spread);
  }
  Layout layout{.form = {.shape = encoding.shape}, .repeat = {}};
  if (const auto* channel = std::get_if<PerChannel>(&encoding.granularity)) {
    layout.form.axis = channel->axis;
  }
  return layout;
}

}  // namespace

LinearForm linear_layout(const Encoding& encoding, const Shape& shape, Spread spread) {
  return layout_of(encoding, shape, spread).form;
}

LinearForm linear_form(const Encoding& encoding, const Shape& shape, Spread spread) {
  Layout layout = layout_of(encoding, shape, spread);
  if (!layout.repeat.empty()) {
    fill_units(encoding.shape, layout.repeat, layout.form);
    return std::move(layout.form);
  }
  const std::size_t units = layout.form.shape.empty() ? 1 : encoding.scale.size();
  layout.form.units.resize(units);
  std::iota(layout.form.units.begin(), layout.form.units.end(), std::size_t{0});
  return std::move(layout.form);
}

}  // namespace halfstep
