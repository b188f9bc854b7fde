#include "halfstep/explain.h"

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <utility>

#include "halfstep/adaptation/precision.h"
#include "halfstep/frontends/qdq.h"
#include "halfstep/model/graph_index.h"
#include "halfstep/support/error.h"

namespace halfstep {
namespace {

constexpr std::string_view kKey = "halfstep.decisions";
constexpr std::array<std::string_view, 3> kFamilies = {"prepare/", "adapt/", "write/"};

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

/// What the metadata of a model holds.
struct Record {
  std::string target{};
  std::map<std::string, std::string> given{};  ///< by tensor
  Diagnostics decisions{};
};

Record parse_record(const Model& model, const std::string& text) {
  const std::string where = model.name() + ": metadata " + std::string(kKey);
  Record record;
  try {
    const Json json = parse_json(text, where);
    record.target = json.at("target").get<std::string>();
    for (const auto& [tensor, encoding] : json.at("given").items()) {
      record.given[tensor] = encoding.get<std::string>();
    }
    for (const Json& entry : json.at("decisions")) {
      record.decisions.push_back(
          {.severity = parse_severity(entry.at("severity").get<std::string>()),
           .rule = entry.at("rule").get<std::string>(),
           .subject = entry.at("subject").get<std::string>(),
           .message = entry.at("message").get<std::string>()});
    }
  } catch (const Error&) {
    throw;
  } catch (const std::exception& problem) {
    throw Error(ErrorKind::invalid_file, where + " is damaged: " + problem.what());
  }
  return record;
}

Record read_record(const Model& model) {
  const std::string* text = recorded(model);
  if (text == nullptr) {
    throw Error(ErrorKind::nothing_to_do,
                model.name() +
                    ": no decisions are recorded in this model; 'halfstep convert' and 'halfstep "
                    "quantize --target' with a target that adapts record them");
  }
  return parse_record(model, *text);
}

Json decision_json(const Diagnostic& decision) {
  return {{"severity", severity_text(decision.severity)},
          {"rule", decision.rule},
          {"subject", decision.subject},
          {"message", decision.message}};
}

std::string_view giver(Origin origin) {
  switch (origin) {
    case Origin::calibrated:
      return "calibration";
    case Origin::model:
      return "the model";
    case Origin::override_file:
      return "the encodings file";
    case Origin::fixed_range:
      return "the fixed ranges of recipe or target";
    default:
      return "halfstep";
  }
}

/// The record of an earlier adaptation for the same target, if it can be read.
Record earlier_record(const Model& model, const std::string& target) {
  const std::string* text = recorded(model);
  if (text == nullptr) {
    return {.target = target};
  }
  try {
    const Record record = parse_record(model, *text);
    return record.target == target ? record : Record{.target = target};
  } catch (const Error&) {
    return {.target = target};
  }
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

void record_decisions(Model& model, const std::string& target, const EncodingTable& given,
                      const Diagnostics& diagnostics) {
  Record record = earlier_record(model, target);
  const bool again = !record.given.empty() || !record.decisions.empty();
  for (const auto& [tensor, encoding] : given) {
    if (again && encoding.origin == Origin::model) {
      continue;  // that is the result of the earlier adaptation
    }
    record.given.emplace(tensor, std::string(giver(encoding.origin)) + ": " + describe(encoding));
  }
  for (const Diagnostic& diagnostic : diagnostics) {
    const bool of_adaptation =
        std::any_of(kFamilies.begin(), kFamilies.end(),
                    [&](std::string_view family) { return diagnostic.rule.starts_with(family); });
    if (of_adaptation) {
      record.decisions.push_back(diagnostic);
    }
  }
  Json json = {{"target", target}, {"given", Json::object()}, {"decisions", Json::array()}};
  for (const auto& [tensor, text] : record.given) {
    json["given"][tensor] = text;
  }
  std::set<std::string> known;
  for (const Diagnostic& decision : record.decisions) {
    Json entry = decision_json(decision);
    if (known.insert(entry.dump()).second) {
      json["decisions"].push_back(std::move(entry));
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
  Json json = {{"target", explanation.target},     {"name", explanation.name},
               {"encoding", explanation.encoding}, {"given", explanation.given},
               {"decisions", Json::array()},       {"totals", Json::object()}};
  for (const Diagnostic& decision : explanation.decisions) {
    json["decisions"].push_back(decision_json(decision));
  }
  for (const auto& [rule, count] : explanation.totals) {
    json["totals"][rule] = count;
  }
  return json;
}

Explanation explain(const Model& model, const std::string& name) {
  Record record = read_record(model);
  Explanation explanation{.target = record.target, .name = name};
  Diagnostics& decisions = record.decisions;
  for (const Diagnostic& decision : decisions) {
    ++explanation.totals[decision.rule];
  }
  if (name.empty()) {
    explanation.decisions = std::move(decisions);
    return explanation;
  }
  require_name(model, decisions, name);
  explanation.encoding = encoding_text(model, name);
  explanation.given = record.given[name];
  std::copy_if(decisions.begin(), decisions.end(), std::back_inserter(explanation.decisions),
               [&name](const Diagnostic& decision) { return speaks_of(decision, name); });
  return explanation;
}

}  // namespace halfstep
