#include "halfstep/engines/qnn/wire.h"

#include <bit>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "halfstep/engines/qnn/check_graph.h"
#include "halfstep/engines/qnn/graph.h"
#include "halfstep/engines/qnn/values.h"
#include "halfstep/support/error.h"

namespace halfstep::qnn {
namespace {

[[noreturn]] void fail_unknown() {
  throw Error(ErrorKind::internal, "QNN worker: unknown number of a type or kind");
}

template <typename T>
T known(const std::optional<T>& value) {
  if (!value) {
    fail_unknown();
  }
  return *value;
}

template <typename T>
std::vector<T> read_list(WireReader& in, std::size_t size, T (WireReader::*element)()) {
  std::vector<T> list;
  list.reserve(in.count(size));
  for (std::size_t left = list.capacity(); left > 0; --left) {
    list.push_back((in.*element)());
  }
  return list;
}

template <typename List, typename Write>
void write_list(WireWriter& out, const List& list, const Write& element) {
  out.u32(static_cast<std::uint32_t>(list.size()));
  for (const auto& value : list) {
    element(value);
  }
}

void write(WireWriter& out, const Quantization& q) {
  out.u8(static_cast<std::uint8_t>(q.kind));
  write_list(out, q.scales, [&](float value) { out.f32(value); });
  write_list(out, q.offsets, [&](std::int32_t value) { out.i32(value); });
  out.i32(q.axis);
  out.u32(q.bits);
  write_list(out, q.block, [&](std::uint32_t value) { out.u32(value); });
  out.u32(q.blocks_per_axis);
  out.u32(q.block_scale_bits);
  write_list(out, q.block_scales, [&](std::uint8_t value) { out.u8(value); });
}

Quantization read_quantization(WireReader& in) {
  Quantization q;
  const std::uint8_t kind = in.u8();
  if (kind > static_cast<std::uint8_t>(Quantization::Kind::block_expansion)) {
    fail_unknown();
  }
  q.kind = static_cast<Quantization::Kind>(kind);
  q.scales = read_list<float>(in, 4, &WireReader::f32);
  q.offsets = read_list<std::int32_t>(in, 4, &WireReader::i32);
  q.axis = in.i32();
  q.bits = in.u32();
  q.block = read_list<std::uint32_t>(in, 4, &WireReader::u32);
  q.blocks_per_axis = in.u32();
  q.block_scale_bits = in.u32();
  q.block_scales = read_list<std::uint8_t>(in, 1, &WireReader::u8);
  return q;
}

void write(WireWriter& out, const Tensor& tensor) {
  out.text(tensor.name);
  out.u32(static_cast<std::uint32_t>(tensor.kind));
  out.u32(static_cast<std::uint32_t>(tensor.type));
  write_list(out, tensor.dims, [&](std::uint32_t value) { out.u32(value); });
  write(out, tensor.quantization);
  out.data(tensor.data);
}

Tensor read_tensor(WireReader& in) {
  Tensor tensor;
  tensor.name = in.text();
  tensor.kind = known(tensor_kind_of(in.u32()));
  tensor.type = known(data_type_of(in.u32()));
  tensor.dims = read_list<std::uint32_t>(in, 4, &WireReader::u32);
  tensor.quantization = read_quantization(in);
  tensor.data = in.data();
  return tensor;
}

void write(WireWriter& out, const Param& param) {
  out.text(param.name);
  out.u8(static_cast<std::uint8_t>(param.value.index()));
  struct Writer {
    WireWriter& out;
    void operator()(bool value) const { out.boolean(value); }
    void operator()(std::uint32_t value) const { out.u32(value); }
    void operator()(std::int32_t value) const { out.i32(value); }
    void operator()(float value) const { out.f32(value); }
    void operator()(const Tensor& value) const { write(out, value); }
    void operator()(const std::string& value) const { out.text(value); }
  };
  std::visit(Writer{.out = out}, param.value);
}

Param read_param(WireReader& in) {
  Param param;
  param.name = in.text();
  switch (in.u8()) {
    case 0:
      param.value = in.boolean();
      break;
    case 1:
      param.value = in.u32();
      break;
    case 2:
      param.value = in.i32();
      break;
    case 3:
      param.value = in.f32();
      break;
    case 4:
      param.value = read_tensor(in);
      break;
    case 5:
      param.value = in.text();
      break;
    default:
      fail_unknown();
  }
  return param;
}

Op read_op(WireReader& in) {
  Op op;
  op.name = in.text();
  op.type = in.text();
  op.inputs = in.texts();
  op.outputs = in.texts();
  for (std::size_t left = in.count(1); left > 0; --left) {
    op.params.push_back(read_param(in));
  }
  return op;
}

std::vector<Tensor> read_tensors(WireReader& in) {
  std::vector<Tensor> tensors;
  for (std::size_t left = in.count(1); left > 0; --left) {
    tensors.push_back(read_tensor(in));
  }
  return tensors;
}

}  // namespace

void WireWriter::u32(std::uint32_t value) {
  for (unsigned shift = 0; shift < 32; shift += 8) {
    u8(static_cast<std::uint8_t>(value >> shift));
  }
}

void WireWriter::u64(std::uint64_t value) {
  u32(static_cast<std::uint32_t>(value));
  u32(static_cast<std::uint32_t>(value >> 32U));
}

void WireWriter::i32(std::int32_t value) { u32(std::bit_cast<std::uint32_t>(value)); }
void WireWriter::f32(float value) { u32(std::bit_cast<std::uint32_t>(value)); }

void WireWriter::text(std::string_view value) {
  u32(static_cast<std::uint32_t>(value.size()));
  const auto bytes = std::as_bytes(std::span(value));
  bytes_.insert(bytes_.end(), bytes.begin(), bytes.end());
}

void WireWriter::texts(const std::vector<std::string>& values) {
  write_list(*this, values, [&](const std::string& value) { text(value); });
}

void WireWriter::data(std::span<const std::byte> value) {
  u64(value.size());
  bytes_.insert(bytes_.end(), value.begin(), value.end());
}

std::span<const std::byte> WireReader::take(std::uint64_t size) {
  if (size > rest_.size()) {
    throw Error(ErrorKind::internal,
                "QNN worker: a frame is too short: " + std::to_string(rest_.size()) +
                    " bytes left, expected " + std::to_string(size));
  }
  const std::span<const std::byte> taken = rest_.first(size);
  rest_ = rest_.subspan(size);
  return taken;
}

std::uint8_t WireReader::u8() { return std::to_integer<std::uint8_t>(take(1)[0]); }

std::uint32_t WireReader::u32() {
  std::uint32_t value = 0;
  unsigned shift = 0;
  for (const std::byte byte : take(4)) {
    value |= std::to_integer<std::uint32_t>(byte) << shift;
    shift += 8;
  }
  return value;
}

std::uint64_t WireReader::u64() {
  const std::uint64_t low = u32();
  return low | (static_cast<std::uint64_t>(u32()) << 32U);
}

std::int32_t WireReader::i32() { return std::bit_cast<std::int32_t>(u32()); }
float WireReader::f32() { return std::bit_cast<float>(u32()); }

std::string WireReader::text() {
  const std::span<const std::byte> bytes = take(u32());
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

std::vector<std::string> WireReader::texts() {
  return read_list<std::string>(*this, 4, &WireReader::text);
}

std::vector<std::byte> WireReader::data() {
  const std::span<const std::byte> bytes = take(u64());
  return {bytes.begin(), bytes.end()};
}

std::size_t WireReader::count(std::size_t size) {
  const std::size_t count = u32();
  if (count > rest_.size() / size) {
    throw Error(ErrorKind::internal, "QNN worker: a list is longer than its frame");
  }
  return count;
}

void write(WireWriter& out, const Graph& graph) {
  constexpr std::size_t kRoomForTheRest = 4096;  // a guess: what is more makes room by itself
  std::size_t data = kRoomForTheRest;
  for (const Tensor& tensor : graph.tensors) {
    data += tensor.data.size();
  }
  out.reserve(data);
  out.text(graph.name);
  write_list(out, graph.tensors, [&](const Tensor& tensor) { write(out, tensor); });
  write_list(out, graph.ops, [&](const Op& op) {
    out.text(op.name);
    out.text(op.type);
    out.texts(op.inputs);
    out.texts(op.outputs);
    write_list(out, op.params, [&](const Param& param) { write(out, param); });
  });
}

Graph read_graph(WireReader& in) {
  Graph graph;
  graph.name = in.text();
  graph.tensors = read_tensors(in);
  for (std::size_t left = in.count(1); left > 0; --left) {
    graph.ops.push_back(read_op(in));
  }
  return graph;
}

void write(WireWriter& out, const Values& values) {
  write_list(out, values, [&](const auto& entry) {
    out.text(entry.first);
    out.u32(static_cast<std::uint32_t>(entry.second.type));
    write_list(out, entry.second.dims, [&](std::uint32_t extent) { out.u32(extent); });
    out.data(entry.second.data);
  });
}

Values read_values(WireReader& in) {
  Values values;
  for (std::size_t left = in.count(1); left > 0; --left) {
    std::string name = in.text();
    Value value;
    value.type = known(data_type_of(in.u32()));
    value.dims = read_list<std::uint32_t>(in, 4, &WireReader::u32);
    value.data = in.data();
    values.insert_or_assign(std::move(name), std::move(value));
  }
  return values;
}

void write(WireWriter& out, const Prepared& prepared) {
  out.text(prepared.name);
  for (const auto* tensors : {&prepared.inputs, &prepared.outputs}) {
    write_list(out, *tensors, [&](const Tensor& tensor) { write(out, tensor); });
  }
}

Prepared read_prepared(WireReader& in) {
  Prepared prepared;
  prepared.name = in.text();
  prepared.inputs = read_tensors(in);
  prepared.outputs = read_tensors(in);
  return prepared;
}

}  // namespace halfstep::qnn
