#include "halfstep/adaptation/prepare/axis_atoms.h"

#include <algorithm>

namespace halfstep {
namespace {

constexpr std::int64_t kUnknown = -1;
constexpr std::size_t kImageRank = 4;

AxisAtoms::Axis joined(std::initializer_list<AxisAtoms::Axis> axes) {
  AxisAtoms::Axis all;
  for (const AxisAtoms::Axis& axis : axes) {
    all.insert(all.end(), axis.begin(), axis.end());
  }
  return all;
}

}  // namespace

AxisAtoms::AxisAtoms(const Shape& input) {
  for (const std::int64_t extent : input) {
    input_.push_back(extent == 1 ? Axis() : Axis{make(extent)});
  }
  current_ = input_;
}

AxisAtoms::Atom AxisAtoms::make(std::int64_t extent) {
  extents_.push_back(extent);
  return static_cast<Atom>(extents_.size()) - 1;
}

std::int64_t AxisAtoms::extent(std::span<const Atom> atoms) const {
  std::int64_t product = 1;
  for (const Atom atom : atoms) {
    const std::int64_t extent = extents_[static_cast<std::size_t>(atom)];
    if (extent == kUnknown) {
      return kUnknown;
    }
    product *= extent;
  }
  return product;
}

bool AxisAtoms::split(Atom atom, std::int64_t outer, std::int64_t inner, Atom& first,
                      Atom& second) {
  if (crops_.contains(atom)) {
    return false;
  }
  first = make(outer);
  second = make(inner);
  const auto replace = [&](Axis& axis) {
    const auto found = std::find(axis.begin(), axis.end(), atom);
    if (found != axis.end()) {
      *found = second;
      axis.insert(axis.begin() + (found - axis.begin()), first);
    }
  };
  std::for_each(input_.begin(), input_.end(), replace);
  std::for_each(current_.begin(), current_.end(), replace);
  for (auto& [cropped, crop] : crops_) {
    replace(crop.parts);
  }
  return true;
}

std::optional<AxisAtoms::Axis> AxisAtoms::take_front(Axis& atoms, std::int64_t extent) {
  Axis taken;
  while (extent > 1) {
    if (atoms.empty()) {
      return std::nullopt;
    }
    const Atom atom = atoms.front();
    const std::int64_t size = extents_[static_cast<std::size_t>(atom)];
    if (size != kUnknown && extent % size == 0) {
      taken.push_back(atom);
      atoms.erase(atoms.begin());
      extent /= size;
      continue;
    }
    Atom outer = 0, inner = 0;
    if ((size != kUnknown && size % extent != 0) ||
        !split(atom, extent, size == kUnknown ? kUnknown : size / extent, outer, inner)) {
      return std::nullopt;
    }
    taken.push_back(outer);
    atoms.front() = inner;
    extent = 1;
  }
  return extent == 1 ? std::optional(taken) : std::nullopt;
}

std::optional<AxisAtoms::Axis> AxisAtoms::take_back(Axis& atoms, std::int64_t extent) {
  Axis taken;
  while (extent > 1) {
    if (atoms.empty()) {
      return std::nullopt;
    }
    const Atom atom = atoms.back();
    const std::int64_t size = extents_[static_cast<std::size_t>(atom)];
    if (size != kUnknown && extent % size == 0) {
      taken.insert(taken.begin(), atom);
      atoms.pop_back();
      extent /= size;
      continue;
    }
    Atom outer = 0, inner = 0;
    if ((size != kUnknown && size % extent != 0) ||
        !split(atom, size == kUnknown ? kUnknown : size / extent, extent, outer, inner)) {
      return std::nullopt;
    }
    taken.insert(taken.begin(), inner);
    atoms.back() = outer;
    extent = 1;
  }
  return extent == 1 ? std::optional(taken) : std::nullopt;
}

bool AxisAtoms::fill_axis(std::int64_t extent, std::size_t place, bool from_back, Axis& flat,
                          Axis& axis) {
  if (extent == 0) {  // as before: the very atoms
    if (place >= current_.size()) {
      return false;
    }
    const Axis same = current_[place];
    if (flat.size() < same.size()) {
      return false;
    }
    const auto begin = from_back ? flat.end() - std::ssize(same) : flat.begin();
    if (!std::equal(same.begin(), same.end(), begin)) {
      return false;
    }
    flat.erase(begin, begin + std::ssize(same));
    axis = same;
    return true;
  }
  std::optional<Axis> taken = from_back ? take_back(flat, extent) : take_front(flat, extent);
  if (!taken) {
    return false;
  }
  axis = std::move(*taken);
  return true;
}

bool AxisAtoms::fill(const Shape& target, bool from_back, Axis& flat, std::vector<Axis>& axes) {
  const std::size_t rank = target.size();
  for (std::size_t i = 0; i < rank; ++i) {
    const std::size_t place = from_back ? rank - 1 - i : i;
    if (target[place] == kUnknown) {
      return true;
    }
    if (!fill_axis(target[place], place, from_back, flat, axes[place])) {
      return false;
    }
  }
  return true;
}

bool AxisAtoms::reshape(const Shape& target) {
  const auto rest = std::find(target.begin(), target.end(), kUnknown);
  if (std::count(target.begin(), target.end(), kUnknown) > 1) {
    return false;
  }
  Axis flat;
  for (const Axis& axis : current_) {
    flat.insert(flat.end(), axis.begin(), axis.end());
  }
  std::vector<Axis> axes(target.size());
  if (!fill(target, false, flat, axes) ||
      (rest != target.end() && !fill(target, true, flat, axes))) {
    return false;
  }
  if (rest != target.end()) {
    axes[static_cast<std::size_t>(rest - target.begin())] = flat;
  } else if (!flat.empty()) {
    return false;
  }
  current_ = std::move(axes);
  return true;
}

bool AxisAtoms::transpose(std::span<const std::int64_t> order) {
  if (order.size() != current_.size()) {
    return false;
  }
  std::vector<Axis> axes;
  for (const std::int64_t axis : order) {
    axes.push_back(current_[static_cast<std::size_t>(axis)]);
  }
  current_ = std::move(axes);
  return true;
}

bool AxisAtoms::depth_to_space(std::int64_t block, bool channels_first) {
  if (current_.size() != kImageRank) {
    return false;
  }
  Axis channels = current_[1];
  std::optional<Axis> rows, columns;
  if (channels_first) {
    columns = take_back(channels, block);
    rows = columns ? take_back(channels, block) : std::nullopt;
  } else {
    rows = take_front(channels, block);
    columns = rows ? take_front(channels, block) : std::nullopt;
  }
  if (!rows || !columns) {
    return false;
  }
  current_ = {current_[0], channels, joined({current_[2], *rows}), joined({current_[3], *columns})};
  return true;
}

bool AxisAtoms::space_to_depth(std::int64_t block) {
  if (current_.size() != kImageRank) {
    return false;
  }
  Axis high = current_[2];
  const std::optional<Axis> rows = take_back(high, block);
  Axis wide = current_[3];
  const std::optional<Axis> columns = take_back(wide, block);
  if (!rows || !columns) {
    return false;
  }
  current_ = {current_[0], joined({*rows, *columns, current_[1]}), high, wide};
  return true;
}

bool AxisAtoms::crop(std::size_t axis, Margins margins) {
  if (margins == Margins{}) {
    return true;
  }
  Axis& atoms = current_[axis];
  if (std::any_of(atoms.begin(), atoms.end(), [this](Atom a) { return crops_.contains(a); })) {
    return false;
  }
  const std::int64_t before = extent(atoms);
  const std::int64_t after = before == kUnknown ? kUnknown : before - margins.begin - margins.end;
  if (margins.begin < 0 || margins.end < 0 || (after != kUnknown && after < 1)) {
    return false;
  }
  const Atom cropped = make(after);
  crops_[cropped] = {.parts = atoms, .margins = margins};
  atoms = {cropped};
  return true;
}

bool AxisAtoms::pad(std::size_t axis, Margins margins) {
  if (margins == Margins{}) {
    return true;
  }
  const Axis before = current_[axis];
  const auto place = std::find(input_.begin(), input_.end(), before);
  const auto input_axis = static_cast<std::size_t>(place - input_.begin());
  if (margins.begin < 0 || margins.end < 0 || before.empty() || place == input_.end() ||
      padding_.contains(input_axis)) {
    return false;
  }
  const std::int64_t extent_before = extent(before);
  const Atom padded =
      make(extent_before == kUnknown ? kUnknown : extent_before + margins.begin + margins.end);
  *place = {padded};
  current_[axis] = {padded};
  padding_[input_axis] = margins;
  return true;
}

std::vector<AxisAtoms::Axis> AxisAtoms::now() const {
  std::vector<Axis> axes = current_;
  for (Axis& axis : axes) {
    if (axis.size() == 1 && crops_.contains(axis[0])) {
      axis = crops_.at(axis[0]).parts;
    }
  }
  return axes;
}

Margins AxisAtoms::padding(std::size_t input_axis) const {
  const auto found = padding_.find(input_axis);
  return found == padding_.end() ? Margins{} : found->second;
}

Margins AxisAtoms::cropping(std::size_t axis) const {
  const Axis& atoms = current_[axis];
  return atoms.size() == 1 && crops_.contains(atoms[0]) ? crops_.at(atoms[0]).margins : Margins{};
}

}  // namespace halfstep
