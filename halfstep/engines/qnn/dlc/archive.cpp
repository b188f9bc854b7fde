#include "halfstep/engines/qnn/dlc/archive.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <unordered_set>
#include <utility>
#include <vector>

#include "halfstep/support/error.h"
#include "halfstep/support/file.h"

namespace halfstep::qnn::dlc {
namespace {

// Source of the layouts: the zip format's public description, APPNOTE.TXT, sections 4.3 and 4.5.3.
constexpr std::uint32_t kLocal = 0x04034b50;
constexpr std::uint32_t kDirectory = 0x02014b50;
constexpr std::uint32_t kEnd = 0x06054b50;
constexpr std::uint32_t kEnd64 = 0x06064b50;
constexpr std::uint32_t kLocator64 = 0x07064b50;
constexpr std::uint64_t kElsewhere = 0xffffffff;  // the value is in a zip64 record
constexpr std::size_t kEndSize = 22;
constexpr std::size_t kAlignment = 8;
constexpr std::size_t kMostMembers = 100'000;

/// Numbers at places of the archive.
class View {
 public:
  explicit View(std::span<const std::byte> bytes) : bytes_(bytes) {}

  [[nodiscard]] std::span<const std::byte> part(std::uint64_t at, std::uint64_t size) const {
    if (at > bytes_.size() || size > bytes_.size() - at) {
      throw Error(ErrorKind::invalid_file,
                  "the archive is cut off or damaged: " + std::to_string(size) +
                      " bytes expected at byte " + std::to_string(at) + " of " +
                      std::to_string(bytes_.size()));
    }
    return bytes_.subspan(at, size);
  }
  [[nodiscard]] std::uint64_t number(std::uint64_t at, unsigned size) const {
    std::uint64_t value = 0;
    unsigned shift = 0;
    for (const std::byte byte : part(at, size)) {
      value |= std::to_integer<std::uint64_t>(byte) << shift;
      shift += 8;
    }
    return value;
  }
  [[nodiscard]] std::uint64_t size() const noexcept { return bytes_.size(); }

