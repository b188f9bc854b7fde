#include "halfstep/encodings/schema/format.h"

#include <algorithm>
#include <array>
#include <utility>

#include "halfstep/encodings/schema/entries.h"
#include "halfstep/support/error.h"

namespace halfstep {
namespace {

/// Oldest first, in the order of the enumerators.
constexpr std::array<EncodingsFormat, 4> kFormats{{
    {EncodingsVersion::v0_6_1, "0.6.1", true, true, true, entry_v0_6_1},
    {EncodingsVersion::v1_0_0, "1.0.0", true, false, true, entry_v1_0_0},
    {EncodingsVersion::v2_0_0, "2.0.0", false, false, false, entry_v2_0_0},
    {EncodingsVersion::v2_1_0, "2.1.0", false, false, false, entry_v2_1_0},
}};

constexpr std::size_t kNamedReasons = 5;

using Entries = std::vector<std::pair<const NamedEncoding*, Json>>;

Entries make_entries(std::span<const NamedEncoding> tensors, const EncodingsFormat& format) {
  Entries entries;
  std::string reasons;
  std::size_t refused = 0;
  for (const NamedEncoding& tensor : tensors) {
    if (tensor.encoding->is_float() && !format.writes_floats) {
      continue;
    }
    try {
      entries.emplace_back(&tensor, format.write(tensor));
    } catch (const Error& error) {
      if (error.kind() != ErrorKind::unsupported) {
        throw;
      }
      if (refused++ < kNamedReasons) {
        reasons += "\n  tensor \"" + tensor.name + "\": " + error.what();
      }
    }
  }
  if (refused > kNamedReasons) {
    reasons += "\n  and " + std::to_string(refused - kNamedReasons) + " more";
  }
  if (refused > 0) {
    throw Error(ErrorKind::unsupported, "encodings version " + std::string(format.text) +
                                            " can't say " + std::to_string(refused) +
                                            (refused == 1 ? " entry:" : " entries:") + reasons);
  }
  return entries;
}

std::string section_text(const std::string& title, const std::vector<std::string>& lines,
                         bool keyed) {
  std::string text = "  \"" + title + "\": " + (keyed ? "{" : "[");
  for (std::size_t i = 0; i < lines.size(); ++i) {
    text += (i == 0 ? "\n    " : ",\n    ") + lines[i];
  }
  return text + (lines.empty() ? "" : "\n  ") + (keyed ? "}" : "]");
}

std::string line_of(const std::pair<const NamedEncoding*, Json>& entry, bool keyed) {
  return (keyed ? Json(entry.first->name).dump() + ": " : "") + entry.second.dump();
}

std::string body_text(const Entries& entries, const EncodingsFormat& format) {
  std::vector<std::string> all, params;
  for (const auto& entry : entries) {
    (format.sections && entry.first->facts.parameter ? params : all)
        .push_back(line_of(entry, format.keyed));
  }
  if (!format.sections) {
    return section_text("encodings", all, format.keyed);
  }
  return section_text("activation_encodings", all, format.keyed) + ",\n" +
         section_text("param_encodings", params, format.keyed);
}

}  // namespace

std::span<const EncodingsFormat> encodings_formats() noexcept { return kFormats; }

const EncodingsFormat& encodings_format(EncodingsVersion version) noexcept {
  return kFormats[static_cast<std::size_t>(version)];
}

EncodingsVersion parse_encodings_version(std::string_view text) {
  std::string known;
  for (const EncodingsFormat& format : kFormats) {
    if (format.text == text) {
      return format.version;
    }
    known += (known.empty() ? "" : ", ") + std::string(format.text);
  }
  throw Error(ErrorKind::invalid_argument, "encodings version \"" + std::string(text) +
                                               "\" can't be written; choose one of " + known);
}

std::string write_encodings_text(std::span<const NamedEncoding> tensors, EncodingsVersion version,
                                 const Producer& producer) {
  const EncodingsFormat& format = encodings_format(version);
  const Entries entries = make_entries(tensors, format);
  Json who;
  who["package"] = producer.package;
  who["version"] = producer.version;
  return "{\n  \"version\": \"" + std::string(format.text) + "\",\n  \"producer\": " + who.dump() +
         ",\n" + body_text(entries, format) + "\n}\n";
}

}  // namespace halfstep
