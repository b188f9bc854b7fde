#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "halfstep/calibration/byte_stream.h"
#include "halfstep/engines/engine.h"

namespace halfstep {

/// What the header of a .npy file says.
struct NpyHeader {
  Dtype dtype = Dtype::float32;
  bool big_endian = false;
  bool fortran_order = false;
  Shape shape{};
};

/// Reads magic, version (1, 2 or 3) and header of a NumPy array.
/// Errors: invalid_file (no .npy, truncated, damaged); unsupported types (objects, strings, complex
/// numbers, times, records) are named. Source: NumPy Enhancement Proposal 1 and numpy.lib.format.
[[nodiscard]] NpyHeader read_npy_header(ByteStream& stream);

/// One array, whole or slice by slice along its first axis; little-endian and row-major in memory.
class NpyArray {
 public:
  /// Reads the header and checks it against the size of the stream.
  explicit NpyArray(std::unique_ptr<ByteStream> stream);
  [[nodiscard]] const NpyHeader& header() const noexcept { return header_; }
  /// The whole array. Errors: invalid_file.
  [[nodiscard]] Tensor read();
  /// The next a[i], without the first axis. Holds one slice in memory (of a Fortran-ordered array:
  /// all). Errors: invalid_file; invalid_argument past the end or for a scalar.
  [[nodiscard]] Tensor next_slice();

 private:
  [[nodiscard]] Tensor read_block(Shape shape);

  std::unique_ptr<ByteStream> stream_;
  NpyHeader header_;
  std::int64_t slice_ = 0;
  Tensor whole_{};  ///< of a Fortran-ordered array that is read in slices
};

}  // namespace halfstep
