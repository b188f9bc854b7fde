#pragma once

// The string values of the enumerations of a spec, shared by its readers and writers.
#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "halfstep/core/spec.h"

namespace halfstep::internal {

template <typename Enum, std::size_t kCount>
using NameTable = std::array<std::pair<Enum, std::string_view>, kCount>;

inline constexpr NameTable<Scheme, 4> kSchemes = {{
    {Scheme::symmetric, "symmetric"},
    {Scheme::symmetric_with_clipping, "symmetric_with_clipping"},
    {Scheme::asymmetric, "asymmetric"},
    {Scheme::symmetric_aimet, "symmetric_aimet"},
}};
inline constexpr NameTable<Formulation, 2> kFormulations = {{
    {Formulation::zp, "zp"},
    {Formulation::minval, "minval"},
}};
inline constexpr NameTable<Role, 3> kRoles = {{
    {Role::weight, "weight"},
    {Role::activation, "activation"},
    {Role::lut, "lut"},
}};
inline constexpr NameTable<Policy, 2> kPolicies = {{
    {Policy::reference, "reference"},
    {Policy::safe, "safe"},
}};
inline constexpr NameTable<E8m0Mode, 4> kE8m0Modes = {{
    {E8m0Mode::floor, "floor"},
    {E8m0Mode::ceil, "ceil"},
    {E8m0Mode::fit, "fit"},
    {E8m0Mode::even, "even"},
}};
inline constexpr NameTable<UnevenBlocks, 3> kUnevenBlocks = {{
    {UnevenBlocks::error, "error"},
    {UnevenBlocks::skip, "skip"},
    {UnevenBlocks::pad, "pad"},
}};
inline constexpr NameTable<Backend, 4> kBackends = {{
    {Backend::coreml, "coreml"},
    {Backend::coreai, "coreai"},
    {Backend::onnx, "onnx"},
    {Backend::qnn, "qnn"},
}};

template <typename Enum, std::size_t kCount>
constexpr std::string_view name_in(const NameTable<Enum, kCount>& table, Enum value) noexcept {
  for (const auto& [key, text] : table) {
    if (key == value) {
      return text;
    }
  }
  return "";
}

template <typename Enum, std::size_t kCount>
constexpr std::optional<Enum> find_in(const NameTable<Enum, kCount>& table,
                                      std::string_view name) noexcept {
  for (const auto& [key, text] : table) {
    if (text == name) {
      return key;
    }
  }
  return std::nullopt;
}

/// `"a", "b" or "c"`
template <typename Enum, std::size_t kCount>
std::string choices(const NameTable<Enum, kCount>& table) {
  std::string text;
  for (std::size_t i = 0; i < kCount; ++i) {
    if (i > 0) {
      text += i + 1 == kCount ? " or " : ", ";
    }
    text += '"' + std::string(table[i].second) + '"';
  }
  return text;
}

}  // namespace halfstep::internal
