#include "halfstep/model/expand.h"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "halfstep/model/blob.h"
#include "halfstep/model/wire.h"
#include "halfstep/support/error.h"

namespace halfstep {
namespace {

using wire::Bytes;
using wire::Field;
using wire::Kind;
using wire::Reader;

// The token in the external_data entry that `field` of a tensor is, if it is one.
std::optional<BlobToken> token_in(const Field& field) {
  if (field.number != wire::kExternalData || field.type != wire::Type::bytes) {
    return std::nullopt;
  }
  Reader reader(field.value, field.value.data());
  Field part;
  while (reader.next(part)) {
    if (part.number == 2) {  // StringStringEntryProto.value
      return parse_token({reinterpret_cast<const char*>(part.value.data()), part.value.size()});
    }
  }
  return std::nullopt;
}

std::optional<BlobToken> token_in_tensor(Bytes tensor) {
  Reader reader(tensor, tensor.data());
  Field field;
  while (reader.next(field)) {
    if (const auto token = token_in(field)) {
      return token;
    }
  }
  return std::nullopt;
}

const Blob& blob_of(const BlobToken& token, std::span<const Blob> blobs) {
  if (token.index >= blobs.size()) {
    throw Error(ErrorKind::internal, "a tensor refers to data of another model (token " +
                                         token_text(token) +
                                         "); copy it with data() and set_data()");
  }
  return blobs[token.index];
}

bool is_token_field(const Field& field) {
  return field.number == wire::kExternalData || field.number == wire::kDataLocation;
}

// First walk: the size of every message with the data put back.
class Measure {
 public:
  Measure(std::span<const Blob> blobs, std::vector<std::uint64_t>& sizes)
      : blobs_(blobs), sizes_(sizes) {}

  std::uint64_t message(Kind kind, Bytes bytes) {
    if (kind == Kind::tensor) {
      return tensor(bytes);
    }
    std::uint64_t total = 0;
    Reader reader(bytes, bytes.data());
    Field field;
    while (reader.next(field)) {
      const Kind child = wire::child_kind(kind, field.number);
      if (child == Kind::none || field.type != wire::Type::bytes) {
        total += field.whole.size();
        continue;
      }
      const std::size_t slot = sizes_.size();
      sizes_.push_back(0);
      const std::uint64_t size = message(child, field.value);
      sizes_[slot] = size;
      total +=
          wire::varint_size(wire::tag(field.number, field.type)) + wire::varint_size(size) + size;
    }
    return total;
  }

 private:
  std::uint64_t tensor(Bytes bytes) {
    const auto token = token_in_tensor(bytes);
    if (!token) {
      return bytes.size();
    }
    const std::uint64_t size = blob_of(*token, blobs_).size();
    std::uint64_t total = wire::varint_size(wire::tag(token->field, wire::Type::bytes)) +
                          wire::varint_size(size) + size;
    Reader reader(bytes, bytes.data());
    Field field;
    while (reader.next(field)) {
      total += is_token_field(field) ? 0 : field.whole.size();
    }
    return total;
  }

  std::span<const Blob> blobs_;
  std::vector<std::uint64_t>& sizes_;
};

// Second walk: the same order, writing.
class Emit {
 public:
  Emit(std::span<const Blob> blobs, std::span<const std::uint64_t> sizes,
       const std::function<void(Bytes)>& sink)
      : blobs_(blobs), sizes_(sizes), sink_(sink) {}

  void message(Kind kind, Bytes bytes) {
    if (kind == Kind::tensor) {
      tensor(bytes);
      return;
    }
    Reader reader(bytes, bytes.data());
    Field field;
    while (reader.next(field)) {
      const Kind child = wire::child_kind(kind, field.number);
      if (child == Kind::none || field.type != wire::Type::bytes) {
        copy(field.whole);
        continue;
      }
      wire::append_varint(pending_, wire::tag(field.number, field.type));
      wire::append_varint(pending_, sizes_[next_++]);
      message(child, field.value);
    }
  }

  void flush() {
    sink_(std::as_bytes(std::span(pending_)));
    pending_.clear();
  }

 private:
  void tensor(Bytes bytes) {
    const auto token = token_in_tensor(bytes);
    Reader reader(bytes, bytes.data());
    Field field;
    while (reader.next(field)) {
      if (!token || !is_token_field(field)) {
        copy(field.whole);
      }
    }
    if (token) {
      const Blob& blob = blob_of(*token, blobs_);
      wire::append_varint(pending_, wire::tag(token->field, wire::Type::bytes));
      wire::append_varint(pending_, blob.size());
      flush();
      write_blob(blob, sink_);
    }
  }

  void copy(Bytes bytes) {
    constexpr std::size_t kBuffer = std::size_t{64} << 10U;
    pending_.append(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    if (pending_.size() > kBuffer) {
      flush();
    }
  }

  std::span<const Blob> blobs_;
  std::span<const std::uint64_t> sizes_;
  const std::function<void(Bytes)>& sink_;
  std::size_t next_ = 0;
  std::string pending_{};
};

}  // namespace

Expander::Expander(std::span<const std::byte> proto, std::span<const Blob> blobs)
    : proto_(proto), blobs_(blobs) {
  size_ = Measure(blobs_, sizes_).message(Kind::model, proto_);
}

void Expander::write(const std::function<void(std::span<const std::byte>)>& sink) const {
  Emit emit(blobs_, sizes_, sink);
  emit.message(Kind::model, proto_);
  emit.flush();
}

}  // namespace halfstep
