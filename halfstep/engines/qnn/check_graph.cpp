#include "halfstep/engines/qnn/check_graph.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_set>
#include <variant>

#include "halfstep/support/error.h"

namespace halfstep::qnn {
namespace {

constexpr std::uint64_t kLargest = std::uint64_t{1} << 32U;  // the C API counts bytes in 32 bits

struct TypeRow {
  DataType type;
  std::size_t size;
  std::string_view name;
};
constexpr std::array kTypes = {
    TypeRow{.type = DataType::int8, .size = 1, .name = "int8"},
    TypeRow{.type = DataType::int16, .size = 2, .name = "int16"},
    TypeRow{.type = DataType::int32, .size = 4, .name = "int32"},
    TypeRow{.type = DataType::int64, .size = 8, .name = "int64"},
    TypeRow{.type = DataType::uint8, .size = 1, .name = "uint8"},
    TypeRow{.type = DataType::uint16, .size = 2, .name = "uint16"},
    TypeRow{.type = DataType::uint32, .size = 4, .name = "uint32"},
    TypeRow{.type = DataType::float16, .size = 2, .name = "float16"},
    TypeRow{.type = DataType::bfloat16, .size = 2, .name = "bfloat16"},
    TypeRow{.type = DataType::float32, .size = 4, .name = "float32"},
    TypeRow{.type = DataType::sfixed8, .size = 1, .name = "sfixed8"},
    TypeRow{.type = DataType::sfixed16, .size = 2, .name = "sfixed16"},
    TypeRow{.type = DataType::sfixed32, .size = 4, .name = "sfixed32"},
    TypeRow{.type = DataType::ufixed8, .size = 1, .name = "ufixed8"},
    TypeRow{.type = DataType::ufixed16, .size = 2, .name = "ufixed16"},
    TypeRow{.type = DataType::ufixed32, .size = 4, .name = "ufixed32"},
    TypeRow{.type = DataType::bool8, .size = 1, .name = "bool8"},
};

struct KindRow {
  TensorKind kind;
  std::string_view name;
};
constexpr std::array kKinds = {
    KindRow{.kind = TensorKind::app_write, .name = "app_write"},
    KindRow{.kind = TensorKind::app_read, .name = "app_read"},
    KindRow{.kind = TensorKind::native, .name = "native"},
    KindRow{.kind = TensorKind::constant, .name = "constant"},
    KindRow{.kind = TensorKind::null, .name = "null"},
};

const TypeRow& row_of(DataType type) noexcept {
  static constexpr TypeRow kUnknown{.type = DataType::float32, .size = 0, .name = "unknown"};
  const auto* row = std::ranges::find(kTypes, type, &TypeRow::type);
  return row == kTypes.end() ? kUnknown : *row;
}

[[noreturn]] void fail(const std::string& what) { throw Error(ErrorKind::invalid_argument, what); }

void expect_count(const char* what, std::size_t found, std::size_t expected) {
  if (found != expected) {
    fail(std::string(what) + ": found " + std::to_string(found) + ", expected " +
         std::to_string(expected));
  }
}

std::size_t extent_along(const Tensor& tensor, std::int32_t axis) {
  if (axis < 0 || static_cast<std::size_t>(axis) >= tensor.dims.size()) {
    fail("axis " + std::to_string(axis) + " of a tensor of rank " +
         std::to_string(tensor.dims.size()));
  }
  return tensor.dims[static_cast<std::size_t>(axis)];
}

void check_quantization(const Tensor& tensor) {
  using Kind = Quantization::Kind;
  const Quantization& q = tensor.quantization;
  std::size_t scales = 0;
  switch (q.kind) {
    case Kind::none:
      return;
    case Kind::per_tensor:
    case Kind::per_tensor_bits:
      scales = 1;
      break;
    case Kind::per_axis:
    case Kind::per_axis_bits:
      scales = extent_along(tensor, q.axis);
      break;
    case Kind::block: {
      expect_count("extents of a block", q.block.size(), tensor.dims.size());
      scales = 1;
      for (std::size_t i = 0; i < q.block.size(); ++i) {
        if (q.block[i] == 0 || tensor.dims[i] % q.block[i] != 0) {
          fail("blocks of " + std::to_string(q.block[i]) + " do not divide " +
               std::to_string(tensor.dims[i]));
        }
        scales *= tensor.dims[i] / q.block[i];
      }
      break;
    }
    case Kind::block_expansion:
      scales = extent_along(tensor, q.axis);
      expect_count("block scales", q.block_scales.size(), scales * q.blocks_per_axis);
      break;
  }
  expect_count("scales", q.scales.size(), scales);
  if (!q.offsets.empty()) {  // none: all 0
    expect_count("offsets", q.offsets.size(), scales);
  }
}

void check_tensor(const Tensor& tensor) {
  std::uint64_t size = storage_size(tensor.type);
  for (const std::uint32_t extent : tensor.dims) {
    size *= extent;
    if (size >= kLargest) {
      fail("more than 4 GiB, which QNN can't hold");
    }
  }
  if (tensor.kind == TensorKind::constant) {
    expect_count("bytes of data", tensor.data.size(), byte_size(tensor));
  }
  check_quantization(tensor);
}

void check_op(const Op& op, const std::unordered_set<std::string>& names) {
  for (const auto* list : {&op.inputs, &op.outputs}) {
    for (const std::string& name : *list) {
      if (!names.contains(name)) {
        fail("unknown tensor \"" + name + "\"");
      }
    }
  }
  for (const Param& param : op.params) {
    if (const auto* tensor = std::get_if<Tensor>(&param.value)) {
      try {
        check_tensor(*tensor);
      } catch (const Error& error) {
        throw error.within("param \"" + param.name + "\"");
      }
    }
  }
}

}  // namespace

std::size_t storage_size(DataType type) noexcept { return row_of(type).size; }

std::optional<DataType> data_type_of(std::uint64_t number) noexcept {
  for (const TypeRow& row : kTypes) {
    if (static_cast<std::uint64_t>(row.type) == number) {
      return row.type;
    }
  }
  return std::nullopt;
}

std::optional<TensorKind> tensor_kind_of(std::uint64_t number) noexcept {
  for (const KindRow& row : kKinds) {
    if (static_cast<std::uint64_t>(row.kind) == number) {
      return row.kind;
    }
  }
  return std::nullopt;
}

std::string_view name_of(DataType type) noexcept { return row_of(type).name; }

std::string_view name_of(TensorKind kind) noexcept {
  for (const KindRow& row : kKinds) {
    if (row.kind == kind) {
      return row.name;
    }
  }
  return "unknown";
}

std::size_t byte_size(const Tensor& tensor) noexcept {
  std::size_t size = storage_size(tensor.type);
  for (const std::uint32_t extent : tensor.dims) {
    size *= extent;
  }
  return size;
}

void check_graph(const Graph& graph) {
  const std::string place = "QNN graph \"" + graph.name + "\"";
  std::unordered_set<std::string> names;
  for (const Tensor& tensor : graph.tensors) {
    try {
      if (!names.insert(tensor.name).second) {
        fail("is there twice");
      }
      check_tensor(tensor);
    } catch (const Error& error) {
      throw error.within("tensor \"" + tensor.name + "\"").within(place);
    }
  }
  for (const Op& op : graph.ops) {
    try {
      check_op(op, names);
    } catch (const Error& error) {
      throw error.within(op.type + " \"" + op.name + "\"").within(place);
    }
  }
}

}  // namespace halfstep::qnn
