#include "halfstep/encodings_files.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <set>

#include "halfstep/frontends/encodings_file.h"
#include "halfstep/frontends/qdq.h"
#include "halfstep/model/graph_index.h"
#include "halfstep/outputs/encodings_json.h"
#include "halfstep/support/error.h"
#include "halfstep/support/file.h"
#include "halfstep/version.h"

namespace halfstep {
namespace {

/// The graph whose names files use: that of the model without its Q/DQ.
class NamedGraph {
 public:
  explicit NamedGraph(const Model* model) {
    if (model == nullptr) {
      names_ = any_tensor_names();
      return;
    }
    if (has_qdq(*model)) {
      folded_.emplace(model->clone());
      Diagnostics kept;  // of the model, not of the files
      static_cast<void>(extract_qdq(*folded_, kept));
    }
    graph_.emplace(folded_ ? *folded_ : *model);
    names_ = tensor_names(*graph_);
  }

  [[nodiscard]] const TensorNames& names() const { return *names_; }
  [[nodiscard]] const GraphIndex* graph() const { return graph_ ? &*graph_ : nullptr; }

 private:
  std::optional<Model> folded_{};
  std::optional<GraphIndex> graph_{};
  std::unique_ptr<TensorNames> names_{};
};

EncodingsFile read(const std::filesystem::path& path, const NamedGraph& graph, bool lenient,
                   Diagnostics& diagnostics) {
  return read_encodings_text(read_text(path), path.string(), graph.names(), {.lenient = lenient},
                             diagnostics);
}

/// Files before 2.x name float tensors, later ones leave them out.
bool leaves_floats_out(const EncodingsFile& file) { return file.version.starts_with('2'); }

/// What can be known of a tensor without its model.
TensorFacts facts_without_model(const std::string& name, const Encoding& encoding) {
  const auto* channel = std::get_if<PerChannel>(&encoding.granularity);
  if (channel != nullptr && !channel->axis) {
    throw Error(ErrorKind::unsupported,
                "\"" + name +
                    "\" has one scale a channel, and the file does not say of which "
                    "axis; give the model with --model");
  }
  TensorFacts facts;
  const std::size_t rank = channel != nullptr
                               ? static_cast<std::size_t>(channel->axis.value_or(0)) + 1
                               : encoding.shape.size();
  if (rank > 0) {
    facts.shape.emplace(rank, -1);
  }
  facts.parameter = rank > 0 || encoding.dtype == Dtype::int32;
  return facts;
}

std::string text_without_model(const EncodingTable& table, const std::vector<std::string>& names,
                               EncodingsVersion to) {
  std::vector<NamedEncoding> entries;
  for (const std::string& name : names) {
    if (const Encoding* encoding = table.find(name)) {
      entries.push_back(
          {.name = name, .encoding = encoding, .facts = facts_without_model(name, *encoding)});
    }
  }
  try {
    return write_encodings_text(entries, to,
                                {.package = "halfstep", .version = std::string(kVersion)});
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::unsupported) {
      throw;
    }
    throw Error(ErrorKind::unsupported,
                std::string(error.what()) + "; the model (--model) may help");
  }
}

/// One file or several, later ones over earlier ones.
struct Merged {
  EncodingTable table{};
  std::vector<std::string> names{};
  std::map<std::string, Dtype> precisions{};
};

void refuse_precisions(const Merged& merged) {
  if (merged.precisions.empty()) {
    return;
  }
  std::string names;
  for (const auto& [name, dtype] : merged.precisions) {
    names += (names.empty() ? "\"" : ", \"") + name + "\"";
  }
  throw Error(ErrorKind::unsupported,
              "entries that name a type without a scale can't be written: " + names +
                  "; measure them with 'halfstep quantize --encodings FILE --calibration DATA "
                  "--encodings-out OUT'");
}

std::string text_of(const Merged& merged, EncodingsVersion to, const NamedGraph& graph,
                    Diagnostics& diagnostics) {
  refuse_precisions(merged);
  if (!encodings_format(to).writes_floats) {
    for (const auto& [tensor, encoding] : merged.table) {
      if (encoding.is_float()) {
        diagnostics.push_back({.severity = Severity::note,
                               .rule = "encodings/float-left-out",
                               .subject = tensor,
                               .message = "\"" + tensor + "\" is " +
                                          std::string(name(encoding.dtype)) + "; version " +
                                          std::string(encodings_format(to).text) +
                                          " says that by having no entry"});
      }
    }
  }
  return graph.graph() != nullptr ? write_encodings(merged.table, *graph.graph(), to)
                                  : text_without_model(merged.table, merged.names, to);
}

void lay_over(Merged& merged, EncodingsFile file, const std::string& path,
              Diagnostics& diagnostics) {
  const auto replaced = [&](const std::string& name, const Encoding* before, const Encoding& now) {
    if (before == nullptr) {
      return;
    }
    const std::string difference = difference_of(*before, now);
    if (!difference.empty()) {
      diagnostics.push_back({.severity = Severity::note,
                             .rule = "encodings/replaced",
                             .subject = name,
                             .message = path + " replaces \"" + name + "\": " + difference});
    }
  };
  for (const auto& [tensor, encoding] : file.table) {
    replaced(tensor, merged.table.find(tensor), encoding);
    merged.precisions.erase(tensor);
  }
  for (const auto& [entry, use] : file.uses) {
    replaced(entry, merged.table.find_use(use, ""), file.table.uses().at(use));
  }
  for (const auto& [tensor, dtype] : file.precisions) {
    merged.table.erase(tensor);
    merged.precisions[tensor] = dtype;
  }
  std::set<std::string> known(merged.names.begin(), merged.names.end());
  for (std::string& entry : file.names) {
    if (known.insert(entry).second) {
      merged.names.push_back(std::move(entry));
    }
  }
  merged.table = merged.table.overridden_by(file.table);
}

void diff_precisions(const EncodingsFile& first, const EncodingsFile& second, bool common,
                     std::vector<EncodingDifference>& differences) {
  using Kind = EncodingDifference::Kind;
  for (const auto& [tensor, dtype] : first.precisions) {
    const auto other = second.precisions.find(tensor);
    if (other != second.precisions.end() && other->second != dtype) {
      differences.push_back({.name = tensor,
                             .text = "type " + std::string(name(dtype)) + " against " +
                                     std::string(name(other->second)) + ", both without a scale"});
    } else if (other == second.precisions.end() && !common) {
      differences.push_back({.name = tensor, .kind = Kind::only_in_first});
    }
  }
  for (const auto& [tensor, dtype] : second.precisions) {
    if (!first.precisions.contains(tensor) && !common) {
      differences.push_back({.name = tensor, .kind = Kind::only_in_second});
    }
  }
}

}  // namespace

