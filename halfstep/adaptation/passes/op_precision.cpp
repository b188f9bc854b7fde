#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "halfstep/adaptation/kernel_choice.h"
#include "halfstep/adaptation/passes/passes.h"
#include "halfstep/adaptation/precision.h"
#include "halfstep/adaptation/structure.h"
#include "halfstep/model/op_facts.h"

namespace halfstep {
namespace {

constexpr double kLargestFloat16 = 65504.0;
constexpr std::array<KernelType, 7> kActivationTypes = {
    KernelType::u8,  KernelType::s8,  KernelType::u16, KernelType::s16,
    KernelType::s32, KernelType::f16, KernelType::f32};

/// What one node asks of its kernel.
struct Wishes {
  std::vector<const Encoding*> operands{};  ///< null: anything
  std::vector<const Encoding*> outputs{};
};

class PrecisionSelector {
 public:
  explicit PrecisionSelector(AdaptationState& state) : state_(state) {}

  void run() {
    make_single_units();
    assign_default_types();
    for (const Unit& unit : state_.units) {
      select(unit);
    }
  }

 private:
  void make_single_units() {
    for (int node = 0; node < state_.graph.graph().node_size(); ++node) {
      if (state_.unit_of[static_cast<std::size_t>(node)] >= 0 ||
          !touches_float(state_.graph, state_.node(node)) ||
          state_.node(node).op_type() == "Constant") {
        continue;
      }
      if (is_convert(state_.node(node))) {
        take_convert(node);
        continue;
      }
      if (state_.lowered[static_cast<std::size_t>(node)].row == nullptr) {
        state_.fail("adapt/no-operator",
                    state_.graph.label(node) + ": " + state_.target.name() +
                        " has no operator for " + state_.node(node).op_type() +
                        "; run this part of the model on another processor, or rewrite it with "
                        "other operators");
        continue;
      }
      state_.unit_of[static_cast<std::size_t>(node)] = static_cast<int>(state_.units.size());
      state_.units.push_back({.kind = Unit::Kind::single, .nodes = {node}});
    }
  }

  /// A Convert of a former adaptation goes from the one encoding to the other.
  void take_convert(int node) {
    OperandTypes& types = state_.nodes[static_cast<std::size_t>(node)];
    if (const Encoding* from = state_.wanted(node, 0)) {
      types.inputs[0] = *from;
    }
    if (const Encoding* to = state_.requested.find(state_.node(node).output(0))) {
      types.outputs[0] = *to;
    }
  }

  // ---- the default type -------------------------------------------------------------------------

  void assign_default_types() {
    for (const Unit& unit : state_.units) {
      for (const int node : unit.nodes) {
        for (const int slot : state_.lowered[static_cast<std::size_t>(node)].operands) {
          if (!is_derived_bias(node, slot)) {
            give_default(state_.node(node).input(slot), node, slot);
          }
        }
        for (const std::string& tensor : state_.node(node).output()) {
          give_default(tensor, node, -1);
        }
      }
    }
  }

  void give_default(const std::string& tensor, int node, int slot) {
    if (tensor.empty() || !is_float_tensor(state_.graph, tensor) || state_.inner.contains(tensor) ||
        (slot >= 0 ? state_.wanted(node, slot) : state_.requested.find(tensor)) != nullptr) {
      return;
    }
    if (keeps_float32(tensor)) {
      return;
    }
    state_.requested.set(tensor,
                         {.dtype = state_.target.default_float(), .origin = Origin::default_type});
    state_.note("adapt/default-float", tensor,
                "tensor '" + tensor +
                    "' has no encoding: " + std::string(name(state_.target.default_float())));
    check_constant_range(tensor);
  }

  /// A tensor whose measured values leave float16: where the target really computes in float32 it
  /// stays that, elsewhere the user is told.
  bool keeps_float32(const std::string& tensor) {
    const auto found = state_.options.ranges.find(tensor);
    if (found == state_.options.ranges.end() || state_.target.default_float() != Dtype::float16 ||
        std::max(-found->second.low, found->second.high) <= kLargestFloat16) {
      return false;
    }
    if (state_.target.float32_is_float16()) {
      warn_float16(tensor, "values from " + std::to_string(found->second.low) + " to " +
                               std::to_string(found->second.high) + " (calibration)");
      return false;
    }
    state_.requested.set(tensor, {.dtype = Dtype::float32, .origin = Origin::default_type});
    state_.note("adapt/float32-kept", tensor,
                "tensor '" + tensor + "' has no encoding and leaves float16 (values from " +
                    std::to_string(found->second.low) + " to " +
                    std::to_string(found->second.high) + "): float32");
    return true;
  }

