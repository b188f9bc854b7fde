#include "halfstep/model/wire.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "halfstep/support/error.h"

namespace halfstep::wire {
namespace {

struct Child {
  Kind parent;
  std::uint32_t number;
  Kind kind;
  const char* name;
};

// Source: onnx.proto of ONNX 1.23.
// NOLINTBEGIN(modernize-use-designated-initializers): the rows of a table
constexpr auto kChildren = std::to_array<Child>({
    {Kind::model, 7, Kind::graph, "graph"},
    {Kind::model, 20, Kind::training, "training_info"},
    {Kind::model, 25, Kind::function, "functions"},
    {Kind::training, 1, Kind::graph, "initialization"},
    {Kind::training, 2, Kind::graph, "algorithm"},
    {Kind::graph, 1, Kind::node, "node"},
    {Kind::graph, 5, Kind::tensor, "initializer"},
    {Kind::graph, 15, Kind::sparse, "sparse_initializer"},
    {Kind::function, 7, Kind::node, "node"},
    {Kind::function, 11, Kind::attribute, "attribute_proto"},
    {Kind::node, 5, Kind::attribute, "attribute"},
    {Kind::attribute, 5, Kind::tensor, "t"},
    {Kind::attribute, 6, Kind::graph, "g"},
    {Kind::attribute, 10, Kind::tensor, "tensors"},
    {Kind::attribute, 11, Kind::graph, "graphs"},
    {Kind::attribute, 22, Kind::sparse, "sparse_tensor"},
    {Kind::attribute, 23, Kind::sparse, "sparse_tensors"},
    {Kind::sparse, 1, Kind::tensor, "values"},
    {Kind::sparse, 2, Kind::tensor, "indices"},
});
// NOLINTEND(modernize-use-designated-initializers)

const Child* find_child(Kind parent, std::uint32_t number) noexcept {
  for (const Child& child : kChildren) {
    if (child.parent == parent && child.number == number) {
      return &child;
    }
  }
  return nullptr;
}

}  // namespace

bool Reader::next(Field& field) {
  if (rest_.empty()) {
    return false;
  }
  const std::byte* begin = rest_.data();
  const std::uint64_t key = read_varint();
  const std::uint64_t number = key >> 3U;
  if (number == 0 || number > 0x1FFFFFFFU) {
    fail("a field with the impossible number " + std::to_string(number));
  }
  field.number = static_cast<std::uint32_t>(number);
  field.type = static_cast<Type>(key & 7U);
  const std::byte* value = rest_.data();
  switch (field.type) {
    case Type::varint:
      field.varint = read_varint();
      field.value = {value, rest_.data()};
      break;
    case Type::fixed64:
      field.value = take(8);
      break;
    case Type::bytes:
      field.value = take(read_varint());
      break;
    case Type::fixed32:
      field.value = take(4);
      break;
    default:
      fail("a field of the unknown wire type " + std::to_string(key & 7U));
  }
  field.whole = {begin, rest_.data()};
  return true;
}

std::uint64_t Reader::read_varint() {
  constexpr std::size_t kMaxBytes = 10;
  std::uint64_t value = 0;
  for (std::size_t i = 0; i < kMaxBytes && i < rest_.size(); ++i) {
    const auto byte = std::to_integer<std::uint64_t>(rest_[i]);
    value |= (byte & 0x7FU) << (7 * i);
    if ((byte & 0x80U) == 0) {
      rest_ = rest_.subspan(i + 1);
      return value;
    }
  }
  fail(rest_.size() < kMaxBytes ? "the file ends in the middle of a number"
                                : "a number of more than 10 bytes");
}

Bytes Reader::take(std::uint64_t size) {
  if (size > rest_.size()) {
    fail(std::to_string(size) + " bytes should follow, but " + std::to_string(rest_.size()) +
         " are left");
  }
  const Bytes part = rest_.first(static_cast<std::size_t>(size));
  rest_ = rest_.subspan(part.size());
  return part;
}

void Reader::fail(const std::string& what) const {
  throw Error(ErrorKind::invalid_file, "damaged at byte " + std::to_string(rest_.data() - file_) +
                                           ": " + what +
                                           " (a truncated file, or not an ONNX model)");
}

Kind child_kind(Kind parent, std::uint32_t number) noexcept {
  const Child* child = find_child(parent, number);
  return child == nullptr ? Kind::none : child->kind;
}

const char* child_name(Kind parent, std::uint32_t number) noexcept {
  const Child* child = find_child(parent, number);
  return child == nullptr ? "" : child->name;
}

std::size_t varint_size(std::uint64_t value) noexcept {
  std::size_t size = 1;
  while ((value >>= 7U) != 0) {
    ++size;
  }
  return size;
}

void append_varint(std::string& out, std::uint64_t value) {
  while (value >= 0x80U) {
    out.push_back(static_cast<char>((value & 0x7FU) | 0x80U));
    value >>= 7U;
  }
  out.push_back(static_cast<char>(value));
}

}  // namespace halfstep::wire
