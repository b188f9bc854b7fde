#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <vector>

#include "halfstep/support/tensor_view.h"

namespace halfstep {

/// Elements cut off, or added as zeros, at both ends of an axis.
struct Margins {
  std::int64_t begin = 0, end = 0;
  bool operator==(const Margins&) const = default;
};

/// Where data movement brings the axes of a tensor. Each axis is a product of atoms, outermost
/// first; a Reshape splits atoms and groups them anew, a Transpose orders axes. What the whole way
/// does is seen by comparing the atoms of the axes before and after:
///   [N, C, H, W] -> [N, 2, C/2, H, W] -> swapped -> [N, C, H, W]:  C is (a b) before, (b a) after
/// Extents of 1 have no atoms. Every step returns false if it can't be followed; then the object is
/// of no use any more.
class AxisAtoms {
 public:
  using Atom = int;
  using Axis = std::vector<Atom>;

  /// `input`: extents, -1 for unknown ones.
  explicit AxisAtoms(const Shape& input);

  /// `target`: extents, at most one of them -1: what is left. 0 is the extent at that place before.
  bool reshape(const Shape& target);
  bool transpose(std::span<const std::int64_t> order);
  /// Of rank 4, channels in axis 1, as the ONNX operators. `channels_first`: mode CRD.
  bool depth_to_space(std::int64_t block, bool channels_first);
  bool space_to_depth(std::int64_t block);
  /// Cuts off elements. The axis can only be moved as a whole from then on.
  bool crop(std::size_t axis, Margins margins);
  /// Adds zeros to an axis that is still as it was in the input.
  bool pad(std::size_t axis, Margins margins);

  [[nodiscard]] std::size_t rank() const noexcept { return current_.size(); }
  /// Atoms of an axis of the input, after padding; of the tensor now, before cropping.
  [[nodiscard]] const std::vector<Axis>& input() const noexcept { return input_; }
  [[nodiscard]] std::vector<Axis> now() const;
  [[nodiscard]] Margins padding(std::size_t input_axis) const;
  [[nodiscard]] Margins cropping(std::size_t axis) const;
  /// Product of the extents, -1 if one is unknown.
  [[nodiscard]] std::int64_t extent(std::span<const Atom> atoms) const;

 private:
  struct Crop {
    Axis parts{};
    Margins margins{};
  };

  Atom make(std::int64_t extent);
  /// Takes atoms whose product is `extent` from the front (the back), splitting one if need be.
  std::optional<Axis> take_front(Axis& atoms, std::int64_t extent);
  std::optional<Axis> take_back(Axis& atoms, std::int64_t extent);
  /// Replaces `atom` by two wherever it stands but in `local`.
  bool split(Atom atom, std::int64_t outer, std::int64_t inner, Atom& first, Atom& second);
  /// The places of `target` from one end up to its -1.
  bool fill(const Shape& target, bool from_back, Axis& flat, std::vector<Axis>& axes);
  bool fill_axis(std::int64_t extent, std::size_t place, bool from_back, Axis& flat, Axis& axis);

  std::vector<std::int64_t> extents_{};
  std::vector<Axis> input_{}, current_{};
  std::map<Atom, Crop> crops_{};
  std::map<std::size_t, Margins> padding_{};
};

}  // namespace halfstep
