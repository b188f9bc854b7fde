#include "halfstep/calibration/npy.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <cstring>
#include <limits>
#include <utility>
#include <vector>

#include "halfstep/support/error.h"

namespace halfstep {
namespace {

constexpr std::size_t kLongestHeader = std::size_t{1} << 20;
constexpr std::size_t kLargestRank = 64;

[[noreturn]] void bad(const std::string& what) { throw Error(ErrorKind::invalid_file, what); }

struct Code {
  std::string_view text;  ///< of descr, without the byte order
  Dtype dtype;
};
constexpr std::array<Code, 12> kCodes = {{{"f2", Dtype::float16},
                                          {"f4", Dtype::float32},
                                          {"f8", Dtype::float64},
                                          {"i1", Dtype::int8},
                                          {"i2", Dtype::int16},
                                          {"i4", Dtype::int32},
                                          {"i8", Dtype::int64},
                                          {"u1", Dtype::uint8},
                                          {"u2", Dtype::uint16},
                                          {"u4", Dtype::uint32},
                                          {"b1", Dtype::boolean},
                                          {"?", Dtype::boolean}}};

std::string_view kind_text(char kind) {
  switch (kind) {
    case 'O':
      return "Python objects";
    case 'U':
    case 'S':
    case 'a':
      return "strings";
    case 'c':
      return "complex numbers";
    case 'M':
    case 'm':
      return "times";
    case 'V':
      return "raw bytes (NumPy has no name for the type they were written from)";
    case 'u':
      return "64-bit unsigned integers";
    default:
      return "a type that halfstep can't read";
  }
}

/// Reads the Python literal of the header: a dictionary of strings, booleans and one tuple of
/// integers.
class HeaderReader {
 public:
  explicit HeaderReader(std::string_view text) : text_(text) {}

  NpyHeader read() {
    NpyHeader header;
    bool descr = false;
    bool order = false;
    bool shape = false;
    expect('{');
    while (!accept('}')) {
      const std::string key = string();
      expect(':');
      if (key == "descr") {
        read_descr(header);
        descr = true;
      } else if (key == "fortran_order") {
        header.fortran_order = boolean();
        order = true;
      } else if (key == "shape") {
        header.shape = tuple();
        shape = true;
      } else {
        bad("the .npy header has the unknown key \"" + key + "\"");
      }
      if (!accept(',')) {
        expect('}');
        break;
      }
    }
    if (!descr || !order || !shape) {
      bad("the .npy header lacks descr, fortran_order or shape");
    }
    return header;
  }

 private:
  void skip_space() {
    while (!text_.empty() && std::isspace(static_cast<unsigned char>(text_.front())) != 0) {
      text_.remove_prefix(1);
    }
  }

  bool accept(char c) {
    skip_space();
    if (text_.empty() || text_.front() != c) {
      return false;
    }
    text_.remove_prefix(1);
    return true;
  }

  void expect(char c) {
    if (!accept(c)) {
      bad(std::string("the .npy header is damaged ('") + c + "' is missing)");
    }
  }

  std::string string() {
    skip_space();
    const char quote = text_.empty() ? '\0' : text_.front();
    if (quote != '\'' && quote != '"') {
      bad("the .npy header is damaged (a string is missing)");
    }
    const std::size_t end = text_.find(quote, 1);
    if (end == std::string_view::npos) {
      bad("the .npy header is damaged (a string does not end)");
    }
    std::string result(text_.substr(1, end - 1));
    text_.remove_prefix(end + 1);
    return result;
  }

  bool boolean() {
    skip_space();
    for (const auto& [word, value] : {std::pair{"True", true}, std::pair{"False", false}}) {
      if (text_.starts_with(word)) {
        text_.remove_prefix(std::strlen(word));
        return value;
      }
    }
    bad("the .npy header is damaged (True or False is missing)");
  }

  Shape tuple() {
    Shape shape;
    expect('(');
    while (!accept(')')) {
      skip_space();
      std::int64_t extent = -1;
      const auto [end, error] = std::from_chars(text_.data(), text_.data() + text_.size(), extent);
      if (error != std::errc() || extent < 0 || shape.size() == kLargestRank) {
        bad("the shape in the .npy header is damaged");
      }
      text_.remove_prefix(static_cast<std::size_t>(end - text_.data()));
      accept('L');  // Python 2 wrote long integers so
      shape.push_back(extent);
      if (!accept(',')) {
        expect(')');
        break;
      }
    }
    return shape;
  }

  void read_descr(NpyHeader& header) {
    if (accept('[')) {
      throw Error(ErrorKind::invalid_file,
                  "the array holds records; save one plain array for each input");
    }
    const std::string descr = string();
    std::string_view code = descr;
    if (!code.empty() && std::string_view("<>=|").find(code.front()) != std::string_view::npos) {
      header.big_endian = code.front() == '>';
      code.remove_prefix(1);
    }
    const auto* const found = std::find_if(kCodes.begin(), kCodes.end(),
                                           [&](const Code& row) { return row.text == code; });
    if (found == kCodes.end()) {
      bad("the array (descr \"" + descr + "\") holds " +
          std::string(kind_text(code.empty() ? '?' : code.front())) +
          "; save numbers of the input's type");
    }
    header.dtype = found->dtype;
  }

