#include "halfstep/encodings/schema/read.h"

#include <array>
#include <functional>

#include "halfstep/encodings/schema/file_entry.h"
#include "halfstep/support/error.h"

namespace halfstep {
namespace {

constexpr std::array<const char*, 2> kSections{"activation_encodings", "param_encodings"};
using EntryReader = FileEntry (*)(const std::string& name, const Json& json);

class FileReader {
 public:
  FileReader(const TensorNames& names, const ReadEncodingsOptions& options,
             Diagnostics& diagnostics)
      : names_(names), options_(options), diagnostics_(diagnostics) {}

  EncodingsFile run(const Json& document) {
    if (!document.is_object()) {
      fault("the top level must be an object (got a " + std::string(document.type_name()) + ")");
    }
    switch (major_version(document)) {
      case 0:
        sections(document, read_entry_v0, false);
        break;
      case 1:
        sections(document, read_entry_v1, true);
        break;
      default:
        list(document);
    }
    if (first_fault_) {
      throw Error(*first_fault_);
    }
    return std::move(file_);
  }

 private:
  /// The layout to read. Files without a version are old ones, unless they have the newest layout.
  int major_version(const Json& document) {
    const auto found = document.find("version");
    if (found == document.end()) {
      return document.contains("encodings") ? 2 : 0;
    }
    file_.version = found->is_string() ? found->get<std::string>() : found->dump();
    const std::string major = file_.version.substr(0, file_.version.find('.'));
    if (major == "0" || major == "1" || major == "2") {
      return major[0] - '0';
    }
    fault("version " + found->dump() + " is unknown; halfstep reads 0.x, 1.x and 2.x");
  }

  void list(const Json& document) {
    const auto found = document.find("encodings");
    if (found == document.end() || !found->is_array()) {
      fault("a file of version 2.x needs a list \"encodings\"");
    }
    items(*found, "encodings", read_entry_v2);
  }

  void sections(const Json& document, EntryReader read, bool lists_allowed) {
    bool any = false;
    for (const char* section : kSections) {
      const auto found = document.find(section);
      if (found == document.end()) {
        continue;
      }
      any = true;
      if (found->is_object()) {
        for (const auto& [name, json] : found->items()) {
          entry(name, std::string(section) + "[\"" + name + "\"]", json, read);
        }
      } else if (found->is_array() && lists_allowed) {
        items(*found, section, read);
      } else {
        fault(std::string(section) + " must be " +
              (lists_allowed ? "a list of entries"
                             : "an object by tensor name; a list needs \"version\": \"1.0.0\""));
      }
    }
    if (!any) {
      fault("has neither activation_encodings nor param_encodings");
    }
  }

  void items(const Json& list, const std::string& section, EntryReader read) {
    for (std::size_t i = 0; i < list.size(); ++i) {
      const Json& json = list.at(i);
      const std::string where = section + "[" + std::to_string(i) + "]";
      const bool named = json.is_object() && json.contains("name") && json.at("name").is_string() &&
                         !json.at("name").get_ref<const std::string&>().empty();
      if (named) {
        entry(json.at("name").get<std::string>(), where, json, read);
      } else {
        remember("", where, Error(ErrorKind::invalid_file, "an entry without a name"));
      }
    }
  }

  void entry(const std::string& name, const std::string& where, const Json& json,
             EntryReader read) {
    try {
      const auto [seen, first] = places_.emplace(name, where);
      if (!first) {
        fault("is encoded twice, first in " + seen->second);
      }
      file_.names.push_back(name);
      FileEntry parsed = read(name, json);
      parsed.where = where;
      remark_unknown_keys(json, parsed);
      const auto tensor = find(name);
      if (tensor) {
        store(parsed, *tensor);
      }
    } catch (const Error& error) {
      remember(name, where, error);
    }
  }

