#include "halfstep/engines/qnn/dlc/tensors.h"

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "halfstep/engines/qnn/check_graph.h"
#include "halfstep/engines/qnn/dlc/flat_table.h"
#include "halfstep/engines/qnn/graph.h"
#include "halfstep/support/error.h"

namespace halfstep::qnn::dlc {
namespace {

// Numbers of fields, found by writing tensors and reading the file.
namespace tensor_field {
constexpr std::size_t kName = 1, kKind = 2, kDims = 3, kEncoding = 5, kType = 6;
}
namespace encoding_field {
constexpr std::size_t kKind = 0, kTensor = 2, kAxis = 3, kBlock = 4, kExpansion = 5;
}
namespace scale_field {
constexpr std::size_t kBits = 0, kScale = 3, kOffset = 4;
}
namespace axis_field {
constexpr std::size_t kAxis = 0, kScales = 1, kBlocks = 2, kBlockBits = 4, kBlockScales = 5;
}
constexpr std::size_t kBlockPlace = 6;

constexpr std::uint32_t kUndefined = 0x7fffffff;

[[noreturn]] void fail(const std::string& what) { throw Error(ErrorKind::invalid_file, what); }

void add_scale(const FlatTable& table, Quantization& q) {
  q.scales.push_back(table.float32(scale_field::kScale));
  q.offsets.push_back(table.int32(scale_field::kOffset));
  q.bits = static_cast<std::uint32_t>(table.number(scale_field::kBits, 4));
}

FlatTable needed(const std::optional<FlatTable>& table, const char* what) {
  if (!table) {
    fail(std::string("its encoding lacks the ") + what);
  }
  return *table;
}

void add_axis(const FlatTable& table, Quantization& q) {
  q.axis = table.int32(axis_field::kAxis);
  for (const FlatTable& scale : table.tables(axis_field::kScales)) {
    add_scale(scale, q);
  }
}

/// Bytes of the tensor, or nothing if the shape is beyond all sense.
std::optional<std::uint64_t> size_of(const Tensor& tensor) {
  constexpr std::uint64_t kLargest = std::uint64_t{1} << 40U;
  std::uint64_t size = storage_size(tensor.type);
  for (const std::uint32_t extent : tensor.dims) {
    size *= extent;
    if (size > kLargest) {
      return std::nullopt;
    }
  }
  return size;
}

}  // namespace

void TensorReader::read_block(const FlatTable& table, Quantization& q) const {
  // The blob: a FlatBuffers file "SO64" whose 64-bit vector of (scale, offset) begins at byte 32.
  constexpr std::size_t kCount = 32, kFirst = 40, kPair = 8;
  const FlatTable place = needed(table.table(kBlockPlace), "place of its scales");
  const std::uint64_t offset = place.number(0, 8);
  const std::uint64_t size = place.number(1, 8);
  if (offset > encodings_.size() || size > encodings_.size() - offset || size < kFirst) {
    fail("its block scales lie outside model.encodings.bin");
  }
  const std::span<const std::byte> blob = encodings_.subspan(offset, size);
  std::uint64_t count = 0;
  std::memcpy(&count, blob.data() + kCount, sizeof(count));
  if (std::memcmp(blob.data() + 4, "SO64", 4) != 0 || count > (size - kFirst) / kPair) {
    fail("its block scales in model.encodings.bin are damaged");
  }
  if (size > budget_) {
    fail("block scales overlap without end");
  }
  budget_ -= size;
  for (std::uint64_t i = 0; i < count; ++i) {
    float scale = 0.0F;
    std::int32_t zero = 0;
    std::memcpy(&scale, blob.data() + kFirst + kPair * i, sizeof(scale));
    std::memcpy(&zero, blob.data() + kFirst + kPair * i + sizeof(scale), sizeof(zero));
    q.scales.push_back(scale);
    q.offsets.push_back(zero);
  }
}

Quantization TensorReader::quantization(const FlatTable& table) const {
  using Kind = Quantization::Kind;
  Quantization q;
  const std::uint64_t kind = table.number(encoding_field::kKind, 4);
  if (kind == kUndefined) {
    return q;
  }
  switch (kind) {
    case 0:
    case 2:
      q.kind = kind == 0 ? Kind::per_tensor : Kind::per_tensor_bits;
      add_scale(needed(table.table(encoding_field::kTensor), "scale"), q);
      break;
    case 1:
    case 3:
      q.kind = kind == 1 ? Kind::per_axis : Kind::per_axis_bits;
      add_axis(needed(table.table(encoding_field::kAxis), "scales along an axis"), q);
      break;
    case 4:
      q.kind = Kind::block;
      read_block(needed(table.table(encoding_field::kBlock), "scales of blocks"), q);
      break;
    case 5: {
      const FlatTable expansion =
          needed(table.table(encoding_field::kExpansion), "scales of channels and blocks");
      q.kind = Kind::block_expansion;
      add_axis(expansion, q);
      q.blocks_per_axis = static_cast<std::uint32_t>(expansion.number(axis_field::kBlocks, 4));
      q.block_scale_bits = static_cast<std::uint32_t>(expansion.number(axis_field::kBlockBits, 1));
      q.block_scales = expansion.bytes(axis_field::kBlockScales);
      break;
    }
    default:
      fail("its encoding is of the unknown kind " + std::to_string(kind));
  }
  return q;
}

void TensorReader::fill(Tensor& tensor, const DataPlace& place) const {
  if (place.offset > data_.size() || place.size > data_.size() - place.offset) {
    fail("its data lies outside model.params.bin: " + std::to_string(place.size) +
         " bytes at byte " + std::to_string(place.offset) + " of " + std::to_string(data_.size()));
  }
  const std::optional<std::uint64_t> expected = size_of(tensor);
  if (expected != place.size) {
    fail("found " + std::to_string(place.size) + " bytes of data, expected " +
         (expected ? std::to_string(*expected) : "a smaller shape"));
  }
  if (place.size > budget_) {
    fail("data of constants overlap without end");
  }
  budget_ -= place.size;
  const std::span<const std::byte> bytes = data_.subspan(place.offset, place.size);
  tensor.data.assign(bytes.begin(), bytes.end());
}

Tensor TensorReader::read(const FlatTable& table,
                          const std::map<std::string, DataPlace>& places) const {
  Tensor tensor{.name = table.text(tensor_field::kName)};
  try {
    const std::uint64_t kind = table.number(tensor_field::kKind, 4);
    const std::uint64_t type = table.number(tensor_field::kType, 4);
    const std::optional<TensorKind> known_kind = tensor_kind_of(kind);
    const std::optional<DataType> known_type = data_type_of(type);
    if (!known_kind || !known_type) {
      fail(known_kind ? "unknown data type " + std::to_string(type)
                      : "unknown kind of a tensor: " + std::to_string(kind));
    }
    tensor.kind = *known_kind;
    tensor.type = *known_type;
    tensor.dims = table.numbers(tensor_field::kDims);
    if (const std::optional<FlatTable> encoding = table.table(tensor_field::kEncoding)) {
      tensor.quantization = quantization(*encoding);
    }
    if (const auto place = places.find(tensor.name); place != places.end()) {
      fill(tensor, place->second);
    }
  } catch (const Error& error) {
    throw error.within("tensor \"" + tensor.name + "\"");
  }
  return tensor;
}

}  // namespace halfstep::qnn::dlc