EncodingsFile read_encodings(const std::filesystem::path& path, const EncodingsSource& source,
                             Diagnostics& diagnostics) {
  return read(path, NamedGraph(source.model), source.lenient, diagnostics);
}

std::size_t LintReport::count(Severity severity) const {
  return static_cast<std::size_t>(
      std::count_if(diagnostics.begin(), diagnostics.end(),
                    [&](const Diagnostic& diagnostic) { return diagnostic.severity == severity; }));
}

LintReport lint_encodings(const std::filesystem::path& path, const EncodingsSource& source) {
  const NamedGraph graph(source.model);
  return {.file = path.string(),
          .diagnostics = lint_encodings_text(read_text(path), path.string(), graph.names(),
                                             {.lenient = source.lenient})};
}

std::vector<EncodingDifference> diff_encodings(const std::filesystem::path& first,
                                               const std::filesystem::path& second,
                                               const EncodingsSource& source,
                                               const DiffOptions& options,
                                               Diagnostics& diagnostics) {
  const NamedGraph graph(source.model);
  const EncodingsFile a = read(first, graph, source.lenient, diagnostics);
  const EncodingsFile b = read(second, graph, source.lenient, diagnostics);
  std::vector<EncodingDifference> differences = diff_encodings(
      a.table, b.table, options.tolerance, leaves_floats_out(a) || leaves_floats_out(b));
  if (options.common) {
    std::erase_if(differences, [](const EncodingDifference& difference) {
      return difference.kind != EncodingDifference::Kind::different;
    });
  }
  diff_precisions(a, b, options.common, differences);
  return differences;
}

std::string convert_encodings(const std::filesystem::path& path, EncodingsVersion to,
                              const EncodingsSource& source, Diagnostics& diagnostics) {
  const std::filesystem::path paths[] = {path};
  return merge_encodings(paths, to, source, diagnostics);
}

std::string merge_encodings(std::span<const std::filesystem::path> paths, EncodingsVersion to,
                            const EncodingsSource& source, Diagnostics& diagnostics) {
  const NamedGraph graph(source.model);
  Merged merged;
  for (const std::filesystem::path& path : paths) {
    lay_over(merged, read(path, graph, source.lenient, diagnostics), path.string(), diagnostics);
  }
  return text_of(merged, to, graph, diagnostics);
}

std::pair<Model, EncodingTable> extract_encodings(const Model& model, Diagnostics& diagnostics) {
  if (!has_qdq(model)) {
    throw Error(ErrorKind::nothing_to_do,
                model.name() + ": has neither Q/DQ nor integer operators to take encodings from");
  }
  Model folded = model.clone();
  EncodingTable table = extract_qdq(folded, diagnostics);
  return {std::move(folded), std::move(table)};
}

Json to_json(const Encoding& encoding) {
  Json json{{"dtype", name(encoding.dtype)}, {"granularity", to_json(encoding.granularity)}};
  if (!encoding.is_float()) {
    json["shape"] = encoding.shape;
    json["scale"] = encoding.scale;
    json["zero_point"] = encoding.zero_point.empty()
                             ? std::vector<std::int64_t>(encoding.scale.size(), 0)
                             : encoding.zero_point;
    json["symmetric"] = encoding.symmetric();
  }
  if (encoding.half_step) {
    json["half_step"] = true;
  }
  if (!encoding.block_scale.empty()) {
    json["block_scale"] = encoding.block_scale;
  }
  if (!encoding.minval.empty()) {
    json["minval"] = encoding.minval;
  }
  json["origin"] = name(encoding.origin);
  return json;
}

}  // namespace halfstep
