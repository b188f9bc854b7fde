#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <string_view>

#include "halfstep/model/op_facts.h"
#include "halfstep/simulation/fixed_point.h"
#include "halfstep/simulation/follow.h"

namespace halfstep::simulation {
namespace {

/// Operators whose operands become codes of the result's encoding first.
constexpr std::array<std::string_view, 6> kConverting = {"Concat", "Slice",     "Max",
                                                         "Min",    "ReduceMax", "ReduceMin"};

bool same_encoding(const Codes& a, const Codes& b) {
  return a.type == b.type && a.scales == b.scales && a.zero_points == b.zero_points;
}

/// Inserts in front of node `before` what makes values of the encoding `to` of `codes`, floats.
/// Returns their name, which is `output` or fresh.
std::string insert_conversion(Following& following, int before, const std::string& codes,
                              const Codes& from, const Codes& to, const std::string& output = "") {
  const double ratio = static_cast<double>(from.scales[0]) / static_cast<double>(to.scales[0]);
  const Conversion rule = conversion(ratio, from.zero_points[0], to.zero_points[0]);
  const auto apply = [&](const char* type, const std::string& tensor, float number,
                         const std::string& result = "") {
    return following.insert(before, type, {tensor, following.scalar(codes + "_number", number)},
                            codes, result);
  };
  constexpr float kGrid = 1.0F / 64, kHalf = 0.5F;
  std::string tensor = apply("Mul", codes, rule.multiplier);
  tensor = apply("Add", tensor, rule.constant);
  tensor = following.insert(before, "Floor", {tensor}, codes);
  tensor = apply("Mul", tensor, kGrid);
  tensor = apply("Add", tensor, kHalf);
  tensor = following.insert(before, "Floor", {tensor}, codes);
  tensor = apply("Sub", tensor, to.zero_points[0]);
  return apply("Mul", tensor, to.scales[0], output);
}

/// Converts operand `slot` of node `i` to the encoding `to`.
bool convert_operand(Following& following, int i, int slot, const Codes& to) {
  const std::string operand = following.node(i).input(slot);
  if (operand.empty()) {
    return false;
  }
  const std::optional<Codes> from = following.operand(operand);
  if (!from || !from->is_activation() || from->type != to.type || same_encoding(*from, to)) {
    return false;
  }
  const std::string stored = following.node(following.index.producer(operand)).input(0);
  const std::string numbers = following.insert(i, "Cast", {stored}, operand + "_converted");
  following.editor.set_input(i, slot, insert_conversion(following, i, numbers, *from, to));
  return true;
}

/// Each part of a Split may have an encoding of its own.
void follow_split(Following& following, int i) {
  const onnx::NodeProto& op = following.node(i);
  const std::optional<Codes> from = following.operand(op.input(0));
  if (!from || !from->is_activation()) {
    return;
  }
  bool changed = false;
  for (const std::string& part : op.output()) {
    const std::optional<Codes> to = following.clamped_result(part);
    if (!to || from->type != to->type || same_encoding(*from, *to)) {
      continue;
    }
    const std::string name = part + "_converted";
    const std::string copied = following.names.fresh(part + "_copied");
    following.editor.set_output(i, part, copied);
    const std::string step = following.scalar(name + "_step", from->scales[0]);
    const std::string zero_point = following.scalar(name + "_zero_point", from->zero_points[0]);
    std::string codes = following.insert(i + 1, "Div", {copied, step}, name);
    codes = following.insert(i + 1, "Round", {codes}, name);
    codes = following.insert(i + 1, "Add", {codes, zero_point}, name);
    (void)insert_conversion(following, i + 1, codes, *from, *to, part);
    changed = true;
  }
  following.followed += changed ? 1 : 0;
}

void follow_conversion(Following& following, int i) {
  const onnx::NodeProto& op = following.node(i);
  const bool direct = op.op_type() == "QuantizeLinear";
  if (!direct && std::ranges::find(kConverting, op.op_type()) == kConverting.end()) {
    return;
  }
  const std::optional<Codes> to =
      direct ? following.result(op) : following.clamped_result(op.output(0));
  if (!to || !to->is_activation()) {
    return;
  }
  const bool many = op.op_type() == "Concat" || op.op_type() == "Max" || op.op_type() == "Min";
  bool changed = false;
  for (int slot = 0; slot < (many ? op.input_size() : 1); ++slot) {
    changed = convert_operand(following, i, slot, *to) || changed;
  }
  following.followed += changed ? 1 : 0;
}

}  // namespace

void follow_conversions(Following& following) {
  for (int i = 0; i < following.model.graph().node_size(); ++i) {
    if (!is_onnx_domain(following.node(i))) {
      continue;
    }
    if (following.node(i).op_type() == "Split") {
      follow_split(following, i);
    } else {
      follow_conversion(following, i);
    }
  }
}

}  // namespace halfstep::simulation
