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
  std::optional<WeightRow> weight{};
  std::optional<int> bias_slot{};
  std::optional<int> data_inputs{};
};
using OpTable = std::map<std::string, OpRow, std::less<>>;

OpTable read_table() {
  OpTable table;
  const Json json = parse_json(embedded_file("ops.json"), "ops.json");
  for (const auto& [op_type, row] : json.at("ops").items()) {
    OpRow& facts = table[op_type];
    if (row.contains("weight")) {
      const Json& weight = row.at("weight");
      facts.weight =
          WeightRow{.facts = {.slot = weight.at("slot").get<int>(),
                              .channel_axis = weight.at("channel_axis").get<std::int64_t>(),
                              .block_axis = weight.at("block_axis").get<std::int64_t>()},
                    .swap_if = weight.value("swap_if", ""),
                    .channel_repeat = weight.value("channel_repeat", "")};
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
  const auto row = op_table().find(node.op_type());
  if (row == op_table().end() || !is_onnx_domain(node)) {
    return facts;
  }
  facts.bias_slot = row->second.bias_slot;
  facts.data_inputs = row->second.data_inputs;
  if (row->second.weight) {
    const WeightRow& weight = *row->second.weight;
    facts.weight = weight.facts;
    if (!weight.swap_if.empty() && int_attribute(node, weight.swap_if, 0) != 0) {
      std::swap(facts.weight->channel_axis, facts.weight->block_axis);
    }
    if (!weight.channel_repeat.empty()) {
      facts.weight->channel_repeat = int_attribute(node, weight.channel_repeat, 1);
    }
  }
  return facts;
}

std::int64_t normalized_axis(std::int64_t axis, std::size_t rank) {
  const auto signed_rank = static_cast<std::int64_t>(rank);
  require(axis >= -signed_rank && axis < signed_rank,
          "axis " + std::to_string(axis) + " is outside a tensor of rank " + std::to_string(rank));
  return axis < 0 ? axis + signed_rank : axis;
}

}  // namespace halfstep
