#include "halfstep/targets/target.h"

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <memory>
#include <system_error>

#include "halfstep/support/config_file.h"
#include "halfstep/support/embedded_data.h"
#include "halfstep/support/error.h"
#include "halfstep/support/json_reader.h"

namespace halfstep {
namespace {

constexpr std::string_view kFolder = "targets/";
constexpr std::int64_t kMostInputs = 1000000;

Dtype read_default_float(const JsonReader& file) {
  for (const Dtype dtype : {Dtype::float16, Dtype::float32, Dtype::bfloat16}) {
    if (file.text("default_float") == halfstep::name(dtype)) {
      return dtype;
    }
  }
  file.fail("default_float", "float16, float32 or bfloat16");
}

int read_number(const JsonReader& file, std::string_view key) {
  constexpr std::int64_t kLargest = 1000000;
  if (!file.has(key)) {
    return 0;
  }
  const std::int64_t number = file.integer(key);
  if (number < 0 || number > kLargest) {
    file.fail(key, "an integer from 0 to 1000000");
  }
  return static_cast<int>(number);
}

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
    entry.allow_only({"name", "ops", "bias", "types", "odd_strides", "source"});
    SuperGroup group{.name = entry.text("name"),
                     .bias = entry.flag_or("bias", false),
                     .odd_strides = entry.flag_or("odd_strides", false),
                     .source = entry.text("source")};
    for (const Json& stage : entry.array("ops")) {
      if (!stage.is_array() || stage.empty() ||
          !std::all_of(stage.begin(), stage.end(), [](const Json& op) { return op.is_string(); })) {
        entry.fail("ops", "an array of arrays of operator names");
      }
      group.ops.push_back(stage.get<std::vector<std::string>>());
    }
    if (entry.has("types")) {
      group.types = entry.texts("types");
      for (const std::string& type : group.types) {
        if (!find_kernel_type(type)) {
          entry.fail("types", "u8, s8, u16, s16, s32, f16, f32 or bf16");
        }
      }
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
  (void)movement.text_or("why", "");  // for readers of the file
  (void)movement.text_or("source", "");
  std::vector<DataMovementOp> ops;
  for (const Json& entry : movement.array("ops")) {
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
      for (const std::int64_t slot : reader.integers("zero_inputs", 0, kMostInputs)) {
        op.zero_inputs.push_back(static_cast<int>(slot));
      }
    }
    ops.push_back(std::move(op));
  }
  return ops;
}

std::vector<std::string> shipped_files() {
  std::vector<std::string> names;
  for (const EmbeddedFile& file : embedded_files()) {
    if (file.name.starts_with(kFolder)) {
      names.emplace_back(std::filesystem::path(file.name).stem());
    }
  }
  return names;
}

std::string shipped_list() {
  std::string list;
  for (const std::string& name : Target::shipped()) {
    list += (list.empty() ? "" : ", ") + name;
  }
  return list;
}

/// The JSON of a target file without what it extends.
Json read_file(const std::string& name_or_path) {
  const std::vector<std::string> names = shipped_files();
  const bool known = std::find(names.begin(), names.end(), name_or_path) != names.end();
  std::error_code error;
  if (!known && !std::filesystem::exists(name_or_path, error)) {
    const std::string close = closest_match(name_or_path, Target::shipped());
    throw Error(
        ErrorKind::invalid_argument,
        "no target \"" + name_or_path + "\": neither a file nor one of " + shipped_list() +
            (close.empty() ? "; `halfstep targets` lists them" : "; did you mean " + close + "?"));
  }
  return known ? parse_json(embedded_file(std::string(kFolder) + name_or_path + ".json"),
                            name_or_path)
               : read_config_file(name_or_path);
}

/// A name in "extends" is shipped, or a path beside the file that extends it.
std::string base_name(const JsonReader& file, const std::string& extending) {
  std::string base = file.text("extends");
  const std::vector<std::string> names = shipped_files();
  if (std::find(names.begin(), names.end(), base) != names.end()) {
    return base;
  }
  const std::filesystem::path path = std::filesystem::path(extending).parent_path() / base;
  std::error_code error;
  if (base.empty() || !std::filesystem::is_regular_file(path, error)) {
    const std::string close = closest_match(base, names);
    file.fail("extends", "a shipped target or a file beside this one" +
                             (close.empty() ? "" : " (did you mean \"" + close + "\"?)"));
  }
  return path.string();
}

/// The file with every key of the files it extends that it does not have itself.
Json whole_file(const std::string& name_or_path) {
  constexpr int kMostFiles = 16;
  Json whole = Json::object();
  std::string next = name_or_path;
  for (int depth = 0; !next.empty(); ++depth) {
    require(depth < kMostFiles, "target " + name_or_path + ": \"extends\" goes in a circle");
    const Json json = read_file(next);
    const JsonReader file(json, "target " + next);
    for (const auto& [key, value] : json.items()) {
      if (!whole.contains(key) && (key != "abstract" || depth == 0)) {
        whole[key] = value;
      }
    }
    next = file.has("extends") ? base_name(file, next) : "";
  }
  return whole;
}

}  // namespace

std::vector<std::string> Target::shipped() {
  std::vector<std::string> names;
  for (const std::string& file : shipped_files()) {
    const Json json = parse_json(embedded_file(std::string(kFolder) + file + ".json"), file);
    if (!json.value("abstract", false)) {
      names.push_back(file);
    }
  }
  return names;
}

Target Target::load(const std::string& name_or_path) {
  const Json json = whole_file(name_or_path);
  const JsonReader file(json, "target " + name_or_path);
  file.allow_only({"schema",
                   "name",
                   "extends",
                   "abstract",
                   "summary",
                   "source",
                   "default_float",
                   "arch",
                   "soc",
                   "integer_only",
                   "float32_is_float16",
                   "fixed_point",
                   "fixed_ranges",
                   "quantized_ops",
                   "data_movement",
                   "super_groups",
                   "types",
                   "lowering",
                   "kernels",
                   "weight_rules",
                   "bias",
                   "fixed_encodings",
                   "data_movement_chains"});
  require(file.integer("schema") == 1, file.where() + ": \"schema\": this halfstep reads schema 1");
  require(!file.flag_or("abstract", false),
          file.where() + " is only there to be extended; take one of " + shipped_list());
  Target target;
  target.name_ = file.text("name");
  target.summary_ = file.text("summary");
  target.source_ = file.text("source");
  target.default_float_ = read_default_float(file);
  target.arch_ = read_number(file, "arch");
  target.soc_ = read_number(file, "soc");
  target.integer_only_ = file.flag_or("integer_only", false);
  target.float32_is_float16_ = file.flag_or("float32_is_float16", false);
  target.fixed_point_ = file.flag_or("fixed_point", false);
  target.fixed_ranges_ = read_fixed_ranges(file, "fixed_ranges");
  require(!file.has("quantized_ops") || !file.has("kernels"),
          file.where() + ": give \"quantized_ops\" or \"kernels\", not both");
  if (file.has("quantized_ops")) {
    target.rules_ = read_rules(file);
    target.data_movement_ = read_data_movement(file);
  }
  if (file.has("kernels")) {
    target.kernels_ = std::make_shared<const KernelFacts>(read_kernel_facts(file));
  }
  if (file.has("super_groups")) {
    target.super_groups_ = read_super_groups(file);
  }
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
