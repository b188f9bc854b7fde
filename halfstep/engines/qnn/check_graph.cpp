#include "halfstep/engines/qnn/check_graph.h"

#include <cstddef>
#include <cstdint>
#include <string>
#include <unordered_set>
#include <variant>

#include "halfstep/support/error.h"

namespace halfstep::qnn {
namespace {

constexpr std::uint64_t kLargest = std::uint64_t{1} << 32U;  // the C API counts bytes in 32 bits

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

std::size_t storage_size(DataType type) noexcept {
  switch (type) {
    case DataType::int8:
    case DataType::uint8:
    case DataType::sfixed8:
    case DataType::ufixed8:
    case DataType::bool8:
      return 1;
    case DataType::int16:
    case DataType::uint16:
    case DataType::float16:
    case DataType::bfloat16:
    case DataType::sfixed16:
    case DataType::ufixed16:
      return 2;
    case DataType::int64:
      return 8;
    case DataType::int32:
    case DataType::uint32:
    case DataType::float32:
    case DataType::sfixed32:
    case DataType::ufixed32:
      return 4;
  }
  return 0;
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
