#include "halfstep/frontends/tflite/flatbuffer.h"

#include "halfstep/support/error.h"

namespace halfstep::tflite {

void damaged(std::string_view what) {
  throw Error(ErrorKind::invalid_file, "is a damaged TensorFlow Lite file: " + std::string(what) +
                                           "; fetch or convert it again");
}

Vector::Vector(Bytes file, std::uint64_t at)
    : file_(file), first_(at + 4), size_(read_scalar<std::uint32_t>(file, at)) {
  // Elements take at least one byte each.
  if (size_ > file.size() - first_) {
    damaged("a vector is longer than the file");
  }
}

Bytes Vector::elements(std::size_t element_size) const {
  if (size_ > 0 && size_ > (file_.size() - first_) / element_size) {
    damaged("a vector is longer than the file");
  }
  return size_ == 0 ? Bytes{} : file_.subspan(first_, size_ * element_size);
}

Table Vector::table(std::size_t i) const {
  if (i >= size_) {
    damaged("an index leads out of its vector");
  }
  const std::uint64_t at = first_ + 4 * i;
  return {file_, at + read_scalar<std::uint32_t>(file_, at)};
}

std::string Vector::text(std::size_t i) const {
  if (i >= size_) {
    damaged("an index leads out of its vector");
  }
  const std::uint64_t at = first_ + 4 * i;
  const Bytes bytes = Vector(file_, at + read_scalar<std::uint32_t>(file_, at)).bytes();
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

Table::Table(Bytes file, std::uint64_t at) : file_(file), at_(at) {
  const auto back = static_cast<std::int64_t>(read_scalar<std::int32_t>(file, at));
  const auto fields = static_cast<std::int64_t>(at) - back;
  if (fields < 0) {
    damaged("a table of fields lies before the file");
  }
  fields_ = static_cast<std::uint64_t>(fields);
  fields_size_ = read_scalar<std::uint16_t>(file, fields_);
}

Table Table::root(Bytes file) { return {file, read_scalar<std::uint32_t>(file, 0)}; }

std::uint64_t Table::position(int field) const {
  const auto offset = static_cast<std::uint64_t>(4 + 2 * field);
  if (offset + 2 > fields_size_) {
    return 0;
  }
  const auto relative = read_scalar<std::uint16_t>(file_, fields_ + offset);
  return relative == 0 ? 0 : at_ + relative;
}

std::uint64_t Table::target(int field) const {
  const std::uint64_t at = position(field);
  return at == 0 ? 0 : at + read_scalar<std::uint32_t>(file_, at);
}

Table Table::table(int field) const {
  const std::uint64_t at = target(field);
  return at == 0 ? Table() : Table(file_, at);
}

Vector Table::vector(int field) const {
  const std::uint64_t at = target(field);
  return at == 0 ? Vector() : Vector(file_, at);
}

std::string Table::text(int field) const {
  const Bytes bytes = vector(field).bytes();
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

}  // namespace halfstep::tflite
