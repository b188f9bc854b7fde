#include "halfstep/adaptation/kernel_choice.h"

#include <algorithm>
#include <array>
#include <tuple>
#include <utility>
#include <variant>

#include "halfstep/adaptation/precision.h"
#include "halfstep/model/op_facts.h"

namespace halfstep {
namespace {

constexpr std::size_t kNearestShown = 4;
constexpr std::array<KernelType, kKernelTypes> kTypes = {
    KernelType::u8,  KernelType::s8,  KernelType::u16,  KernelType::s16,  KernelType::s32,
    KernelType::f16, KernelType::f32, KernelType::bf16, KernelType::plain};

bool usable(const Kernel& kernel, int arch) {
  return kernel.min_arch <= arch && kernel.source.find("not tried") == std::string::npos &&
         kernel.source.find("withdrawn") == std::string::npos;
}

WeightGranularity granularity_of(const Encoding& encoding) {
  if (!encoding.block_scale.empty()) {
    return WeightGranularity::lpbq;
  }
  if (std::holds_alternative<PerBlock>(encoding.granularity)) {
    return WeightGranularity::per_block;
  }
  return encoding.scale.size() > 1 || std::holds_alternative<PerChannel>(encoding.granularity)
             ? WeightGranularity::per_channel
             : WeightGranularity::per_tensor;
}

std::int64_t block_size_of(const Encoding& encoding) {
  if (const auto* lpbq = std::get_if<Lpbq>(&encoding.granularity)) {
    return lpbq->block_size;
  }
  const auto* block = std::get_if<PerBlock>(&encoding.granularity);
  if (block == nullptr || block->block_size.empty()) {
    return 0;
  }
  return *std::max_element(block->block_size.begin(), block->block_size.end());
}

/// One search over the rows of one operator.
class Search {
 public:
  Search(const AdaptationState& state, int node, const std::vector<const Encoding*>& operands,
         const std::vector<const Encoding*>& outputs, const ActivationBounds& bounds)
      : state_(state),
        node_(node),
        lowered_(state.lowered[static_cast<std::size_t>(node)]),
        facts_(*state.target.kernels()),
        op_(facts_.ops.at(lowered_.op())),
        operands_(operands),
        outputs_(outputs),
        bounds_(bounds),
        weighted_(has_weight_rules(facts_, lowered_.op())),
        rank_(rank_of_first(state, node)) {}

  KernelSearch run() {
    std::vector<KernelChoice> candidates;
    for (const Kernel& kernel : op_.kernels) {
      if (std::optional<KernelChoice> choice =
              usable(kernel, state_.target.arch()) ? types_for(kernel) : std::nullopt) {
        candidates.push_back(std::move(*choice));
      }
    }
    std::stable_sort(candidates.begin(), candidates.end(),
                     [](const KernelChoice& a, const KernelChoice& b) { return a.nearer_than(b); });
    KernelSearch search;
    for (KernelChoice& candidate : candidates) {
      const KernelRefusal refusal = place_weight(candidate);
      if (refusal.check == 0) {
        candidate.fell_back = search.refusal.check != 0;
        search.choice = std::move(candidate);
        return search;
      }
      if (refusal.check == kSkipped) {
        continue;
      }
      if (search.refusal.check == 0) {
        search.refusal = refusal;
      }
      if (!state_.options.fallback) {
        return search;
      }
    }
    if (search.refusal.check == 0) {
      search.refusal = {.check = 5,
                        .text = "no kernel of " + lowered_.op() + " takes " + asked_for() +
                                "; nearest kernels: " + nearest()};
    }
    return search;
  }

 private:
  static constexpr int kSkipped = -1;
  static constexpr std::string_view kFallbackHint =
      "; --fallback moves the op to the nearest precision that takes it; nearest kernels: ";

