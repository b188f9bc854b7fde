#include "halfstep/encodings/diff.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <map>
#include <variant>

#include "halfstep/support/json.h"

namespace halfstep {
namespace {

std::string text_of(double value) { return Json(value).dump(); }

/// The shortest digits that give the same float32.
std::string text_of(float value) {
  std::array<char, 32> digits{};
  const auto [end, error] = std::to_chars(digits.begin(), digits.end(), value);
  return {digits.begin(), end};
}

std::string against(std::string_view what, const std::string& first, const std::string& second) {
  return std::string(what) + " " + first + " against " + second;
}

/// Blocks given as one size per axis, as axis and size where one axis is enough.
Granularity normal(const Encoding& encoding) {
  const auto* blocks = std::get_if<PerBlock>(&encoding.granularity);
  if (blocks == nullptr || blocks->axis) {
    return encoding.granularity;
  }
  PerBlock result{};
  for (std::size_t i = 0; i < blocks->block_size.size(); ++i) {
    if (blocks->block_size[i] > 1) {
      if (result.axis) {
        return encoding.granularity;
      }
      result = {.axis = static_cast<std::int64_t>(i), .block_size = {blocks->block_size[i]}};
    }
  }
  return result.axis ? Granularity(result) : encoding.granularity;
}

/// Files before 2.0.0 do not store the channel axis; read without their model it stays unknown.
bool same_granularity(const Granularity& first, const Granularity& second) {
  const auto* a = std::get_if<PerChannel>(&first);
  const auto* b = std::get_if<PerChannel>(&second);
  return first == second || (a != nullptr && b != nullptr && (!a->axis || !b->axis));
}

std::string text_of(const Granularity& granularity) { return to_json(granularity).dump(); }

/// Type without its sign; the sign only moves codes and zero point together.
std::string width_text(const Encoding& encoding) {
  return is_integer(encoding.dtype) ? std::to_string(bits(encoding.dtype)) + "-bit integers"
                                    : std::string(name(encoding.dtype));
}

double unsigned_zero_point(const Encoding& encoding, std::size_t i) {
  const std::int64_t zero_point = encoding.zero_point.empty() ? 0 : encoding.zero_point[i];
  const double shift =
      is_signed_integer(encoding.dtype) ? std::ldexp(1.0, bits(encoding.dtype) - 1) : 0.0;
  return static_cast<double>(zero_point) + shift - (encoding.half_step ? 0.5 : 0.0);
}

bool close(double first, double second, double tolerance) {
  return std::abs(first - second) <= tolerance * std::max(std::abs(first), std::abs(second));
}

std::string at(std::size_t i, std::size_t count) {
  return count == 1 ? "" : "[" + std::to_string(i) + "]";
}

std::string values_difference(const Encoding& first, const Encoding& second, double tolerance) {
  const std::size_t count = first.scale.size();
  for (std::size_t i = 0; i < count; ++i) {
    if (!close(first.scale[i], second.scale[i], tolerance)) {
      return against("scale" + at(i, count), text_of(first.scale[i]), text_of(second.scale[i]));
    }
    const double a = unsigned_zero_point(first, i);
    const double b = unsigned_zero_point(second, i);
    if (a != b) {
      return against("zero point (counted from the lowest code)" + at(i, count), text_of(a),
                     text_of(b));
    }
  }
  if (first.block_scale != second.block_scale) {
    return "block scales differ";
  }
  if (first.minval != second.minval) {
    return "minimum values differ";
  }
  return {};
}

using ByName = std::map<std::string, const Encoding*>;

ByName by_name(const EncodingTable& table, bool skip_floats) {
  ByName result;
  const auto add = [&](const std::string& name, const Encoding& encoding) {
    if (!skip_floats || !encoding.is_float()) {
      result.emplace(name, &encoding);
    }
  };
  for (const auto& [tensor, encoding] : table) {
    add(tensor, encoding);
  }
  for (const auto& [use, encoding] : table.uses()) {
    add(use.node + ":" + std::to_string(use.slot), encoding);
  }
  return result;
}

}  // namespace

std::string difference_of(const Encoding& first, const Encoding& second, double tolerance) {
  if (width_text(first) != width_text(second)) {
    return against("type", std::string(name(first.dtype)), std::string(name(second.dtype)));
  }
  if (first.is_float() || second.is_float()) {
    return first.is_float() == second.is_float() ? "" : "only one of them has a scale";
  }
  const Granularity a = normal(first);
  const Granularity b = normal(second);
  if (!same_granularity(a, b)) {
    return against("granularity", text_of(a), text_of(b));
  }
  if (first.shape != second.shape || first.scale.size() != second.scale.size()) {
    return against("shape of the parameters", to_text(first.shape), to_text(second.shape));
  }
  return values_difference(first, second, tolerance);
}

std::vector<EncodingDifference> diff_encodings(const EncodingTable& first,
                                               const EncodingTable& second, double tolerance,
                                               bool floats_are_absent) {
  std::vector<EncodingDifference> result;
  const ByName left = by_name(first, floats_are_absent);
  const ByName right = by_name(second, floats_are_absent);
  for (const auto& [name, encoding] : left) {
    const auto other = right.find(name);
    if (other == right.end()) {
      result.push_back({.name = name, .kind = EncodingDifference::Kind::only_in_first});
    } else if (std::string text = difference_of(*encoding, *other->second, tolerance);
               !text.empty()) {
      result.push_back({.name = name, .text = std::move(text)});
    }
  }
  for (const auto& [name, encoding] : right) {
    if (!left.contains(name)) {
      result.push_back({.name = name, .kind = EncodingDifference::Kind::only_in_second});
    }
  }
  std::stable_sort(result.begin(), result.end(),
                   [](const auto& a, const auto& b) { return a.name < b.name; });
  return result;
}

}  // namespace halfstep
