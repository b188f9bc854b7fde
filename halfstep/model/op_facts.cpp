#include "halfstep/model/op_facts.h"

#include <map>
#include <utility>

#include "halfstep/model/model.h"
#include "halfstep/support/embedded_data.h"
#include "halfstep/support/error.h"
#include "halfstep/support/json.h"

namespace halfstep {
namespace {

struct WeightRow {
  WeightFacts facts{};
  std::string swap_if{};         // attribute that exchanges the two axes
  std::string channel_repeat{};  // attribute that says how often a channel is used
};
struct OpRow {
  std::optional<WeightRow> weight{}, recurrence{}, mirrored{};
  std::optional<int> bias_slot{};
  std::optional<int> data_inputs{};
};
using OpTable = std::map<std::string, OpRow, std::less<>>;

WeightRow read_weight(const Json& weight) {
  return {.facts = {.slot = weight.at("slot").get<int>(),
                    .channel_axis = weight.at("channel_axis").get<std::int64_t>(),
                    .block_axis = weight.at("block_axis").get<std::int64_t>()},
          .swap_if = weight.value("swap_if", ""),
          .channel_repeat = weight.value("channel_repeat", "")};
}

OpTable read_table() {
  OpTable table;
  const Json json = parse_json(embedded_file("ops.json"), "ops.json");
  for (const auto& [op_type, row] : json.at("ops").items()) {
    OpRow& facts = table[op_type];
    if (row.contains("weight")) {
      facts.weight = read_weight(row.at("weight"));
    }
    if (row.contains("recurrence")) {
      facts.recurrence = read_weight(row.at("recurrence"));
    }
    if (row.contains("mirrored")) {
      facts.mirrored = read_weight(row.at("mirrored"));
    }
    if (row.contains("bias")) {
      facts.bias_slot = row.at("bias").at("slot").get<int>();
    }
    if (row.contains("data_inputs")) {
      facts.data_inputs = row.at("data_inputs").get<int>();
    }
  }
  return table;
}

WeightFacts facts_of(const WeightRow& row, const onnx::NodeProto& node) {
  WeightFacts facts = row.facts;
  if (!row.swap_if.empty() && int_attribute(node, row.swap_if, 0) != 0) {
    std::swap(facts.channel_axis, facts.block_axis);
  }
  if (!row.channel_repeat.empty()) {
    facts.channel_repeat = int_attribute(node, row.channel_repeat, 1);
  }
  return facts;
}

const OpTable& op_table() {
  static const OpTable table = read_table();
  return table;
}

}  // namespace

bool is_onnx_domain(const onnx::NodeProto& node) {
  return node.domain().empty() || node.domain() == "ai.onnx";
}

OpFacts op_facts(const onnx::NodeProto& node) {
  OpFacts facts;
  const auto row = op_table().find(qualified_op(node));
  if (row == op_table().end()) {
    return facts;
  }
  facts.bias_slot = row->second.bias_slot;
  facts.data_inputs = row->second.data_inputs;
  if (row->second.weight) {
    facts.weight = facts_of(*row->second.weight, node);
  }
  if (row->second.recurrence) {
    facts.recurrence = facts_of(*row->second.recurrence, node);
  }
  if (row->second.mirrored) {
    facts.mirrored = facts_of(*row->second.mirrored, node);
  }
  return facts;
}

std::optional<WeightFacts> weight_facts(const onnx::NodeProto& node, int slot) {
  const OpFacts facts = op_facts(node);
  if (facts.weight && facts.weight->slot == slot) {
    return facts.weight;
  }
  if (facts.mirrored && facts.mirrored->slot == slot) {
    return facts.mirrored;
  }
  return facts.recurrence && facts.recurrence->slot == slot ? facts.recurrence : std::nullopt;
}

bool is_weight_slot(const onnx::NodeProto& node, int slot) {
  return weight_facts(node, slot).has_value();
}

std::string qualified_op(const onnx::NodeProto& node) {
  return is_onnx_domain(node) ? node.op_type() : node.domain() + "." + node.op_type();
}

std::int64_t normalized_axis(std::int64_t axis, std::size_t rank) {
  const auto signed_rank = static_cast<std::int64_t>(rank);
  require(axis >= -signed_rank && axis < signed_rank,
          "axis " + std::to_string(axis) + " is outside a tensor of rank " + std::to_string(rank));
  return axis < 0 ? axis + signed_rank : axis;
}

}  // namespace halfstep
