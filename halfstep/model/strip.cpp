#include "halfstep/model/strip.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "halfstep/model/blob.h"
#include "halfstep/model/wire.h"
#include "halfstep/support/error.h"

namespace halfstep {
namespace {

using wire::Bytes;
using wire::Field;
using wire::Kind;
using wire::Reader;

std::string_view text_of(Bytes bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

class Stripper {
 public:
  Stripper(Bytes file, const std::function<void(Bytes)>& passed)
      : file_(file.data()), kept_from_(file.data()), passed_(passed) {}

  void message(Kind kind, Bytes bytes, int depth) {
    if (depth > wire::kMaxDepth) {
      throw Error(ErrorKind::invalid_file,
                  "messages are nested deeper than " + std::to_string(wire::kMaxDepth) + " levels");
    }
    std::map<std::uint32_t, int> counts;  // for the place in messages
    Reader reader(bytes, file_);
    Field field;
    while (reader.next(field)) {
      const Kind child = wire::child_kind(kind, field.number);
      if (child == Kind::none || child == Kind::sparse || field.type != wire::Type::bytes) {
        copy(field.whole);
        continue;
      }
      const int index = counts[field.number]++;
      try {
        nested(child, field, depth + 1);
      } catch (const Error& error) {
        throw error.within(std::string(wire::child_name(kind, field.number)) + "[" +
                           std::to_string(index) + "]");
      }
    }
  }

  StrippedModel result() && { return std::move(out_); }

 private:
  void copy(Bytes bytes) { out_.proto.append(text_of(bytes)); }

  // A length is known only when its message is written: leave room for a padded number.
  void nested(Kind kind, const Field& field, int depth) {
    constexpr std::size_t kLengthBytes = 5;
    wire::append_varint(out_.proto, wire::tag(field.number, field.type));
    const std::size_t length_at = out_.proto.size();
    out_.proto.append(kLengthBytes, '\0');
    if (kind == Kind::tensor) {
      tensor(field.value);
    } else {
      message(kind, field.value, depth);
    }
    std::uint64_t length = out_.proto.size() - length_at - kLengthBytes;
    for (std::size_t i = 0; i < kLengthBytes; ++i, length >>= 7U) {
      const std::uint64_t more = i + 1 < kLengthBytes ? 0x80U : 0U;
      out_.proto[length_at + i] = static_cast<char>((length & 0x7FU) | more);
    }
  }

  void tensor(Bytes bytes) {
    const std::optional<std::uint32_t> data = field_to_strip(bytes);
    Reader reader(bytes, file_);
    Field field;
    while (reader.next(field)) {
      if (field.number != data) {
        copy(field.whole);
        continue;
      }
      onnx::TensorProto token;
      set_token(token, {.index = out_.blobs.size(), .field = *data});
      token.AppendToString(&out_.proto);
      out_.blobs.push_back(field.value);
      pass(field.value.data() + field.value.size());
    }
  }

  // The field whose bytes can stay in the file: large, the only data, and stored as plain values.
  [[nodiscard]] std::optional<std::uint32_t> field_to_strip(Bytes bytes) const {
    std::map<std::uint32_t, int> counts;
    std::uint64_t data_type = 0;
    std::optional<std::uint32_t> large;
    Reader reader(bytes, file_);
    Field field;
    while (reader.next(field)) {
      ++counts[field.number];
      if (field.number == wire::kDataType) {
        data_type = field.varint;
      } else if (field.number == wire::kExternalData) {
        refuse_token(field.value);
      } else if (field.type == wire::Type::bytes && field.value.size() > kInlineBytes) {
        large = field.number;
      }
    }
    if (!large || counts[*large] != 1 || counts[wire::kExternalData] != 0 ||
        counts[wire::kDataLocation] != 0) {
      return std::nullopt;
    }
    const bool plain = *large == wire::kRawData ||
                       (*large == wire::kFloatData && data_type == onnx::TensorProto::FLOAT) ||
                       (*large == wire::kDoubleData && data_type == onnx::TensorProto::DOUBLE);
    return plain && data_fields(counts) == 1 ? large : std::nullopt;
  }

  static int data_fields(const std::map<std::uint32_t, int>& counts) {
    constexpr std::uint32_t kAll[] = {wire::kFloatData,  5, 6, 7, wire::kRawData,
                                      wire::kDoubleData, 11};
    return static_cast<int>(
        std::ranges::count_if(kAll, [&](std::uint32_t n) { return counts.contains(n); }));
  }

  static void refuse_token(Bytes entry) {
    if (text_of(entry).find(kTokenPrefix) != std::string_view::npos) {
      throw Error(ErrorKind::invalid_file, "external data has the location \"" +
                                               std::string(kTokenPrefix) +
                                               "...\", which halfstep uses itself");
    }
  }

  // The system maps whole clusters of pages around each one that is touched.
  void pass(const std::byte* end) {
    constexpr std::ptrdiff_t kEnough = std::ptrdiff_t{1024} * 1024;
    if (end - kept_from_ >= kEnough) {
      passed_({kept_from_, end});
      kept_from_ = end;
    }
  }

  const std::byte* file_;
  const std::byte* kept_from_;
  const std::function<void(Bytes)>& passed_;
  StrippedModel out_{};
};

}  // namespace

StrippedModel strip_weights(std::span<const std::byte> model,
                            const std::function<void(std::span<const std::byte>)>& passed) {
  Stripper stripper(model, passed);
  stripper.message(Kind::model, model, 1);
  return std::move(stripper).result();
}

}  // namespace halfstep