  void check_constant_range(const std::string& tensor) {
    const onnx::TensorProto* constant = state_.graph.constant(tensor);
    if (constant == nullptr || state_.target.default_float() != Dtype::float16) {
      return;
    }
    const std::vector<float> values = state_.model.floats(*constant);
    const auto outside = std::count_if(values.begin(), values.end(), [](float value) {
      return std::isfinite(value) && std::fabs(value) > kLargestFloat16;
    });
    if (outside > 0) {
      warn_float16(tensor, std::to_string(outside) + " of its values");
    }
  }

  void warn_float16(const std::string& tensor, const std::string& what) {
    state_.warn("adapt/float16-range", tensor,
                "tensor '" + tensor + "': " + what +
                    " lie outside float16 (+-65504) and become infinite on " +
                    state_.target.name() + "; give the tensor an integer encoding");
  }

  // ---- what nodes ask for -----------------------------------------------------------------------

  [[nodiscard]] const LoweredNode& lowered(int node) const {
    return state_.lowered[static_cast<std::size_t>(node)];
  }

  /// The bias of an operator with a weight, where the target derives its encoding.
  [[nodiscard]] bool is_derived_bias(int node, int slot) const {
    if (is_bias_add(node)) {
      return slot == constant_bias_slot(state_.graph, state_.node(node));
    }
    const LoweredNode& low = lowered(node);
    return has_weight_rules(*state_.target.kernels(), low.op()) &&
           low.operands.size() > kBiasOperand && low.operands[kBiasOperand] == slot &&
           state_.graph.constant(state_.node(node).input(slot)) != nullptr;
  }

  /// The Add of a product and its bias.
  [[nodiscard]] bool is_bias_add(int node) const {
    const Unit& unit =
        state_.units[static_cast<std::size_t>(state_.unit_of[static_cast<std::size_t>(node)])];
    return unit.pattern != nullptr && unit.pattern->bias && unit.nodes[1] == node;
  }

  [[nodiscard]] Wishes wishes_of(const Unit& unit, int node) const {
    Wishes wishes;
    for (const int slot : lowered(node).operands) {
      const bool any =
          is_derived_bias(node, slot) || state_.inner.contains(state_.node(node).input(slot));
      wishes.operands.push_back(any ? nullptr : state_.wanted(node, slot));
    }
    for (const std::string& tensor : state_.node(node).output()) {
      wishes.outputs.push_back(tensor.empty() || state_.inner.contains(tensor)
                                   ? nullptr
                                   : state_.requested.find(tensor));
    }
    if (unit.kind == Unit::Kind::chain && unit.encoding) {
      for (std::size_t i = 0; i < wishes.operands.size(); ++i) {
        if (is_float_tensor(state_.graph, state_.node(node).input(lowered(node).operands[i]))) {
          wishes.operands[i] = &*unit.encoding;
        }
      }
      wishes.outputs[0] = &*unit.encoding;
    }
    return wishes;
  }

  // ---- choosing ---------------------------------------------------------------------------------

  void select(const Unit& unit) {
    std::vector<Wishes> wishes;
    for (const int node : unit.nodes) {
      wishes.push_back(wishes_of(unit, node));
      if (!granularity_of_activations_fits(node, wishes.back())) {
        return;
      }
    }
    KernelRefusal refusal;
    const std::vector<KernelChoice> choices = unit.kind == Unit::Kind::single
                                                  ? single_choice(unit, wishes[0], refusal)
                                                  : common_choice(unit, wishes, refusal);
    if (choices.empty()) {
      state_.fail(rule_of(refusal.check),
                  state_.graph.label(unit.nodes.front()) + ": " + refusal.text);
      return;
    }
    for (std::size_t i = 0; i < unit.nodes.size(); ++i) {
      apply(unit.nodes[i], wishes[i], choices[i]);
    }
  }

  static std::string_view rule_of(int check) {
    return check == 1 ? "adapt/symmetry" : check == 2 ? "adapt/granularity" : "adapt/no-kernel";
  }