  static int rank_of_first(const AdaptationState& state, int node) {
    const std::vector<int>& slots = state.lowered[static_cast<std::size_t>(node)].operands;
    if (slots.empty()) {
      return 0;
    }
    const TensorType type = state.graph.type(state.node(node).input(slots[0]));
    return type.shape ? static_cast<int>(type.shape->size()) : 0;
  }

  [[nodiscard]] bool is_plain(std::size_t operand) const {
    const std::string& tensor = state_.node(node_).input(lowered_.operands[operand]);
    return state_.graph.type(tensor).elem_type != 0 && !is_float_tensor(state_.graph, tensor);
  }

  /// The nearest type of `set` for an encoding; null encoding: any type, the first of the set.
  static std::optional<std::pair<KernelType, TypeChange>> nearest_type(const TypeSet& set,
                                                                       const Encoding* encoding) {
    std::optional<std::pair<KernelType, TypeChange>> best;
    for (const KernelType type : kTypes) {
      if (!set.has(type) || type == KernelType::plain) {
        continue;
      }
      const std::optional<TypeChange> change =
          encoding == nullptr ? TypeChange{} : change_to(*encoding, type);
      if (change && (!best || std::pair(change->rise, change->flips_sign) <
                                  std::pair(best->second.rise, best->second.flips_sign))) {
        best = {type, *change};
      }
    }
    return best;
  }

  /// The set of one position of a row: rows with one entry stand for any number of alike operands,
  /// and so does the first entry where an operator takes any number.
  [[nodiscard]] const TypeSet* at(const std::vector<TypeSet>& sets, std::size_t position) const {
    if (position < sets.size()) {
      return &sets[position];
    }
    return sets.size() == 1 || (lowered_.row->variadic && !sets.empty()) ? sets.data() : nullptr;
  }

  [[nodiscard]] std::optional<KernelChoice> types_for(const Kernel& kernel) const {
    KernelChoice choice{.kernel = &kernel};
    for (std::size_t i = 0; i < operands_.size(); ++i) {
      const TypeSet* set = at(kernel.in, i);
      if (set == nullptr || !add_operand(choice, i, *set)) {
        return std::nullopt;
      }
    }
    for (std::size_t i = 0; i < outputs_.size(); ++i) {
      const TypeSet* set = at(kernel.out, i);
      if (set == nullptr || !add_output(choice, i, *set)) {
        return std::nullopt;
      }
    }
    return choice;
  }

  bool add_operand(KernelChoice& choice, std::size_t operand, const TypeSet& set) const {
    if (is_plain(operand)) {
      choice.in.push_back(KernelType::plain);
      return set.has(KernelType::plain);
    }
    TypeSet allowed = operand == 0 ? of_first_operand(set) : set;
    if (weighted_ && operand == kBiasOperand) {
      allowed = bias_types(set, choice.in[0]);
    }
    const auto found = nearest_type(allowed, operands_[operand]);
    if (!found) {
      return false;
    }
    choice.in.push_back(found->first);
    const bool weight = weighted_ && operand == kWeightOperand;
    (weight ? choice.weight_rise : choice.rise) += found->second.rise;
    choice.flips += found->second.flips_sign ? 1 : 0;
    return true;
  }

  /// Types of a row's first operand that the unit, the operator's rank and its lowering allow.
  [[nodiscard]] TypeSet of_first_operand(const TypeSet& set) const {
    TypeSet allowed;
    for (const KernelType type : kTypes) {
      const auto limit = op_.max_rank.find(type);
      const bool fits_rank = limit == op_.max_rank.end() || rank_ <= limit->second;
      if (set.has(type) && fits_rank && (!bounds_.in || type == *bounds_.in) &&
          (lowered_.row->activations.empty() || lowered_.row->activations.has(type))) {
        allowed.add(type);
      }
    }
    return allowed;
  }

