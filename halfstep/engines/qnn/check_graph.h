#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include "halfstep/engines/qnn/graph.h"

namespace halfstep::qnn {

/// Bytes of one value as QNN stores it.
[[nodiscard]] std::size_t storage_size(DataType type) noexcept;

/// The types by number, if known.
[[nodiscard]] std::optional<DataType> data_type_of(std::uint64_t number) noexcept;
[[nodiscard]] std::optional<TensorKind> tensor_kind_of(std::uint64_t number) noexcept;

/// "ufixed8", "float16"; "app_write", "constant".
[[nodiscard]] std::string_view name_of(DataType type) noexcept;
[[nodiscard]] std::string_view name_of(TensorKind kind) noexcept;

/// dims product times storage_size; a tensor without dims has one value.
[[nodiscard]] std::size_t byte_size(const Tensor& tensor) noexcept;

/// What the libraries take for granted and crash on otherwise: names are unique and known,
/// constants have their data, quantizations have as many scales, offsets and block scales as their
/// kind, axis and shape ask for. Errors: invalid_argument naming graph, operator or tensor, what
/// was found, what was expected.
void check_graph(const Graph& graph);

}  // namespace halfstep::qnn