  bool granularity_of_activations_fits(int node, const Wishes& wishes) {
    for (std::size_t i = 0; i < wishes.operands.size(); ++i) {
      const std::string& tensor = state_.node(node).input(lowered(node).operands[i]);
      const Encoding* wish = wishes.operands[i];
      if (wish != nullptr && wish->scale.size() > 1 && state_.graph.constant(tensor) == nullptr) {
        state_.fail("adapt/granularity", state_.graph.label(node) + ": tensor '" + tensor +
                                             "' is " + describe(*wish) +
                                             "; activations must be per tensor");
        return false;
      }
    }
    return true;
  }

  std::vector<KernelChoice> single_choice(const Unit& unit, const Wishes& wishes,
                                          KernelRefusal& refusal) {
    KernelSearch search = find_kernel(state_, unit.nodes[0], wishes.operands, wishes.outputs, {});
    refusal = search.refusal;
    return search.choice ? std::vector{std::move(*search.choice)} : std::vector<KernelChoice>();
  }

  /// One type for all activations of a group or chain: the nearest that every node has a kernel
  /// for.
  std::vector<KernelChoice> common_choice(const Unit& unit, const std::vector<Wishes>& wishes,
                                          KernelRefusal& refusal) {
    std::vector<KernelChoice> best;
    int best_cost = 0;
    for (const KernelType type : kActivationTypes) {
      std::vector<KernelChoice> choices;
      int cost = 0;
      for (std::size_t i = 0; i < unit.nodes.size(); ++i) {
        KernelSearch search = find_kernel(state_, unit.nodes[i], wishes[i].operands,
                                          wishes[i].outputs, bounds_of(unit, i, type));
        if (!search.choice) {
          keep_refusal(refusal, search.refusal);
          break;
        }
        cost += 100 * search.choice->rise + 10 * search.choice->weight_rise + search.choice->flips;
        choices.push_back(std::move(*search.choice));
      }
      if (choices.size() == unit.nodes.size() && (best.empty() || cost < best_cost)) {
        best = std::move(choices);
        best_cost = cost;
      }
    }
    // A nearer type that fails on symmetry or granularity is an error, not a reason to rise.
    if (!state_.options.fallback && (refusal.check == 1 || refusal.check == 2) &&
        (best.empty() || best_cost >= 100)) {
      best.clear();
    }
    return best;
  }

  static void keep_refusal(KernelRefusal& kept, const KernelRefusal& found) {
    if (kept.check == 0 || (kept.check == 5 && found.check != 5)) {
      kept = found;
    }
  }

  static ActivationBounds bounds_of(const Unit& unit, std::size_t position, KernelType type) {
    if (unit.kind == Unit::Kind::chain) {
      return {.in = type, .out = type};
    }
    // A group's head has the type by its output; what follows reads and writes it.
    return {.in = position == 0 ? std::optional<KernelType>() : type, .out = type};
  }

  // ---- writing the decision down ----------------------------------------------------------------

  void apply(int node, const Wishes& wishes, const KernelChoice& choice) {
    OperandTypes& types = state_.nodes[static_cast<std::size_t>(node)];
    types.kernel = choice.kernel->text;
    if (choice.fell_back) {
      state_.note("adapt/fallback", state_.keys.key(node),
                  state_.graph.label(node) + ": moved to " + choice.kernel->text +
                      ", the nearest kernel that takes its weights");
    }
    for (std::size_t i = 0; i < choice.in.size(); ++i) {
      apply_operand(node, i, wishes.operands[i], choice, types);
    }
    for (std::size_t i = 0; i < choice.out.size(); ++i) {
      apply_output(node, i, wishes.outputs[i], choice.out[i], types);
    }
  }

  void apply_operand(int node, std::size_t operand, const Encoding* wish,
                     const KernelChoice& choice, OperandTypes& types) {
    const int slot = lowered(node).operands[operand];
    const std::string& tensor = state_.node(node).input(slot);
    if (wish == nullptr || choice.in[operand] == KernelType::plain) {
      return;
    }
    const bool constant = state_.graph.constant(tensor) != nullptr;
    const bool weight = operand == kWeightOperand && choice.weight_bits > 0;
    Encoding chosen = constant
                          ? static_as(*wish, choice.in[operand], weight ? choice.weight_bits : 0)
                          : activation_as(*wish, choice.in[operand]);
    if (choice.symmetric_operand && operand == kWeightOperand) {
      Encoding symmetric = made_symmetric(chosen);
      state_.note("adapt/symmetric-operand", tensor,
                  "tensor '" + tensor + "': " + describe(chosen) + " becomes " +
                      describe(symmetric) + " for " + state_.graph.label(node) +
                      ", whose second operand must be symmetric");
      types.inputs[static_cast<std::size_t>(slot)] = std::move(symmetric);
      return;
    }
    report_change(node, tensor, *wish, chosen, constant);
    types.inputs[static_cast<std::size_t>(slot)] = std::move(chosen);
  }