  [[nodiscard]] TypeSet bias_types(const TypeSet& set, KernelType activation) const {
    const TypeSet& wanted = activation == KernelType::f16 || activation == KernelType::f32
                                ? facts_.bias.float_types
                                : facts_.bias.types;
    TypeSet allowed;
    for (const KernelType type : kTypes) {
      if (wanted.has(type) && set.has(type)) {
        allowed.add(type);
      }
    }
    return allowed;
  }

  bool add_output(KernelChoice& choice, std::size_t output, const TypeSet& set) const {
    const std::string& tensor = state_.node(node_).output(static_cast<int>(output));
    if (tensor.empty()) {
      choice.out.push_back(KernelType::plain);
      return true;
    }
    if (state_.graph.type(tensor).elem_type != 0 && !is_float_tensor(state_.graph, tensor)) {
      choice.out.push_back(KernelType::plain);
      return set.has(KernelType::plain);
    }
    TypeSet allowed = set;
    if (output == 0 && bounds_.out) {
      allowed = TypeSet();
      if (set.has(*bounds_.out)) {
        allowed.add(*bounds_.out);
      }
    }
    const auto found = nearest_type(allowed, outputs_[output]);
    if (!found) {
      return false;
    }
    choice.out.push_back(found->first);
    choice.rise += found->second.rise;
    choice.flips += found->second.flips_sign ? 1 : 0;
    return true;
  }

  /// Finds the width of the weight beside a candidate's activations: its own, or the next one that
  /// the rules take. check -1: this kernel is not for such weights.
  [[nodiscard]] KernelRefusal place_weight(KernelChoice& choice) const {
    if (!weighted_ || operands_.size() <= kWeightOperand || operands_[kWeightOperand] == nullptr) {
      return {};
    }
    const Encoding& weight = *operands_[kWeightOperand];
    const KernelType type = choice.in[kWeightOperand];
    if (is_floating(*dtype_of(type))) {
      return {};
    }
    if (weight.is_float()) {
      return {.check = kSkipped, .text = ""};
    }
    KernelRefusal first;
    for (const int width : widths_from(weight, type)) {
      const KernelRefusal refusal = width_refusal(choice, weight, type, width);
      if (refusal.check == 0) {
        choice.weight_bits = width;
        return {};
      }
      if (refusal.check == 1 && is_computed_per_tensor(weight)) {
        choice.symmetric_operand = true;  // a Convert can do it: check 3, rescaled
        return {};
      }
      if (first.check == 0) {
        first = refusal;
      }
      if (refusal.check != kSkipped) {
        break;
      }
    }
    return first;
  }

  [[nodiscard]] bool is_computed_per_tensor(const Encoding& weight) const {
    const std::string& tensor = state_.node(node_).input(lowered_.operands[kWeightOperand]);
    return state_.graph.constant(tensor) == nullptr && weight.scale.size() == 1;
  }

  [[nodiscard]] KernelRefusal width_refusal(const KernelChoice& choice, const Encoding& weight,
                                            KernelType type, int width) const {
    bool other_granularity = false, other_symmetry = false;
    std::string taken;
    for (const WeightRule& rule : facts_.weight_rules) {
      if (!precision_fits(rule, choice, type, width)) {
        continue;
      }
      if (!granularity_fits(rule, weight)) {
        other_granularity = true;
        taken += (taken.empty() ? "" : ", ") + rule_text(rule);
      } else if (weight.half_step ||
                 (rule.symmetry == SymmetryRule::required && !symmetric_as(weight, type))) {
        other_symmetry = true;
      } else {
        return {};
      }
    }
    const bool float_activation = is_floating(*dtype_of(choice.in[0]));
    if (float_activation || (!other_granularity && !other_symmetry)) {
      return {.check = kSkipped, .text = ""};
    }
    const std::string what =
        lowered_.op() + " with " + std::string(name(choice.in[0])) + " activations takes ";
    if (other_symmetry) {
      return {.check = 1,
              .text = what + "only symmetric weights " + std::string(name(granularity_of(weight))) +
                      ", found " + describe(weight) + std::string(kFallbackHint) + nearest()};
    }
    return {.check = 2,
            .text = what + std::to_string(width) + "-bit weights only " + taken + ", found " +
                    describe(weight) + std::string(kFallbackHint) + nearest()};
  }

