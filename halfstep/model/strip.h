#pragma once

#include <cstddef>
#include <functional>
#include <span>
#include <string>
#include <vector>

namespace halfstep {

/// A serialized model without its large tensors.
struct StrippedModel {
  std::string proto{};                              ///< ModelProto with tokens, ready to parse
  std::vector<std::span<const std::byte>> blobs{};  ///< parts of the input, by token index
};

/// Walks the wire format of a ModelProto and copies everything except the data of tensors of more
/// than kInlineBytes. Only raw_data, and float_data and double_data in one packed piece, are left
/// out; the other fields are not stored as the plain bytes of their values. Sparse tensors are
/// copied whole, because the checker reads their indices. Errors: invalid_file with the place
/// (graph: node[3]: attribute[0]: t), the byte and what is wrong.
[[nodiscard]] StrippedModel strip_weights(
    std::span<const std::byte> model,
    const std::function<void(std::span<const std::byte>)>& passed = [](auto) {});

}  // namespace halfstep
