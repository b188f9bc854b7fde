#include "halfstep/adaptation/invariants.h"

#include <algorithm>
#include <array>
#include <optional>
#include <string>

#include "halfstep/adaptation/kernel_choice.h"
#include "halfstep/adaptation/structure.h"
#include "halfstep/support/error.h"

namespace halfstep {
namespace {

[[noreturn]] void broken(std::string_view pass, const std::string& what) {
  throw Error(ErrorKind::internal,
              "after the pass " + std::string(pass) + ": " + what +
                  "; this is a defect of halfstep, please report it with the model");
}

void check_chains(const AdaptationState& state, std::string_view pass) {
  for (std::size_t i = 0; i < state.units.size(); ++i) {
    const Unit& unit = state.units[i];
    if (unit.kind != Unit::Kind::chain || !unit.encoding) {
      continue;
    }
    for (const int node : unit.nodes) {
      const onnx::NodeProto& proto = state.node(node);
      if (state.unit_of[static_cast<std::size_t>(node)] != static_cast<int>(i)) {
        broken(pass, state.graph.label(node) + " is in two units");
      }
      if (is_float_tensor(state.graph, proto.output(0)) &&
          state.requested.find(proto.output(0)) == nullptr) {
        broken(pass, "tensor '" + proto.output(0) + "' of a chain has no encoding");
      }
    }
  }
}

void check_groups(const AdaptationState& state, std::string_view pass) {
  for (const Unit& unit : state.units) {
    for (std::size_t i = 0; unit.kind == Unit::Kind::group && i + 1 < unit.nodes.size(); ++i) {
      const std::string& tensor = state.node(unit.nodes[i]).output(0);
      const auto readers = state.graph.consumers(tensor);
      if (readers.size() != 1 || readers[0].node != unit.nodes[i + 1] ||
          state.graph.is_graph_output(tensor)) {
        broken(pass, "tensor '" + tensor + "' inside a super group is read outside of it");
      }
      if (state.requested.find(tensor) != nullptr || !state.inner.contains(tensor)) {
        broken(pass, "tensor '" + tensor + "' inside a super group has an encoding");
      }
    }
  }
}

bool is_bias_of(const AdaptationState& state, const Unit& unit, int node, int slot) {
  const LoweredNode& low = state.lowered[static_cast<std::size_t>(node)];
  if (unit.pattern != nullptr && unit.pattern->bias && unit.nodes[1] == node) {
    return slot == constant_bias_slot(state.graph, state.node(node));
  }
  return has_weight_rules(*state.target.kernels(), low.op()) &&
         low.operands.size() > kBiasOperand && low.operands[kBiasOperand] == slot;
}

bool needs_type(const AdaptationState& state, const std::string& tensor) {
  return !tensor.empty() && is_float_tensor(state.graph, tensor) && !state.inner.contains(tensor);
}

void check_types(const AdaptationState& state, std::string_view pass) {
  if (!state.errors.empty()) {
    return;
  }
  for (const Unit& unit : state.units) {
    for (const int node : unit.nodes) {
      const OperandTypes& types = state.nodes[static_cast<std::size_t>(node)];
      for (const int slot : state.lowered[static_cast<std::size_t>(node)].operands) {
        if (needs_type(state, state.node(node).input(slot)) &&
            !is_bias_of(state, unit, node, slot) && !types.inputs[static_cast<std::size_t>(slot)]) {
          broken(pass, state.graph.label(node) + ": operand '" + state.node(node).input(slot) +
                           "' has no type");
        }
      }
      for (int i = 0; i < state.node(node).output_size(); ++i) {
        if (needs_type(state, state.node(node).output(i)) &&
            !types.outputs[static_cast<std::size_t>(i)]) {
          broken(pass, state.graph.label(node) + ": output '" + state.node(node).output(i) +
                           "' has no type");
        }
      }
    }
  }
}

void check_converts(const AdaptationState& state, std::string_view pass) {
  for (const ConvertRecord& convert : state.converts) {
    const Encoding* from = state.result.find(convert.from);
    const Encoding* to = state.result.find(convert.to);
    if (from == nullptr || to == nullptr) {
      broken(pass, "the Convert of '" + convert.from + "' has an end without encoding");
    }
    if (same_numbers(*from, *to)) {
      broken(pass, "the Convert from '" + convert.from + "' to '" + convert.to + "' does nothing");
    }
  }
  for (const Unit& unit : state.units) {
    for (const int node : unit.nodes) {
      for (const std::string& tensor : state.node(node).output()) {
        if (needs_type(state, tensor) && state.result.find(tensor) == nullptr) {
          broken(pass, "tensor '" + tensor + "' has no encoding");
        }
      }
    }
  }
}

void check_constants(const AdaptationState& state, std::string_view pass) {
  for (const Unit& unit : state.units) {
    for (const int node : unit.nodes) {
      const OperandTypes& types = state.nodes[static_cast<std::size_t>(node)];
      for (int slot = 0; slot < state.node(node).input_size(); ++slot) {
        const std::string& tensor = state.node(node).input(slot);
        // A constant that keeps the user's rounding as float lives on as a copy.
        const std::optional<Encoding>& type = types.inputs[static_cast<std::size_t>(slot)];
        if (type && !type->is_float() && state.graph.constant(tensor) != nullptr &&
            state.result.find_use(
                {.node = state.keys.key(node), .slot = static_cast<std::size_t>(slot)}, tensor) ==
                nullptr) {
          broken(pass, "constant '" + tensor + "' has no encoding");
        }
      }
    }
  }
}

struct Check {
  std::string_view pass;
  void (*run)(const AdaptationState& state, std::string_view pass);
};

constexpr std::array<Check, 5> kChecks = {{
    {.pass = "data-movement", .run = check_chains},
    {.pass = "super-groups", .run = check_groups},
    {.pass = "op-precision", .run = check_types},
    {.pass = "converts", .run = check_converts},
    {.pass = "static-tensors", .run = check_constants},
}};

}  // namespace

void verify_after(const AdaptationState& state, std::string_view pass) {
  // What held after an earlier pass must still hold.
  for (const Check& check : kChecks) {
    const bool ran =
        std::find(state.done.begin(), state.done.end(), check.pass) != state.done.end();
    if (ran) {
      check.run(state, pass);
    }
  }
}

}  // namespace halfstep
