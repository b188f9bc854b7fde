#include "halfstep/engines/qnn/dlc/flat_table.h"

#include <bit>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "halfstep/support/error.h"

namespace halfstep::qnn::dlc {
namespace {

constexpr std::uint64_t kBudgetFactor = 16;
constexpr std::uint64_t kLeastBudget = std::uint64_t{1} << 16U;

}  // namespace

FlatTable FlatTable::root(std::span<const std::byte> file, std::string_view identifier,
                          std::string name) {
  const auto shared =
      std::make_shared<File>(File{.bytes = file,
                                  .name = std::move(name),
                                  .budget = kBudgetFactor * file.size() + kLeastBudget});
  const FlatTable whole(shared, 0);
  const auto found = whole.part(4, 4);
  const std::string_view text(reinterpret_cast<const char*>(found.data()), found.size());
  if (text != identifier) {
    throw Error(ErrorKind::invalid_file,
                shared->name + ": no \"" + std::string(identifier) + "\" at byte 4");
  }
  const FlatTable table(shared, whole.number_at(0, 4));
  return table.table_here();
}

FlatTable::FlatTable(std::shared_ptr<File> file, std::uint64_t at)
    : file_(std::move(file)), at_(at) {}

FlatTable FlatTable::table_here() const {
  FlatTable table = *this;
  const auto back = std::bit_cast<std::int32_t>(static_cast<std::uint32_t>(number_at(at_, 4)));
  const std::int64_t fields = static_cast<std::int64_t>(at_) - back;
  if (fields < 0) {
    throw Error(ErrorKind::invalid_file,
                file_->name + ": the table at byte " + std::to_string(at_) + " has no fields");
  }
  const std::uint64_t size = number_at(static_cast<std::uint64_t>(fields), 2);
  table.fields_ = static_cast<std::uint64_t>(fields) + 4;
  table.field_count_ = size < 4 ? 0 : (size - 4) / 2;
  return table;
}

std::span<const std::byte> FlatTable::part(std::uint64_t at, std::uint64_t size) const {
  const std::uint64_t all = file_->bytes.size();
  if (at > all || size > all - at) {
    throw Error(ErrorKind::invalid_file, file_->name + ": " + std::to_string(size) +
                                             " bytes expected at byte " + std::to_string(at) +
                                             " of " + std::to_string(all));
  }
  if (size > file_->budget) {
    throw Error(ErrorKind::invalid_file,
                file_->name + ": its parts refer to each other without end");
  }
  file_->budget -= size;
  return file_->bytes.subspan(at, size);
}

std::uint64_t FlatTable::number_at(std::uint64_t at, unsigned size) const {
  std::uint64_t value = 0;
  unsigned shift = 0;
  for (const std::byte byte : part(at, size)) {
    value |= std::to_integer<std::uint64_t>(byte) << shift;
    shift += 8;
  }
  return value;
}

std::optional<std::uint64_t> FlatTable::place_of(std::size_t field) const {
  if (field >= field_count_) {
    return std::nullopt;
  }
  const std::uint64_t offset = number_at(fields_ + 2 * field, 2);
  return offset == 0 ? std::nullopt : std::optional(at_ + offset);
}

std::optional<std::uint64_t> FlatTable::target_of(std::size_t field) const {
  const std::optional<std::uint64_t> place = place_of(field);
  return place ? std::optional(*place + number_at(*place, 4)) : std::nullopt;
}

std::uint64_t FlatTable::number(std::size_t field, unsigned size, std::uint64_t missing) const {
  const std::optional<std::uint64_t> place = place_of(field);
  return place ? number_at(*place, size) : missing;
}

std::int32_t FlatTable::int32(std::size_t field, std::int32_t missing) const {
  return std::bit_cast<std::int32_t>(
      static_cast<std::uint32_t>(number(field, 4, std::bit_cast<std::uint32_t>(missing))));
}

float FlatTable::float32(std::size_t field) const {
  return std::bit_cast<float>(static_cast<std::uint32_t>(number(field, 4)));
}

double FlatTable::float64(std::size_t field) const {
  return std::bit_cast<double>(number(field, 8));
}

std::string FlatTable::text_at(std::uint64_t at) const {
  const auto bytes = part(at + 4, number_at(at, 4));
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

std::string FlatTable::text(std::size_t field) const {
  const std::optional<std::uint64_t> target = target_of(field);
  return target ? text_at(*target) : std::string();
}

std::optional<FlatTable> FlatTable::table(std::size_t field) const {
  const std::optional<std::uint64_t> target = target_of(field);
  return target ? std::optional(FlatTable(file_, *target).table_here()) : std::nullopt;
}

FlatTable::Vector FlatTable::vector(std::size_t field, unsigned size) const {
  const std::optional<std::uint64_t> target = target_of(field);
  if (!target) {
    return {};
  }
  const Vector found{.at = *target + 4, .count = number_at(*target, 4)};
  (void)part(found.at, found.count * size);  // so that no count is larger than the file
  return found;
}

std::vector<FlatTable> FlatTable::tables(std::size_t field) const {
  const Vector list = vector(field, 4);
  std::vector<FlatTable> found;
  found.reserve(list.count);
  for (std::uint64_t at = list.at; found.size() < list.count; at += 4) {
    found.push_back(FlatTable(file_, at + number_at(at, 4)).table_here());
  }
  return found;
}

std::vector<std::string> FlatTable::texts(std::size_t field) const {
  const Vector list = vector(field, 4);
  std::vector<std::string> found;
  found.reserve(list.count);
  for (std::uint64_t at = list.at; found.size() < list.count; at += 4) {
    found.push_back(text_at(at + number_at(at, 4)));
  }
  return found;
}

std::vector<std::uint32_t> FlatTable::numbers(std::size_t field) const {
  const Vector list = vector(field, 4);
  std::vector<std::uint32_t> found;
  found.reserve(list.count);
  for (std::uint64_t at = list.at; found.size() < list.count; at += 4) {
    found.push_back(static_cast<std::uint32_t>(number_at(at, 4)));
  }
  return found;
}

std::vector<std::uint8_t> FlatTable::bytes(std::size_t field) const {
  const Vector list = vector(field, 1);
  std::vector<std::uint8_t> found;
  found.reserve(list.count);
  for (const std::byte byte : part(list.at, list.count)) {
    found.push_back(std::to_integer<std::uint8_t>(byte));
  }
  return found;
}

}  // namespace halfstep::qnn::dlc