  void apply_output(int node, std::size_t output, const Encoding* wish, KernelType type,
                    OperandTypes& types) {
    if (wish == nullptr || type == KernelType::plain) {
      return;
    }
    const std::string& tensor = state_.node(node).output(static_cast<int>(output));
    Encoding chosen = activation_as(*wish, type);
    if (fix_encoding(node, tensor, type, *wish, chosen)) {
      types.outputs[output] = std::move(chosen);
      return;
    }
    report_change(node, tensor, *wish, chosen, false);
    types.outputs[output] = std::move(chosen);
  }

  /// The scale that a fixed encoding gives an output.
  static float fixed_scale(const FixedEncoding& fixed, const Encoding& chosen) {
    if (fixed.scale > 0) {
      return static_cast<float>(fixed.scale);
    }
    if ((chosen.zero_point.empty() ? 0 : chosen.zero_point[0]) == fixed.zero_point) {
      return chosen.scale[0];
    }
    return static_cast<float>(real_range(chosen).high /
                              (info(chosen.dtype).highest - static_cast<double>(fixed.zero_point)));
  }

  /// Replaces the encoding of an output that the target fixes. True if it did.
  bool fix_encoding(int node, const std::string& tensor, KernelType type, const Encoding& wish,
                    Encoding& chosen) {
    const auto& all = state_.target.kernels()->fixed_encodings;
    const auto fixed = std::find_if(all.begin(), all.end(), [&](const FixedEncoding& entry) {
      return entry.op == lowered(node).op() && entry.type == type;
    });
    if (fixed == all.end() || chosen.is_float()) {
      return false;
    }
    Encoding wanted{.dtype = chosen.dtype,
                    .scale = {fixed_scale(*fixed, chosen)},
                    .zero_point = {fixed->zero_point},
                    .origin = Origin::adapted};
    if (wanted.scale == chosen.scale && chosen.zero_point == wanted.zero_point) {
      return false;
    }
    if (wish.dtype != wanted.dtype) {
      // The user's type stays, a Convert away.
      report_change(node, tensor, wish, wanted, false);
      chosen = wanted;
      return true;
    }
    const RealRange own = real_range(chosen), given = real_range(wanted);
    const double step = chosen.scale[0];
    // With the zero point alone fixed, the operator has no values on the other side of 0.
    if (fixed->scale > 0 && (own.low < given.low - step || own.high > given.high + step)) {
      state_.fail("adapt/fixed-encoding",
                  state_.graph.label(node) + ": tensor '" + tensor + "' is " + describe(chosen) +
                      ", " + state_.target.name() + " writes only " + describe(wanted) +
                      ", which does not cover that range");
      return false;
    }
    state_.note("adapt/fixed-encoding", tensor,
                "tensor '" + tensor + "': " + describe(chosen) + " became " + describe(wanted) +
                    ", the only one that " + lowered(node).op() + " writes (" + fixed->source +
                    ")");
    chosen = wanted;
    state_.requested.set(tensor, std::move(wanted));
    return true;
  }

  void report_change(int node, const std::string& tensor, const Encoding& from, const Encoding& to,
                     bool constant) {
    if (from == to) {
      return;
    }
    const bool same_width = bits(from.dtype) == bits(to.dtype) && !to.is_float();
    const std::string rule = constant ? (to.is_float() ? "adapt/static-float" : "adapt/static-type")
                             : same_width ? "adapt/sign"
                                          : "adapt/width";
    state_.note(rule, tensor,
                "tensor '" + tensor + "': " + describe(from) + " becomes " + describe(to) +
                    " for " + state_.graph.label(node) + ", whose kernel is " +
                    state_.nodes[static_cast<std::size_t>(node)].kernel);
    if (to.dtype == Dtype::float16 && !from.is_float() && !constant) {
      const RealRange range = real_range(from);
      if (std::max(-range.low, range.high) > kLargestFloat16) {
        warn_float16(tensor, "the ends of its range");
      }
    }
  }

  AdaptationState& state_;
};

}  // namespace

void select_precision(AdaptationState& state) {
  PrecisionSelector(state).run();
  state.throw_errors("select op precision");
}

}  // namespace halfstep
