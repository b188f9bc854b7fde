#include "halfstep/targets/target.h"

#include <algorithm>
#include <filesystem>
#include <iterator>

#include "halfstep/support/embedded_data.h"
#include "halfstep/support/error.h"
#include "halfstep/support/file.h"
#include "halfstep/support/json_reader.h"

namespace halfstep {
namespace {

constexpr std::string_view kFolder = "targets/";

QuantizeWhen parse_when(const JsonReader& reader) {
  const std::string when = reader.text("when");
  if (when == "always") {
    return QuantizeWhen::always;
  }
  if (when == "between") {
    return QuantizeWhen::between;
  }
  if (when == "weight") {
    return QuantizeWhen::weight;
  }
  reader.fail("when", "\"always\", \"between\" or \"weight\"");
}

std::map<std::string, OpRule, std::less<>> read_rules(const JsonReader& file) {
  std::map<std::string, OpRule, std::less<>> rules;
  for (const JsonReader& entry : file.objects("quantized_ops")) {
    entry.allow_only({"ops", "when", "float_output", "why", "source"});
    for (const std::string& op : entry.texts("ops")) {
      const OpRule rule{.when = parse_when(entry),
                        .float_output = entry.flag_or("float_output", false),
                        .why = entry.text("why"),
                        .source = entry.text("source")};
      require(rules.emplace(op, rule).second,
              entry.where() + ": operator " + op + " is listed twice");
    }
  }
  return rules;
}

std::vector<SuperGroup> read_super_groups(const JsonReader& file) {
  std::vector<SuperGroup> groups;
  for (const JsonReader& entry : file.objects("super_groups")) {
    entry.allow_only({"name", "ops", "bias", "source"});
    SuperGroup group{.name = entry.text("name"),
                     .bias = entry.flag_or("bias", false),
                     .source = entry.text("source")};
    for (const Json& stage : entry.value("ops")) {
      if (!stage.is_array() || stage.empty() || !stage.front().is_string()) {
        entry.fail("ops", "an array of arrays of operator names");
      }
      group.ops.push_back(stage.get<std::vector<std::string>>());
    }
    if (group.ops.size() < 2) {
      entry.fail("ops", "at least two stages");
    }
    groups.push_back(std::move(group));
  }
  std::stable_sort(groups.begin(), groups.end(), [](const SuperGroup& a, const SuperGroup& b) {
    return a.ops.size() > b.ops.size();
  });
  return groups;
}

std::vector<DataMovementOp> read_data_movement(const JsonReader& file) {
  const JsonReader movement = file.object("data_movement");
  movement.allow_only({"ops", "direction", "why", "source"});
  if (movement.text("direction") != "forward") {
    movement.fail("direction", "\"forward\"");
  }
  std::vector<DataMovementOp> ops;
  for (const Json& entry : movement.value("ops")) {
    if (entry.is_string()) {
      ops.push_back({.op_type = entry.get<std::string>()});
      continue;
    }
    const JsonReader reader(entry, movement.where() + ": \"ops\"");
    reader.allow_only({"op", "attribute", "values", "zero_inputs"});
    DataMovementOp op{.op_type = reader.text("op"), .attribute = reader.text_or("attribute", "")};
    if (!op.attribute.empty()) {
      op.values = reader.texts("values");
    }
    if (reader.has("zero_inputs")) {
      op.zero_inputs = reader.value("zero_inputs").get<std::vector<int>>();
    }
    ops.push_back(std::move(op));
  }
  return ops;
}

}  // namespace

std::vector<std::string> Target::shipped() {
  std::vector<std::string> names;
  for (const EmbeddedFile& file : embedded_files()) {
    if (file.name.starts_with(kFolder)) {
      names.emplace_back(std::filesystem::path(file.name).stem());
    }
  }
  return names;
}

Target Target::load(const std::string& name_or_path) {
  const std::vector<std::string> names = shipped();
  const bool known = std::find(names.begin(), names.end(), name_or_path) != names.end();
  if (!known && !std::filesystem::exists(name_or_path)) {
    std::string list;
    for (const std::string& name : names) {
      list += (list.empty() ? "" : ", ") + name;
    }
    throw Error(
        ErrorKind::invalid_argument,
        "no target \"" + name_or_path + "\": neither a shipped name (" + list + ") nor a file");
  }
  const std::string text =
      known ? std::string(embedded_file(std::string(kFolder) + name_or_path + ".json"))
            : read_text(name_or_path);
  const Json json = parse_json(text, name_or_path);
  const JsonReader file(json, "target " + name_or_path);
  file.allow_only({"schema", "name", "summary", "source", "default_float", "quantized_ops",
                   "data_movement", "super_groups"});
  require(file.integer("schema") == 1, file.where() + ": \"schema\": this halfstep reads schema 1");
  Target target;
  target.name_ = file.text("name");
  target.summary_ = file.text("summary");
  target.source_ = file.text("source");
  target.default_float_ = parse_dtype(file.text("default_float"));
  target.rules_ = read_rules(file);
  target.data_movement_ = read_data_movement(file);
  target.super_groups_ = read_super_groups(file);
  return target;
}

OpRule Target::rule(std::string_view op_type) const {
  const auto found = rules_.find(op_type);
  return found == rules_.end() ? OpRule{} : found->second;
}

const DataMovementOp* Target::data_movement(std::string_view op_type) const {
  const auto found =
      std::find_if(data_movement_.begin(), data_movement_.end(),
                   [op_type](const DataMovementOp& op) { return op.op_type == op_type; });
  return found == data_movement_.end() ? nullptr : &*found;
}

}  // namespace halfstep
