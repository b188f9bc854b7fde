#include "halfstep/calibration/byte_stream.h"

#include <system_error>

#include "halfstep/support/error.h"
#include "halfstep/support/file.h"

namespace halfstep {

FileStream::FileStream(const std::filesystem::path& path) : path_(path) {
  require_readable(path);  // a pipe would be waited on
  file_.open(path, std::ios::binary);
  std::error_code error;
  size_ = std::filesystem::file_size(path, error);
  if (error || !file_) {
    throw Error(ErrorKind::io, "can't be read: " + error.message()).within(path.string());
  }
}

void FileStream::read(std::span<std::byte> bytes) {
  file_.read(reinterpret_cast<char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
  if (!file_) {
    throw Error(ErrorKind::invalid_file, "the file ends early (it has " + std::to_string(size_) +
                                             " bytes); it is truncated, write it again")
        .within(path_.string());
  }
}

}  // namespace halfstep
