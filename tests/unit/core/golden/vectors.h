#pragma once

// Reads the golden vectors of tests/golden/core: cases, tensors as bit patterns, comparison.
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "halfstep/core/float_view.h"
#include "halfstep/support/json.h"

namespace halfstep::golden {

/// What a check found wrong with a case; empty if it matches.
using Problems = std::vector<std::string>;

inline Json read_json(const std::filesystem::path& path) {
  std::ifstream file(path);
  const std::string text((std::istreambuf_iterator<char>(file)), {});
  return parse_json(text, path.string());
}

/// A tensor of a vector, in the type of the data.
struct GoldenTensor {
  Shape shape{};
  std::variant<std::vector<float>, std::vector<Float16>, std::vector<BFloat16>, std::vector<double>>
      values{};

  [[nodiscard]] FloatView view() const {
    return std::visit(
        [this]<typename T>(const std::vector<T>& data) -> FloatView {
          return TensorView<const T>(data.data(), shape);
        },
        values);
  }
  [[nodiscard]] FloatSpan span() {
    return std::visit(
        [this]<typename T>(std::vector<T>& data) -> FloatSpan {
          return TensorView<T>(data.data(), shape);
        },
        values);
  }
  [[nodiscard]] std::size_t size() const {
    return std::visit([](const auto& data) { return data.size(); }, values);
  }
  /// The values as float32.
  [[nodiscard]] std::vector<float> floats() const {
    std::vector<float> result;
    std::visit(
        [&](const auto& data) {
          for (const auto value : data) {
            result.push_back(to_float(value));
          }
        },
        values);
    return result;
  }
};

template <typename T, typename Bits>
std::vector<T> from_hex(const std::string& hex) {
  constexpr std::size_t kDigits = 2 * sizeof(Bits);
  std::vector<T> values;
  for (std::size_t i = 0; i < hex.size(); i += kDigits) {
    const auto bits = static_cast<Bits>(std::stoull(hex.substr(i, kDigits), nullptr, 16));
    values.push_back(std::bit_cast<T>(bits));
  }
  return values;
}

inline GoldenTensor read_tensor(const Json& json) {
  GoldenTensor tensor{.shape = json["shape"].get<Shape>()};
  const std::string type = json["dtype"].get<std::string>();
  const std::string hex = json["hex"].get<std::string>();
  if (type == "f32") {
    tensor.values = from_hex<float, std::uint32_t>(hex);
  } else if (type == "f16") {
    tensor.values = from_hex<Float16, std::uint16_t>(hex);
  } else if (type == "bf16") {
    tensor.values = from_hex<BFloat16, std::uint16_t>(hex);
  } else {
    tensor.values = from_hex<double, std::uint64_t>(hex);
  }
  return tensor;
}

template <typename T>
bool same_value(T a, T b, bool zero_sign) {
  const double x = static_cast<double>(to_float(a));
  const double y = static_cast<double>(to_float(b));
  if (std::isnan(x) && std::isnan(y)) {
    return true;
  }
  if (!zero_sign && x == 0 && y == 0) {
    return true;
  }
  return std::memcmp(&a, &b, sizeof a) == 0;
}

/// Bit for bit, NaN as NaN; `zero_sign` false: +0 and -0 are equal.
inline bool same(const GoldenTensor& found, const Json& expected, bool zero_sign = true) {
  const GoldenTensor wanted = read_tensor(expected);
  return std::visit(
      [&]<typename T>(const std::vector<T>& values) {
        const auto* other = std::get_if<std::vector<T>>(&wanted.values);
        if (other == nullptr || wanted.shape != found.shape || other->size() != values.size()) {
          return false;
        }
        for (std::size_t i = 0; i < values.size(); ++i) {
          if (!same_value(values[i], (*other)[i], zero_sign)) {
            return false;
          }
        }
        return true;
      },
      found.values);
}

/// Floats against a tensor of any type, whose values must be equal as float32; shapes are not
/// compared.
inline bool same_floats(const std::vector<float>& found, const Json& expected,
                        bool zero_sign = true) {
  const std::vector<float> wanted = read_tensor(expected).floats();
  if (wanted.size() != found.size()) {
    return false;
  }
  for (std::size_t i = 0; i < found.size(); ++i) {
    if (!same_value(found[i], wanted[i], zero_sign)) {
      return false;
    }
  }
  return true;
}

/// Whole numbers; null in the vector is undefined and skipped.
template <typename T>
bool same_integers(const std::vector<T>& found, const Json& expected) {
  const Json& wanted = expected["v"];
  if (wanted.size() != found.size()) {
    return false;
  }
  for (std::size_t i = 0; i < found.size(); ++i) {
    if (!wanted[i].is_null() &&
        wanted[i].get<std::int64_t>() != static_cast<std::int64_t>(found[i])) {
      return false;
    }
  }
  return true;
}

/// Bytes as two hex digits each; "--" is skipped.
inline bool same_codes(const std::vector<std::uint8_t>& found, const Json& expected) {
  const std::string hex =
      expected.is_string() ? expected.get<std::string>() : expected["codes"].get<std::string>();
  if (hex.size() != 2 * found.size()) {
    return false;
  }
  for (std::size_t i = 0; i < found.size(); ++i) {
    const std::string digits = hex.substr(2 * i, 2);
    if (digits != "--" && std::stoul(digits, nullptr, 16) != found[i]) {
      return false;
    }
  }
  return true;
}

// One check for each kind of case.
Problems check_block(const Json& test);
Problems check_bulk(const Json& test);
Problems check_cast(const Json& test);
Problems check_dtype(const Json& test);
Problems check_fakequant(const Json& test);
Problems check_histogram(const Json& test);
Problems check_observer(const Json& test);
Problems check_spec(const Json& test);
Problems check_torch_op(const Json& test);

}  // namespace halfstep::golden
