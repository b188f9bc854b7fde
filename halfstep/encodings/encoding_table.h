#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "halfstep/encodings/encoding.h"

namespace halfstep {

/// One use of a tensor: node name and input slot.
struct Use {
  std::string node{};
  std::size_t slot = 0;
  auto operator<=>(const Use&) const = default;
};

/// Everything known about the tensors of one model, by tensor name, iterated in name order;
/// plus encodings of single uses where a consumer needs another one than the tensor's.
/// In files such a use is an entry under the derived tensor `<tensor>_<node>`.
class EncodingTable {
 public:
  [[nodiscard]] const Encoding* find(std::string_view tensor) const;
  void set(std::string tensor, Encoding encoding);
  void erase(std::string_view tensor);
  /// Codes of a constant that its float values can't restore (32-bit ones beyond 2^24 steps), in
  /// storage_size() bytes each. They are forgotten when the tensor gets another encoding.
  void keep_codes(const std::string& tensor, std::vector<std::byte> codes);
  /// Null if there are none.
  [[nodiscard]] const std::vector<std::byte>* codes(std::string_view tensor) const;
  [[nodiscard]] std::size_t size() const noexcept { return tensors_.size(); }
  [[nodiscard]] bool empty() const noexcept { return tensors_.empty() && uses_.empty(); }
  [[nodiscard]] auto begin() const noexcept { return tensors_.begin(); }
  [[nodiscard]] auto end() const noexcept { return tensors_.end(); }

  /// What this use sees: its own encoding if it has one, else the tensor's.
  [[nodiscard]] const Encoding* find_use(const Use& use, std::string_view tensor) const;
  void set_use(Use use, Encoding encoding);
  void erase_use(const Use& use);
  [[nodiscard]] const std::map<Use, Encoding>& uses() const noexcept { return uses_; }

  /// This table with every entry of `overrides` laid over it.
  /// Source: QAIRT quantization specification, "Quantization processing".
  [[nodiscard]] EncodingTable overridden_by(const EncodingTable& overrides) const;
  bool operator==(const EncodingTable&) const = default;

 private:
  std::map<std::string, Encoding, std::less<>> tensors_;
  std::map<Use, Encoding> uses_;
  std::map<std::string, std::vector<std::byte>, std::less<>> codes_;
};

}  // namespace halfstep