 private:
  std::span<const std::byte> bytes_;
};

[[noreturn]] void fail(const std::string& what) { throw Error(ErrorKind::invalid_file, what); }

struct Directory {
  std::uint64_t offset = 0;
  std::uint64_t count = 0;
};

Directory find_directory(const View& view) {
  constexpr std::uint64_t kLongestComment = 65535;
  if (view.size() < kEndSize) {
    fail("not a DLC: " + std::to_string(view.size()) + " bytes are too few for a zip archive");
  }
  const std::uint64_t last = view.size() - kEndSize;
  const std::uint64_t first = last > kLongestComment ? last - kLongestComment : 0;
  for (std::uint64_t at = last + 1; at-- > first;) {
    if (view.number(at, 4) != kEnd) {
      continue;
    }
    Directory found{.offset = view.number(at + 16, 4), .count = view.number(at + 10, 2)};
    if (found.offset == kElsewhere || found.count == 0xffff) {
      if (at < 20 || view.number(at - 20, 4) != kLocator64) {
        fail("the zip archive lacks its zip64 locator before byte " + std::to_string(at));
      }
      const std::uint64_t record = view.number(at - 12, 8);
      if (view.number(record, 4) != kEnd64) {
        fail("no zip64 record at byte " + std::to_string(record));
      }
      found = {.offset = view.number(record + 48, 8), .count = view.number(record + 32, 8)};
    }
    return found;
  }
  fail("not a DLC: no zip directory (a DLC is a zip archive)");
}

/// One entry of the directory and the values of its zip64 field.
struct Entry {
  std::string name{};
  std::uint64_t size = 0;
  std::uint64_t packed = 0;
  std::uint64_t local = 0;
  std::uint64_t next = 0;
};

void read_zip64(const View& view, std::uint64_t at, std::uint64_t end, Entry& entry) {
  while (at + 4 <= end) {
    const std::uint64_t id = view.number(at, 2);
    const std::uint64_t size = view.number(at + 2, 2);
    std::uint64_t value = at + 4;
    at = value + size;
    if (id != 1) {
      continue;
    }
    for (std::uint64_t* wanted : {&entry.size, &entry.packed, &entry.local}) {
      if (*wanted == kElsewhere && value + 8 <= at) {
        *wanted = view.number(value, 8);
        value += 8;
      }
    }
  }
}

Entry read_entry(const View& view, std::uint64_t at) {
  if (view.number(at, 4) != kDirectory) {
    fail("damaged zip directory at byte " + std::to_string(at));
  }
  Entry entry{.size = view.number(at + 24, 4),
              .packed = view.number(at + 20, 4),
              .local = view.number(at + 42, 4)};
  const std::uint64_t name_size = view.number(at + 28, 2);
  const std::uint64_t extra_size = view.number(at + 30, 2);
  const auto name = view.part(at + 46, name_size);
  entry.name.assign(reinterpret_cast<const char*>(name.data()), name.size());
  const std::uint64_t extra = at + 46 + name_size;
  read_zip64(view, extra, extra + extra_size, entry);
  entry.next = extra + extra_size + view.number(at + 32, 2);
  const std::uint64_t flags = view.number(at + 8, 2);
  const std::uint64_t method = view.number(at + 10, 2);
  if ((flags & 1U) != 0 || method != 0 || entry.packed != entry.size) {
    fail("member \"" + entry.name + "\" is packed or encrypted; the members of a DLC are stored");
  }
  return entry;
}

std::uint32_t checksum(std::span<const std::byte> bytes) {
  static constexpr auto kTable = [] {
    std::array<std::uint32_t, 256> table{};
    for (std::uint32_t i = 0; i < table.size(); ++i) {
      std::uint32_t value = i;
      for (int bit = 0; bit < 8; ++bit) {
        value = (value >> 1U) ^ ((value & 1U) != 0 ? 0xedb88320U : 0U);
      }
      table[i] = value;
    }
    return table;
  }();
  std::uint32_t value = 0xffffffff;
  for (const std::byte byte : bytes) {
    value = kTable[(value ^ std::to_integer<std::uint32_t>(byte)) & 0xffU] ^ (value >> 8U);
  }
  return value ^ 0xffffffffU;
}

/// Writes numbers and keeps count.
class Writer {
 public:
  explicit Writer(const std::filesystem::path& file) : file_(file) {}
  void number(std::uint64_t value, unsigned size) {
    std::array<std::byte, 8> bytes{};
    for (unsigned i = 0; i < size; ++i) {
      bytes[i] = static_cast<std::byte>(value >> (8 * i));
    }
    write(std::span(bytes).first(size));
  }
  void text(std::string_view value) { write(std::as_bytes(std::span(value))); }
  void write(std::span<const std::byte> bytes) {
    file_.write(bytes);
    at_ += bytes.size();
  }
  [[nodiscard]] std::uint64_t at() const noexcept { return at_; }
  void commit() { file_.commit(); }