  [[nodiscard]] bool precision_fits(const WeightRule& rule, const KernelChoice& choice,
                                    KernelType type, int width) const {
    return std::find(rule.ops.begin(), rule.ops.end(), lowered_.op()) != rule.ops.end() &&
           rule.min_arch <= state_.target.arch() && rule.weights.has(type) &&
           rule.activations.has(choice.in[0]) &&
           std::find(rule.bits.begin(), rule.bits.end(), width) != rule.bits.end();
  }

  /// Widths that hold the codes in a storage type, narrowest first: 3-bit codes count as 4-bit
  /// ones, 5 to 7 as 8.
  static std::vector<int> widths_from(const Encoding& weight, KernelType type) {
    std::vector<int> widths;
    for (const int width : {2, 4, 8, 16}) {
      const bool of_type = bits(*dtype_of(type)) == 8 ? width <= 8 : width == 16;
      if (of_type && width >= significant_bits(weight)) {
        widths.push_back(width);
      }
    }
    return widths;
  }

  [[nodiscard]] bool granularity_fits(const WeightRule& rule, const Encoding& weight) const {
    const std::string& tensor = state_.node(node_).input(lowered_.operands[kWeightOperand]);
    if (rule.granularity != granularity_of(weight)) {
      return false;
    }
    if (rule.is_static && state_.graph.constant(tensor) == nullptr) {
      return false;
    }
    if (rule.pointwise && !is_pointwise(tensor)) {
      return false;
    }
    if (rule.granularity == WeightGranularity::per_channel && !channel_axis_fits(weight, tensor)) {
      return false;
    }
    const std::int64_t block = block_size_of(weight);
    return rule.block_sizes.empty() || std::find(rule.block_sizes.begin(), rule.block_sizes.end(),
                                                 block) != rule.block_sizes.end();
  }

  [[nodiscard]] bool is_pointwise(const std::string& tensor) const {
    const std::optional<Shape> shape = state_.graph.type(tensor).shape;
    return shape && std::all_of(shape->begin() + std::min<std::ptrdiff_t>(2, std::ssize(*shape)),
                                shape->end(), [](std::int64_t extent) { return extent == 1; });
  }

  [[nodiscard]] bool channel_axis_fits(const Encoding& weight, const std::string& tensor) const {
    const std::optional<WeightFacts> facts = op_facts(state_.node(node_)).weight;
    const std::optional<Shape> shape = state_.graph.type(tensor).shape;
    const auto* channel = std::get_if<PerChannel>(&weight.granularity);
    if (!facts || !shape || channel == nullptr || !channel->axis) {
      return true;
    }
    return normalized_axis(*channel->axis, shape->size()) ==
           normalized_axis(facts->channel_axis, shape->size());
  }

  static bool symmetric_as(const Encoding& weight, KernelType type) {
    const Encoding stored = static_as(weight, type);
    return !weight.half_step && stored.symmetric();
  }

  static std::string rule_text(const WeightRule& rule) {
    std::string text(name(rule.granularity));
    for (const std::int64_t size : rule.block_sizes) {
      text += (size == rule.block_sizes.front() ? " of " : ", ") + std::to_string(size);
    }
    return text + (rule.pointwise ? " (1 x 1 filters)" : "") +
           (rule.is_static ? " (constant)" : "");
  }

