#include "halfstep/calibration/zip.h"

#include <algorithm>

#include <unzip.h>

#include "halfstep/support/error.h"
#include "halfstep/support/file.h"

namespace halfstep {
namespace {

constexpr unsigned kEncryptedFlag = 1;
constexpr std::size_t kLongestName = 4096;
constexpr std::size_t kChunk = std::size_t{1} << 30;
/// Deflate can't pack tighter than this; a larger claim is a lie about the size.
constexpr std::uint64_t kLargestRatio = 1032;

struct CloseArchive {
  void operator()(void* archive) const noexcept { unzClose(archive); }
};
using Archive = std::unique_ptr<void, CloseArchive>;

[[noreturn]] void damaged(const std::filesystem::path& path, const std::string& what) {
  throw Error(ErrorKind::invalid_file, what).within(path.string());
}

Archive open_archive(const std::filesystem::path& path) {
  require_readable(path);
  Archive archive(unzOpen64(path.c_str()));
  if (!archive) {
    damaged(path,
            "is not a complete zip archive with members, as .npz files are; write it again with "
            "np.savez");
  }
  return archive;
}

ZipMember current_member(void* archive, const std::filesystem::path& path) {
  unz_file_info64 facts{};
  std::string name(kLongestName, '\0');
  if (unzGetCurrentFileInfo64(archive, &facts, name.data(), name.size(), nullptr, 0, nullptr, 0) !=
          UNZ_OK ||
      facts.size_filename >= kLongestName) {
    damaged(path, "the directory of the archive is damaged");
  }
  name.resize(facts.size_filename);
  if ((facts.flag & kEncryptedFlag) != 0) {
    damaged(path, "member \"" + name + "\" is encrypted; write the archive without a password");
  }
  unz64_file_pos position{};
  if (unzGetFilePos64(archive, &position) != UNZ_OK) {
    damaged(path, "the directory of the archive is damaged");
  }
  return {.name = std::move(name),
          .size = facts.uncompressed_size,
          .packed_size = facts.compressed_size,
          .directory_offset = position.pos_in_zip_directory,
          .number = position.num_of_file};
}

class MemberStream final : public ByteStream {
 public:
  MemberStream(const std::filesystem::path& path, const ZipMember& member)
      : where_(path.string() + "/" + member.name),
        archive_(open_archive(path)),
        size_(member.size),
        left_(member.size) {
    // Sizes are only claims; memory is taken for no more than the file can hold.
    const std::uint64_t packed = std::min(member.packed_size, std::filesystem::file_size(path));
    if (member.size / kLargestRatio > packed) {
      fail("claims more bytes than it can hold");
    }
    const unz64_file_pos position{.pos_in_zip_directory = member.directory_offset,
                                  .num_of_file = member.number};
    if (unzGoToFilePos64(archive_.get(), &position) != UNZ_OK ||
        unzOpenCurrentFile(archive_.get()) != UNZ_OK) {
      fail("can't be unpacked (only stored and deflated members can)");
    }
  }

  void read(std::span<std::byte> bytes) override {
    if (bytes.size() > left_) {
      fail("ends early");
    }
    left_ -= bytes.size();
    while (!bytes.empty()) {
      const auto chunk = static_cast<unsigned>(std::min(bytes.size(), kChunk));
      const int got = unzReadCurrentFile(archive_.get(), bytes.data(), chunk);
      if (got <= 0) {
        fail("is damaged or ends early");
      }
      bytes = bytes.subspan(static_cast<std::size_t>(got));
    }
    // Closing compares the checksum once everything was read.
    if (left_ == 0 && unzCloseCurrentFile(archive_.get()) == UNZ_CRCERROR) {
      fail("is damaged: its checksum is wrong");
    }
  }

  [[nodiscard]] std::uint64_t size() const override { return size_; }

 private:
  [[noreturn]] void fail(const std::string& what) const {
    throw Error(ErrorKind::invalid_file, what + "; write the file again").within(where_);
  }

  std::string where_;
  Archive archive_;
  std::uint64_t size_;
  std::uint64_t left_;
};

}  // namespace

std::vector<ZipMember> zip_members(const std::filesystem::path& path) {
  const Archive archive = open_archive(path);
  std::vector<ZipMember> members;
  int status = unzGoToFirstFile(archive.get());
  while (status == UNZ_OK) {
    members.push_back(current_member(archive.get(), path));
    status = unzGoToNextFile(archive.get());
  }
  // The library below takes an archive that is cut inside its last record for an empty one.
  if (status != UNZ_END_OF_LIST_OF_FILE || members.empty()) {
    damaged(path, "the directory of the archive is empty or damaged; write it again with np.savez");
  }
  return members;
}

std::unique_ptr<ByteStream> open_zip_member(const std::filesystem::path& path,
                                            const ZipMember& member) {
  return std::make_unique<MemberStream>(path, member);
}

}  // namespace halfstep