  /// Other tools may add keys of their own; one that looks like a known key is a slip.
  static void remark_unknown_keys(const Json& json, FileEntry& entry) {
    static const std::vector<std::string> kKnown = {"name",
                                                    "output_dtype",
                                                    "y_scale",
                                                    "y_zero_point",
                                                    "axis",
                                                    "block_size",
                                                    "per_block_int_scale",
                                                    "per_channel_float_scale",
                                                    "offset",
                                                    "scale",
                                                    "bw",
                                                    "bitwidth",
                                                    "dtype",
                                                    "enc_type",
                                                    "is_sym",
                                                    "is_symmetric",
                                                    "min",
                                                    "max",
                                                    "compressed_bw",
                                                    "zero_point_shift",
                                                    "input_dtype"};
    if (!json.is_object()) {
      return;
    }
    for (const auto& [key, value] : json.items()) {
      if (std::find(kKnown.begin(), kKnown.end(), key) != kKnown.end()) {
        continue;
      }
      const std::string closest = closest_match(key, kKnown);
      const bool slip = !closest.empty() && !json.contains(closest);
      entry.remark(slip ? Severity::warning : Severity::note, "encodings/unknown-key",
                   "key \"" + key + "\" is unknown and says nothing" +
                       (slip ? "; did you mean \"" + closest + "\"?" : ""));
    }
  }

  std::optional<NamedTensor> find(const std::string& name) {
    auto tensor = names_.find(name);
    if (tensor) {
      return tensor;
    }
    const std::string closest = names_.closest(name);
    const std::string text =
        "the model has no such tensor" +
        (closest.empty() ? std::string() : "; did you mean \"" + closest + "\"?");
    if (!options_.lenient) {
      fault(text);
    }
    diagnostics_.push_back({.severity = Severity::warning,
                            .rule = "encodings/unknown-tensor",
                            .subject = name,
                            .message = "\"" + name + "\": " + text + "; the entry was left out"});
    file_.unknown.emplace(name, text);
    return std::nullopt;
  }

  void store(FileEntry& parsed, const NamedTensor& tensor) {
    if (!parsed.scale && is_integer(parsed.dtype)) {
      file_.precisions[parsed.name] = parsed.dtype;
      parsed.remark(Severity::note, "encodings/precision-only",
                    "names a type, but no scale; its range is to be measured on samples");
    } else {
      Encoding encoding = resolve_entry(parsed, tensor.facts);
      if (tensor.use) {
        file_.uses.emplace(parsed.name, *tensor.use);
        file_.table.set_use(*tensor.use, std::move(encoding));
      } else {
        file_.table.set(parsed.name, std::move(encoding));
      }
    }
    diagnostics_.insert(diagnostics_.end(), parsed.remarks.begin(), parsed.remarks.end());
  }

  void remember(const std::string& name, const std::string& where, const Error& error) {
    diagnostics_.push_back({.severity = Severity::error,
                            .rule = "encodings/invalid",
                            .subject = name,
                            .message = where + ": " + error.what()});
    if (!first_fault_) {
      const bool show_name = !name.empty() && where.find('"') == std::string::npos;
      first_fault_ = Error(ErrorKind::invalid_file, error.what())
                         .within(where + (show_name ? " \"" + name + "\"" : ""));
    }
  }

  const TensorNames& names_;
  const ReadEncodingsOptions& options_;
  Diagnostics& diagnostics_;
  EncodingsFile file_{};
  std::map<std::string, std::string> places_{};
  std::optional<Error> first_fault_{};
};

}  // namespace

EncodingsFile read_encodings_text(std::string_view text, const std::string& file,
                                  const TensorNames& names, const ReadEncodingsOptions& options,
                                  Diagnostics& diagnostics) {
  const Json document = parse_json(text, file);
  try {
    return FileReader(names, options, diagnostics).run(document);
  } catch (const Error& error) {
    throw error.within(file);
  }
}

Diagnostics lint_encodings_text(std::string_view text, const std::string& file,
                                const TensorNames& names, const ReadEncodingsOptions& options) {
  Diagnostics diagnostics;
  try {
    (void)read_encodings_text(text, file, names, options, diagnostics);
  } catch (const Error& error) {
    bool told = false;
    for (const Diagnostic& diagnostic : diagnostics) {
      told = told || diagnostic.severity == Severity::error;
    }
    if (!told) {
      diagnostics.push_back({.severity = Severity::error,
                             .rule = "encodings/invalid",
                             .subject = file,
                             .message = error.what()});
    }
  }
  return diagnostics;
}

}  // namespace halfstep
