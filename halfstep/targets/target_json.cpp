#include "halfstep/targets/target_json.h"

#include <array>

namespace halfstep {

std::string_view name(QuantizeWhen when) noexcept {
  constexpr std::array<std::string_view, 4> kTexts = {"never", "always", "between", "weight"};
  return kTexts[static_cast<std::size_t>(when)];
}

std::string condition_text(const DataMovementOp& op) {
  std::string text;
  for (const std::string& value : op.values) {
    text += text.empty() ? "if " + op.attribute + " is " : " or ";
    text += value.empty() ? "not given" : value;
  }
  for (const int input : op.zero_inputs) {
    text += (text.empty() ? "if input " : ", if input ") + std::to_string(input) + " is 0";
  }
  return text;
}

Json to_json(const Target& target) {
  Json json = {{"name", target.name()},        {"summary", target.summary()},
               {"source", target.source()},    {"default_float", name(target.default_float())},
               {"ops", Json::object()},        {"data_movement", Json::array()},
               {"super_groups", Json::array()}};
  json["arch"] = target.arch();
  json["kernels"] = Json::object();
  if (target.kernels() != nullptr) {
    for (const auto& [op, kernels] : target.kernels()->ops) {
      for (const Kernel& kernel : kernels.kernels) {
        if (kernel.min_arch <= target.arch()) {
          json["kernels"][op].push_back({{"types", kernel.text}, {"source", kernel.source}});
        }
      }
    }
    for (const ChainOp& op : target.kernels()->chains) {
      json["data_movement"].push_back({{"op", op.op}, {"condition", ""}});
    }
  }
  for (const auto& [op, rule] : target.rules()) {
    json["ops"][op] = {{"when", name(rule.when)}, {"why", rule.why}, {"source", rule.source}};
  }
  for (const DataMovementOp& op : target.data_movement()) {
    json["data_movement"].push_back({{"op", op.op_type}, {"condition", condition_text(op)}});
  }
  for (const SuperGroup& group : target.super_groups()) {
    json["super_groups"].push_back(
        {{"name", group.name}, {"ops", group.ops}, {"source", group.source}});
  }
  return json;
}

}  // namespace halfstep
