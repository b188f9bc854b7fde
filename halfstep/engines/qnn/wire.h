#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "halfstep/engines/qnn/graph.h"
#include "halfstep/engines/qnn/values.h"

/// What the client and the worker process say to each other.
///
/// A frame is its kind (one byte), the length of its content (8 bytes, little-endian) and the
/// content. Numbers are little-endian; a text or a list is its length (4 bytes; 8 for raw data) and
/// its elements. The client asks, the worker answers; an answer ends with `done` or `failed`.
///
///   request   content                                              answer
///   hello     protocol (u32), version of halfstep (text),          done: version of halfstep
///             folder (text), soc (u32)
///   versions  -                                                    done: list of texts
///   validate  graph, first operator (u32)                          for each operator: verdict,
///                                                                  kernels if refused; then done
///   prepare   graph, float16 (bool), keep (list of texts)          done: prepared
///   load      path, name of the graph (texts), float16 (bool)      done: prepared
///   execute   values                                               done: values
///   write     graph, path (text)                                   done
///
/// The worker reads requests from its standard input, a socket, and answers there. It ends when the
/// client's end is closed, also in the middle of work.
namespace halfstep::qnn {

constexpr std::uint32_t kProtocol = 1;

enum class Kind : std::uint8_t {
  hello = 1,
  versions = 2,
  validate = 3,
  prepare = 4,
  load = 5,
  execute = 6,
  write = 7,
  done = 64,
  failed = 65,   ///< kind of the error (u8), message (text)
  verdict = 66,  ///< operator (u32), accepted (bool), code (u32), messages (list of texts)
  kernels = 67,  ///< list of texts
};

class WireWriter {
 public:
  /// Makes room for so many bytes more.
  void reserve(std::size_t size) { bytes_.reserve(bytes_.size() + size); }
  void u8(std::uint8_t value) { bytes_.push_back(static_cast<std::byte>(value)); }
  void u32(std::uint32_t value);
  void u64(std::uint64_t value);
  void i32(std::int32_t value);
  void f32(float value);
  void boolean(bool value) { u8(value ? 1 : 0); }
  void text(std::string_view value);
  void texts(const std::vector<std::string>& values);
  void data(std::span<const std::byte> value);
  [[nodiscard]] std::span<const std::byte> bytes() const noexcept { return bytes_; }

 private:
  std::vector<std::byte> bytes_{};
};

/// Errors: internal if the content is shorter than what is read from it.
class WireReader {
 public:
  explicit WireReader(std::span<const std::byte> bytes) : rest_(bytes) {}
  [[nodiscard]] std::uint8_t u8();
  [[nodiscard]] std::uint32_t u32();
  [[nodiscard]] std::uint64_t u64();
  [[nodiscard]] std::int32_t i32();
  [[nodiscard]] float f32();
  [[nodiscard]] bool boolean() { return u8() != 0; }
  [[nodiscard]] std::string text();
  [[nodiscard]] std::vector<std::string> texts();
  [[nodiscard]] std::vector<std::byte> data();
  /// A count of elements of at least `size` bytes each.
  [[nodiscard]] std::size_t count(std::size_t size);

 private:
  [[nodiscard]] std::span<const std::byte> take(std::uint64_t size);
  std::span<const std::byte> rest_;
};

void write(WireWriter& out, const Graph& graph);
[[nodiscard]] Graph read_graph(WireReader& in);

void write(WireWriter& out, const Values& values);
[[nodiscard]] Values read_values(WireReader& in);

void write(WireWriter& out, const Prepared& prepared);
[[nodiscard]] Prepared read_prepared(WireReader& in);

}  // namespace halfstep::qnn