  std::string_view text_;
};

std::uint64_t little_endian(std::span<const std::byte> bytes) {
  std::uint64_t value = 0;
  for (std::size_t i = bytes.size(); i-- > 0;) {
    value = value << 8U | std::to_integer<std::uint64_t>(bytes[i]);
  }
  return value;
}

/// Bytes of an array of this shape. Errors: invalid_file if that is more than `limit`, or if the
/// extents of an empty array are absurd.
std::uint64_t array_bytes(const NpyHeader& header, std::uint64_t limit) {
  constexpr std::uint64_t kLargest = std::uint64_t{1} << 48U;
  const bool empty = std::find(header.shape.begin(), header.shape.end(), 0) != header.shape.end();
  const std::uint64_t most = empty ? kLargest : limit;
  std::uint64_t bytes = storage_size(header.dtype);
  for (const std::int64_t extent : header.shape) {
    const auto factor = static_cast<std::uint64_t>(std::max(extent, std::int64_t{1}));
    if (bytes > most / factor) {
      bad("the array is truncated: its header promises the shape " + to_text(header.shape) +
          " of " + std::string(name(header.dtype)) + ", more than the " + std::to_string(limit) +
          " bytes that follow");
    }
    bytes *= factor;
  }
  return empty ? 0 : bytes;
}

void swap_bytes(std::span<std::byte> bytes, std::size_t item) {
  for (std::size_t at = 0; at + item <= bytes.size(); at += item) {
    std::reverse(bytes.begin() + static_cast<std::ptrdiff_t>(at),
                 bytes.begin() + static_cast<std::ptrdiff_t>(at + item));
  }
}

/// Column-major to row-major.
std::vector<std::byte> transpose_order(std::span<const std::byte> from, const Shape& shape,
                                       std::size_t item) {
  std::vector<std::byte> to(from.size());
  Shape strides(shape.size());
  std::int64_t stride = 1;
  for (std::size_t axis = 0; axis < shape.size(); ++axis) {
    strides[axis] = stride;
    stride *= shape[axis];
  }
  Shape index(shape.size(), 0);
  std::int64_t source = 0;
  for (std::size_t at = 0; at < to.size(); at += item) {
    std::memcpy(&to[at], &from[static_cast<std::size_t>(source) * item], item);
    for (std::size_t axis = shape.size(); axis-- > 0;) {
      source += strides[axis];
      if (++index[axis] < shape[axis]) {
        break;
      }
      source -= strides[axis] * shape[axis];
      index[axis] = 0;
    }
  }
  return to;
}

}  // namespace

NpyHeader read_npy_header(ByteStream& stream) {
  constexpr std::string_view kMagic = "\x93NUMPY";
  std::array<std::byte, 8> start{};
  if (stream.size() < start.size()) {
    bad("the file is too short (" + std::to_string(stream.size()) + " bytes) for a NumPy array");
  }
  stream.read(start);
  if (std::memcmp(start.data(), kMagic.data(), kMagic.size()) != 0) {
    bad("is not a NumPy array (.npy): the file starts otherwise");
  }
  const int version = std::to_integer<int>(start[6]);
  if (version < 1 || version > 3) {
    bad("has the .npy version " + std::to_string(version) + "; versions 1 to 3 can be read");
  }
  std::array<std::byte, 4> length_bytes{};
  const auto length_field = std::span(length_bytes).first(version == 1 ? 2 : 4);
  stream.read(length_field);
  const std::uint64_t length = little_endian(length_field);
  if (length > kLongestHeader || length > stream.size()) {
    bad("the .npy header is damaged: it claims " + std::to_string(length) + " bytes");
  }
  std::string text(length, '\0');
  stream.read(std::as_writable_bytes(std::span(text)));
  NpyHeader header = HeaderReader(text).read();
  const std::uint64_t used = start.size() + length_field.size() + length;
  const std::uint64_t left = stream.size() - used;
  const std::uint64_t needed = array_bytes(header, left);
  if (needed > left) {
    bad("the array is truncated: " + std::to_string(left) + " bytes are left for the shape " +
        to_text(header.shape) + " of " + std::string(name(header.dtype)));
  }
  return header;
}

NpyArray::NpyArray(std::unique_ptr<ByteStream> stream)
    : stream_(std::move(stream)), header_(read_npy_header(*stream_)) {}

Tensor NpyArray::read_block(Shape shape) {
  const std::size_t item = storage_size(header_.dtype);
  std::vector<std::byte> bytes(static_cast<std::size_t>(element_count(shape)) * item);
  if (!bytes.empty()) {
    stream_->read(bytes);
  }
  if (header_.big_endian && item > 1) {
    swap_bytes(bytes, item);
  }
  if (header_.fortran_order && shape.size() > 1) {
    bytes = transpose_order(bytes, shape, item);
  }
  return make_tensor(header_.dtype, std::move(shape), std::move(bytes));
}

Tensor NpyArray::read() { return read_block(header_.shape); }

Tensor NpyArray::next_slice() {
  require(!header_.shape.empty() && slice_ < header_.shape.front(),
          "the array has no further slice");
  Shape shape(header_.shape.begin() + 1, header_.shape.end());
  const std::int64_t i = slice_++;
  if (!header_.fortran_order) {
    return read_block(std::move(shape));
  }
  // The slices lie interleaved.
  if (whole_.data == nullptr) {
    whole_ = read();
  }
  Tensor slice{.dtype = header_.dtype, .shape = std::move(shape), .owner = whole_.owner};
  slice.data = whole_.data + static_cast<std::size_t>(i) * slice.bytes();
  return slice;
}

}  // namespace halfstep