  [[nodiscard]] std::string asked_for() const {
    std::string text;
    for (std::size_t i = 0; i < operands_.size(); ++i) {
      const std::string& tensor = state_.node(node_).input(lowered_.operands[i]);
      text += (text.empty() ? "" : ", ") +
              (operands_[i] != nullptr ? describe(*operands_[i]) : std::string("any type")) +
              " in '" + tensor + "'";
    }
    for (std::size_t i = 0; i < outputs_.size(); ++i) {
      if (outputs_[i] != nullptr) {
        text += "; " + describe(*outputs_[i]) + " out '" +
                state_.node(node_).output(static_cast<int>(i)) + "'";
      }
    }
    return text;
  }

  /// How far a row is from what was asked for: steps of precedence, and signs.
  [[nodiscard]] int distance(const Kernel& kernel) const {
    constexpr int kStep = 4, kMissing = 100;
    int total = 0;
    const auto add = [&total](const TypeSet* set, const Encoding* wish) {
      int best = kMissing;
      for (const KernelType type : kTypes) {
        const std::optional<Dtype> dtype = dtype_of(type);
        if (set == nullptr || !set->has(type) || !dtype) {
          continue;
        }
        const int steps =
            wish == nullptr ? 0 : std::abs(precedence(*dtype) - precedence(wish->dtype));
        const bool flips = wish != nullptr && is_integer(*dtype) && is_integer(wish->dtype) &&
                           is_signed_integer(*dtype) != is_signed_integer(wish->dtype);
        best = std::min(best, kStep * steps + (flips ? 1 : 0));
      }
      total += wish == nullptr ? 0 : best;
    };
    for (std::size_t i = 0; i < operands_.size(); ++i) {
      add(at(kernel.in, i), operands_[i]);
    }
    for (std::size_t i = 0; i < outputs_.size(); ++i) {
      add(at(kernel.out, i), outputs_[i]);
    }
    return total;
  }

  /// The rows nearest to what was asked for, nearest first.
  [[nodiscard]] std::string nearest() const {
    std::vector<std::pair<int, const Kernel*>> rows;
    for (const Kernel& kernel : op_.kernels) {
      if (usable(kernel, state_.target.arch())) {
        rows.emplace_back(distance(kernel), &kernel);
      }
    }
    if (rows.empty()) {
      return "none on arch " + std::to_string(state_.target.arch());
    }
    std::stable_sort(rows.begin(), rows.end(),
                     [](const auto& a, const auto& b) { return a.first < b.first; });
    std::string text;
    for (std::size_t i = 0; i < std::min(rows.size(), kNearestShown); ++i) {
      text += (i == 0 ? "" : ", ") + rows[i].second->text;
    }
    for (const auto& [type, rank] : op_.max_rank) {
      if (rank_ > rank) {
        return text + " (at most rank " + std::to_string(rank) + ", found rank " +
               std::to_string(rank_) + ")";
      }
    }
    return text;
  }

  const AdaptationState& state_;
  int node_;
  const LoweredNode& lowered_;
  const KernelFacts& facts_;
  const KernelOp& op_;
  const std::vector<const Encoding*>& operands_;
  const std::vector<const Encoding*>& outputs_;
  ActivationBounds bounds_;
  bool weighted_;
  int rank_;  ///< of the first operand; 0: unknown
};

}  // namespace

bool KernelChoice::nearer_than(const KernelChoice& other) const noexcept {
  return std::tuple(rise, weight_rise, flips) <
         std::tuple(other.rise, other.weight_rise, other.flips);
}

bool has_weight_rules(const KernelFacts& facts, const std::string& op) {
  return std::any_of(facts.weight_rules.begin(), facts.weight_rules.end(),
                     [&op](const WeightRule& rule) {
                       return std::find(rule.ops.begin(), rule.ops.end(), op) != rule.ops.end();
                     });
}

KernelSearch find_kernel(const AdaptationState& state, int node,
                         const std::vector<const Encoding*>& operands,
                         const std::vector<const Encoding*>& outputs,
                         const ActivationBounds& bounds) {
  return Search(state, node, operands, outputs, bounds).run();
}

}  // namespace halfstep