 private:
  AtomicFile file_;
  std::uint64_t at_ = 0;
};

/// What a local header and the directory say alike: version, flags, method, time, checksum, sizes.
void write_common(Writer& out, std::uint32_t crc, std::size_t name_size, std::size_t extra_size) {
  out.number(45, 2);  // the version that brought zip64
  out.number(0, 2);
  out.number(0, 2);
  out.number(0, 4);
  out.number(crc, 4);
  out.number(kElsewhere, 4);
  out.number(kElsewhere, 4);
  out.number(name_size, 2);
  out.number(extra_size, 2);
}

std::uint64_t write_member(Writer& out, const Member& member, std::uint32_t crc) {
  constexpr std::size_t kZip64 = 20;
  constexpr std::size_t kPadding = 4;
  // The content begins at a multiple of 8: a field of an unused number pads.
  const std::uint64_t unpadded = out.at() + 30 + member.name.size() + kZip64 + kPadding;
  const std::size_t padding = (kAlignment - unpadded % kAlignment) % kAlignment;
  const std::uint64_t start = out.at();
  out.number(kLocal, 4);
  write_common(out, crc, member.name.size(), kZip64 + kPadding + padding);
  out.text(member.name);
  out.number(1, 2);
  out.number(16, 2);
  out.number(member.content.size(), 8);
  out.number(member.content.size(), 8);
  out.number(0x4850, 2);
  out.number(padding, 2);
  out.number(0, static_cast<unsigned>(padding));
  out.write(member.content);
  return start;
}

void write_entry(Writer& out, const Member& member, std::uint32_t crc, std::uint64_t start) {
  constexpr std::size_t kZip64 = 28;
  out.number(kDirectory, 4);
  out.number(45, 2);
  write_common(out, crc, member.name.size(), kZip64);
  out.number(0, 2);
  out.number(0, 2);
  out.number(0, 2);
  out.number(0, 4);
  out.number(kElsewhere, 4);
  out.text(member.name);
  out.number(1, 2);
  out.number(24, 2);
  out.number(member.content.size(), 8);
  out.number(member.content.size(), 8);
  out.number(start, 8);
}

void write_end(Writer& out, std::uint64_t directory, std::uint64_t count) {
  const std::uint64_t end = out.at();
  out.number(kEnd64, 4);
  out.number(44, 8);
  out.number(45, 2);
  out.number(45, 2);
  out.number(0, 4);
  out.number(0, 4);
  out.number(count, 8);
  out.number(count, 8);
  out.number(end - directory, 8);
  out.number(directory, 8);
  out.number(kLocator64, 4);
  out.number(0, 4);
  out.number(end, 8);
  out.number(1, 4);
  out.number(kEnd, 4);
  out.number(0, 4);
  out.number(count, 2);
  out.number(count, 2);
  out.number(std::min(end - directory, kElsewhere), 4);
  out.number(kElsewhere, 4);
  out.number(0, 2);
}

}  // namespace

std::vector<Member> read_archive(std::span<const std::byte> archive) {
  const View view(archive);
  const Directory directory = find_directory(view);
  if (directory.count > kMostMembers) {
    fail("the zip directory claims " + std::to_string(directory.count) + " members");
  }
  std::vector<Member> members;
  std::unordered_set<std::string> names;
  std::uint64_t at = directory.offset;
  for (std::uint64_t i = 0; i < directory.count; ++i) {
    const Entry entry = read_entry(view, at);
    if (view.number(entry.local, 4) != kLocal) {
      fail("member \"" + entry.name + "\": no header at byte " + std::to_string(entry.local));
    }
    const std::uint64_t start =
        entry.local + 30 + view.number(entry.local + 26, 2) + view.number(entry.local + 28, 2);
    if (!names.insert(entry.name).second) {
      fail("member \"" + entry.name + "\" is there twice");
    }
    members.push_back(
        {.name = entry.name, .content = view.part(start, entry.size), .offset = start});
    at = entry.next;
  }
  return members;
}

const Member* find_member(const std::vector<Member>& members, std::string_view name) {
  const auto found = std::ranges::find(members, name, &Member::name);
  return found == members.end() ? nullptr : &*found;
}

void write_archive(const std::vector<Member>& members, const std::filesystem::path& file) {
  Writer out(file);
  std::vector<std::pair<std::uint32_t, std::uint64_t>> written;
  for (const Member& member : members) {
    const std::uint32_t crc = checksum(member.content);
    written.emplace_back(crc, write_member(out, member, crc));
  }
  const std::uint64_t directory = out.at();
  for (std::size_t i = 0; i < members.size(); ++i) {
    write_entry(out, members[i], written[i].first, written[i].second);
  }
  write_end(out, directory, members.size());
  out.commit();
}

}  // namespace halfstep::qnn::dlc
