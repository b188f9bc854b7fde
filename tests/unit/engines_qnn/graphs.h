#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "halfstep/engines/qnn/graph.h"

/// Small graphs for the tests of the QNN adapter.
namespace halfstep::qnn {

template <typename T>
std::vector<std::byte> bytes_of(const std::vector<T>& values) {
  const auto bytes = std::as_bytes(std::span(values));
  return {bytes.begin(), bytes.end()};
}

template <typename T>
std::vector<T> values_of(const std::vector<std::byte>& bytes) {
  std::vector<T> values(bytes.size() / sizeof(T));
  std::memcpy(values.data(), bytes.data(), values.size() * sizeof(T));
  return values;
}

inline Quantization per_tensor(float scale, std::int32_t offset) {
  return {.kind = Quantization::Kind::per_tensor, .scales = {scale}, .offsets = {offset}};
}

inline Tensor tensor(std::string name, TensorKind kind, DataType type,
                     std::vector<std::uint32_t> dims, Quantization quantization = {}) {
  return {.name = std::move(name),
          .kind = kind,
          .type = type,
          .dims = std::move(dims),
          .quantization = std::move(quantization)};
}

template <typename T>
Tensor constant(std::string name, DataType type, std::vector<std::uint32_t> dims,
                const std::vector<T>& values, Quantization quantization = {}) {
  Tensor made =
      tensor(std::move(name), TensorKind::constant, type, std::move(dims), std::move(quantization));
  made.data = bytes_of(values);
  return made;
}

/// x -> type -> y, both [1, 2, 2, 4] u8 with scale 0.01.
inline Graph unary(const std::string& type, DataType output = DataType::ufixed8) {
  return {
      .name = "one",
      .tensors = {tensor("x", TensorKind::app_write, DataType::ufixed8, {1, 2, 2, 4},
                         per_tensor(0.01F, -128)),
                  tensor("y", TensorKind::app_read, output, {1, 2, 2, 4}, per_tensor(0.01F, -128))},
      .ops = {{.name = "op", .type = type, .inputs = {"x"}, .outputs = {"y"}}}};
}

/// x -> types[0] -> t0 -> types[1] -> t1 ... -> y, all [1, 2, 2, 4] u8.
inline Graph chain(const std::vector<std::string>& types) {
  Graph graph{.name = "chain"};
  const auto add = [&](const std::string& name, TensorKind kind) {
    graph.tensors.push_back(
        tensor(name, kind, DataType::ufixed8, {1, 2, 2, 4}, per_tensor(0.01F, -128)));
  };
  add("x", TensorKind::app_write);
  std::string last = "x";
  for (std::size_t i = 0; i < types.size(); ++i) {
    const bool end = i + 1 == types.size();
    const std::string name = end ? "y" : "t" + std::to_string(i);
    add(name, end ? TensorKind::app_read : TensorKind::native);
    graph.ops.push_back(
        {.name = "op" + std::to_string(i), .type = types[i], .inputs = {last}, .outputs = {name}});
    last = name;
  }
  return graph;
}

}  // namespace halfstep::qnn
