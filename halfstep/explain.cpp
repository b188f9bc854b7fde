#include "halfstep/explain.h"

#include <algorithm>
#include <array>
#include <utility>

#include "halfstep/adaptation/precision.h"
#include "halfstep/frontends/qdq.h"
#include "halfstep/model/graph_index.h"
#include "halfstep/support/error.h"

namespace halfstep {
namespace {

constexpr std::string_view kKey = "halfstep.decisions";
constexpr std::array<std::string_view, 2> kFamilies = {"prepare/", "adapt/"};

const std::string* recorded(const Model& model) {
  for (const onnx::StringStringEntryProto& entry : model.proto().metadata_props()) {
    if (entry.key() == kKey) {
      return &entry.value();
    }
  }
  return nullptr;
}

Severity parse_severity(const std::string& text) {
  return text == "warning" ? Severity::warning : text == "error" ? Severity::error : Severity::note;
}

std::string severity_text(Severity severity) {
  return severity == Severity::warning ? "warning" : severity == Severity::error ? "error" : "note";
}

Diagnostics read_decisions(const Model& model, std::string& target) {
  const std::string* text = recorded(model);
  if (text == nullptr) {
    throw Error(ErrorKind::nothing_to_do,
                model.name() +
                    ": no decisions are recorded in this model; 'halfstep convert' and 'halfstep "
                    "quantize --target' with a target that adapts record them");
  }
  Diagnostics decisions;
  try {
    const Json json = parse_json(*text, model.name() + ": metadata " + std::string(kKey));
    target = json.at("target").get<std::string>();
    for (const Json& entry : json.at("decisions")) {
      decisions.push_back({.severity = parse_severity(entry.at("severity").get<std::string>()),
                           .rule = entry.at("rule").get<std::string>(),
                           .subject = entry.at("subject").get<std::string>(),
                           .message = entry.at("message").get<std::string>()});
    }
  } catch (const Error&) {
    throw;
  } catch (const std::exception& problem) {
    throw Error(ErrorKind::invalid_file, model.name() + ": metadata " + std::string(kKey) +
                                             " is damaged: " + problem.what());
  }
  return decisions;
}

/// Tensors and nodes that the user may ask about.
std::vector<std::string> known_names(const Model& model) {
  std::vector<std::string> names = GraphIndex(model).tensor_names();
  for (const onnx::NodeProto& node : model.graph().node()) {
    if (!node.name().empty()) {
      names.push_back(node.name());
    }
  }
  return names;
}

void require_name(const Model& model, const Diagnostics& decisions, const std::string& name) {
  const std::vector<std::string> names = known_names(model);
  const bool decided = std::any_of(decisions.begin(), decisions.end(),
                                   [&name](const Diagnostic& d) { return d.subject == name; });
  if (decided || std::find(names.begin(), names.end(), name) != names.end()) {
    return;
  }
  const std::string closest = closest_match(name, names);
  throw Error(ErrorKind::invalid_argument,
              model.name() + ": no tensor and no node \"" + name + "\"" +
                  (closest.empty() ? "" : "; did you mean \"" + closest + "\"?"));
}

bool speaks_of(const Diagnostic& decision, const std::string& name) {
  return decision.subject == name || decision.message.find("'" + name + "'") != std::string::npos;
}

std::string encoding_text(const Model& model, const std::string& name) {
  Model folded = model.clone();
  Diagnostics unused;
  const EncodingTable table = extract_qdq(folded, unused);
  const Encoding* encoding = table.find(name);
  return encoding == nullptr ? "" : describe(*encoding);
}

}  // namespace

void record_decisions(Model& model, const std::string& target, const Diagnostics& diagnostics) {
  Json json = {{"target", target}, {"decisions", Json::array()}};
  for (const Diagnostic& diagnostic : diagnostics) {
    if (std::any_of(kFamilies.begin(), kFamilies.end(),
                    [&](std::string_view family) { return diagnostic.rule.starts_with(family); })) {
      json["decisions"].push_back({{"severity", severity_text(diagnostic.severity)},
                                   {"rule", diagnostic.rule},
                                   {"subject", diagnostic.subject},
                                   {"message", diagnostic.message}});
    }
  }
  auto& entries = *model.proto().mutable_metadata_props();
  const auto old = std::find_if(entries.begin(), entries.end(),
                                [](const auto& entry) { return entry.key() == kKey; });
  onnx::StringStringEntryProto& entry = old != entries.end() ? *old : *entries.Add();
  entry.set_key(std::string(kKey));
  entry.set_value(json.dump());
}

Json to_json(const Explanation& explanation) {
  Json json = {{"target", explanation.target},
               {"name", explanation.name},
               {"encoding", explanation.encoding},
               {"decisions", Json::array()},
               {"totals", Json::object()}};
  for (const Diagnostic& decision : explanation.decisions) {
    json["decisions"].push_back({{"severity", severity_text(decision.severity)},
                                 {"rule", decision.rule},
                                 {"subject", decision.subject},
                                 {"message", decision.message}});
  }
  for (const auto& [rule, count] : explanation.totals) {
    json["totals"][rule] = count;
  }
  return json;
}

Explanation explain(const Model& model, const std::string& name) {
  Explanation explanation{.name = name};
  Diagnostics decisions = read_decisions(model, explanation.target);
  for (const Diagnostic& decision : decisions) {
    ++explanation.totals[decision.rule];
  }
  if (name.empty()) {
    explanation.decisions = std::move(decisions);
    return explanation;
  }
  require_name(model, decisions, name);
  explanation.encoding = encoding_text(model, name);
  std::copy_if(decisions.begin(), decisions.end(), std::back_inserter(explanation.decisions),
               [&name](const Diagnostic& decision) { return speaks_of(decision, name); });
  return explanation;
}

}  // namespace halfstep
