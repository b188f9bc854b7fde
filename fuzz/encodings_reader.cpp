// libFuzzer target: any text is either an encodings file, or an Error that says why not. What was
// read can be written in every version that can say it, and reads back with the same meaning.
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "halfstep/encodings/diff.h"
#include "halfstep/encodings/schema/format.h"
#include "halfstep/encodings/schema/read.h"
#include "halfstep/support/error.h"

namespace {

using halfstep::EncodingsFile;
using halfstep::EncodingTable;
using halfstep::Shape;

/// Every tensor exists; what is known of it depends on its name, so that all paths are reached.
class FuzzNames final : public halfstep::TensorNames {
 public:
  explicit FuzzNames(bool facts) : facts_(facts) {}
  [[nodiscard]] std::optional<halfstep::NamedTensor> find(const std::string& name) const override {
    halfstep::NamedTensor tensor;
    if (!facts_ || name.empty()) {
      return tensor;
    }
    switch (name.size() % 4) {
      case 0:
        tensor.facts = {.shape = Shape{}, .parameter = false, .channel_axis = {}, .block_axis = {}};
        break;
      case 1:
        tensor.facts = {
            .shape = Shape{4, 8, 3, 3}, .parameter = true, .channel_axis = 0, .block_axis = 1};
        break;
      case 2:
        tensor.facts = {
            .shape = Shape{64, 64}, .parameter = true, .channel_axis = 1, .block_axis = 0};
        break;
      default:
        tensor.facts = {
            .shape = Shape{-1, 8}, .parameter = false, .channel_axis = {}, .block_axis = {}};
    }
    return tensor;
  }
  [[nodiscard]] std::string closest(const std::string&) const override { return {}; }

 private:
  bool facts_;
};

void trap_if_internal(const halfstep::Error& error) {
  if (error.kind() == halfstep::ErrorKind::internal) {
    __builtin_trap();
  }
}

std::optional<EncodingTable> read(std::string_view text, const FuzzNames& names) {
  halfstep::Diagnostics diagnostics;
  try {
    return halfstep::read_encodings_text(text, "fuzz", names, {}, diagnostics).table;
  } catch (const halfstep::Error& error) {
    trap_if_internal(error);
    return std::nullopt;
  }
}

void write_all(const EncodingTable& table, const FuzzNames& names) {
  std::vector<halfstep::NamedEncoding> entries;
  for (const auto& [name, encoding] : table) {
    entries.push_back({.name = name, .encoding = &encoding, .facts = names.find(name)->facts});
  }
  for (const halfstep::EncodingsFormat& format : halfstep::encodings_formats()) {
    std::string text;
    try {
      text = halfstep::write_encodings_text(entries, format.version, {"fuzz", "1"});
    } catch (const halfstep::Error& error) {
      trap_if_internal(error);
      continue;
    }
    const std::optional<EncodingTable> again = read(text, names);
    if (!again || !halfstep::diff_encodings(table, *again, 1e-6, !format.writes_floats).empty()) {
      __builtin_trap();
    }
  }
}

}  // namespace

// NOLINTNEXTLINE(readability-identifier-naming): libFuzzer's name
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  for (const bool facts : {false, true}) {
    const FuzzNames names(facts);
    (void)halfstep::lint_encodings_text(text, "fuzz", names);
    const std::optional<EncodingTable> table = read(text, names);
    if (table && facts) {
      write_all(*table, names);
    }
  }
  return 0;
}
