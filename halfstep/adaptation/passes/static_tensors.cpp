#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "halfstep/adaptation/bias.h"
#include "halfstep/adaptation/kernel_choice.h"
#include "halfstep/adaptation/passes/passes.h"
#include "halfstep/adaptation/precision.h"
#include "halfstep/adaptation/structure.h"
#include "halfstep/core/quantize.h"
#include "halfstep/model/op_facts.h"

namespace halfstep {
namespace {

class StaticEncoder {
 public:
  explicit StaticEncoder(AdaptationState& state) : state_(state) {}

  void run() {
    for (int node = 0; node < state_.graph.graph().node_size(); ++node) {
      derive_bias(node);
    }
    for (const Unit& unit : state_.units) {
      if (unit.pattern != nullptr && unit.pattern->bias) {
        const int add = unit.nodes[1];
        give_bias(unit.nodes[0], add, constant_bias_slot(state_.graph, state_.node(add)));
      }
    }
    for (int node = 0; node < state_.graph.graph().node_size(); ++node) {
      for (int slot = 0; slot < state_.node(node).input_size(); ++slot) {
        encode(node, slot);
      }
    }
  }

 private:
  [[nodiscard]] std::optional<Encoding>& input(int node, int slot) {
    return state_.nodes[static_cast<std::size_t>(node)].inputs[static_cast<std::size_t>(slot)];
  }

  // ---- biases -----------------------------------------------------------------------------------

  void derive_bias(int node) {
    const LoweredNode& lowered = state_.lowered[static_cast<std::size_t>(node)];
    if (lowered.row == nullptr || lowered.operands.size() <= kBiasOperand ||
        !has_weight_rules(*state_.target.kernels(), lowered.op())) {
      return;
    }
    if (state_.graph.constant(state_.node(node).input(lowered.operands[kBiasOperand])) != nullptr) {
      give_bias(node, node, lowered.operands[kBiasOperand]);
    }
  }

  /// `slot` of `node` holds the bias of `product`, which is the node itself or the one before it.
  void give_bias(int product, int node, int slot) {
    const LoweredNode& lowered = state_.lowered[static_cast<std::size_t>(product)];
    const std::optional<Encoding>& activation = input(product, lowered.operands[0]);
    const std::optional<Encoding>& weight = input(product, lowered.operands[kWeightOperand]);
    if (!activation) {
      return;
    }
    if (activation->is_float() || !weight || weight->is_float()) {
      input(node, slot) = Encoding{.dtype = activation->dtype, .origin = Origin::default_type};
      return;
    }
    input(node, slot) = state_.target.kernels()->bias.product_scale
                            ? product_bias(product, node, slot, *activation, *weight)
                            : own_bias(node, slot);
  }

  Encoding product_bias(int product_node, int node, int slot, const Encoding& activation,
                        const Encoding& weight) {
    const std::string& tensor = state_.node(node).input(slot);
    const Shape shape = shape_of(*state_.graph.constant(tensor));
    const auto channels = static_cast<std::size_t>(element_count(shape));
    Encoding product = product_bias_encoding(activation, weight,
                                             *op_facts(state_.node(product_node)).weight, channels);
    if (product.shape.size() == 1) {
      product.granularity = PerChannel{.axis = static_cast<std::int64_t>(shape.size()) - 1};
    }
    const Encoding* own = state_.wanted(node, slot);
    if (own != nullptr && own->dtype == Dtype::int32 &&
        (weight.scale.size() == 1 || own->scale == product.scale)) {
      return *own;  // per tensor the target honours any scale
    }
    if (own != nullptr && !own->is_float()) {
      state_.note("adapt/bias", tensor,
                  "bias '" + tensor + "' of " + state_.graph.label(node) + ": " + describe(*own) +
                      " becomes int32 with scale input x weight (" +
                      state_.target.kernels()->bias.why + ")");
    }
    return product;
  }

  /// 8 bits, symmetric, with a scale of its own.
  Encoding own_bias(int node, int slot) {
    const std::vector<float> values =
        state_.model.floats(*state_.graph.constant(state_.node(node).input(slot)));
    float largest = 0;
    for (const float value : values) {
      largest = std::isfinite(value) ? std::max(largest, std::fabs(value)) : largest;
    }
    return {.dtype = Dtype::int8,
            .scale = {std::max(largest / 127.0F, std::numeric_limits<float>::epsilon())},
            .zero_point = {0},
            .origin = Origin::adapted};
  }

  // ---- every constant operand -------------------------------------------------------------------

  void encode(int node, int slot) {
    const std::string& tensor = state_.node(node).input(slot);
    const std::optional<Encoding>& chosen = input(node, slot);
    if (!chosen || tensor.empty() || state_.graph.constant(tensor) == nullptr) {
      return;
    }
    const Encoding* user = state_.wanted(node, slot);
    if (chosen->is_float() && user != nullptr && !user->is_float()) {
      keep_rounding(node, slot, *user, *chosen);
      return;
    }
    const Encoding* first = state_.result.find(tensor);
    if (first == nullptr) {
      state_.result.set(tensor, *chosen);
    } else if (!same_numbers(*first, *chosen)) {
      use_copy(node, slot, *chosen);
    }
  }

  /// A reader that needs another encoding gets a constant of its own, shared by all that need the
  /// same.
  void use_copy(int node, int slot, const Encoding& chosen) {
    const std::string& tensor = state_.node(node).input(slot);
    std::vector<std::pair<Encoding, std::string>>& copies = copies_[tensor];
    auto copy = std::find_if(copies.begin(), copies.end(), [&chosen](const auto& made) {
      return same_numbers(made.first, chosen);
    });
    if (copy == copies.end()) {
      const onnx::TensorProto& constant = *state_.graph.constant(tensor);
      const std::vector<float> values = state_.model.floats(constant);
      std::string name =
          state_.names.fresh(tensor + "_" + std::string(halfstep::name(chosen.dtype)));
      add_floats(name, shape_of(constant), values);
      state_.result.set(name, chosen);
      copy = copies.insert(copies.end(), {chosen, std::move(name)});
    }
    state_.editor.set_input(node, slot, copy->second);
  }

  void add_floats(const std::string& name, const Shape& shape, const std::vector<float>& values) {
    std::vector<std::byte> bytes(values.size() * sizeof(float));
    if (!values.empty()) {
      std::memcpy(bytes.data(), values.data(), bytes.size());
    }
    state_.editor.add_initializer(name, Dtype::float32, shape, std::move(bytes));
  }

  /// Model type -> user's type -> selected type, for a constant that ends as float: a copy of it
  /// with the user's rounding.
  void keep_rounding(int node, int slot, const Encoding& user, const Encoding& chosen) {
    const std::string& tensor = state_.node(node).input(slot);
    const onnx::TensorProto& constant = *state_.graph.constant(tensor);
    const Shape shape = shape_of(constant);
    const std::vector<float> values = state_.model.floats(constant);
    const Mapping mapping = bind(user, shape, Role::weight);
    const std::vector<float> rounded = rounded_values(values, shape, mapping);
    const std::string name =
        state_.names.fresh(tensor + "_" + std::string(halfstep::name(user.dtype)));
    add_floats(name, shape, rounded);
    state_.editor.set_input(node, slot, name);
    state_.result.set(name, chosen);
    state_.note("adapt/static-float", tensor,
                "constant '" + tensor + "' of " + state_.graph.label(node) + " is stored as " +
                    describe(chosen) + " ('" + name + "'), with the rounding of " + describe(user));
  }

  static std::vector<float> rounded_values(const std::vector<float>& values, const Shape& shape,
                                           const Mapping& mapping) {
    std::vector<float> result(values.size());
    fake_quantize(TensorView<const float>(values.data(), shape), mapping,
                  TensorView<float>(result.data(), shape));
    return result;
  }

  AdaptationState& state_;
  std::map<std::string, std::vector<std::pair<Encoding, std::string>>> copies_{};  // by constant
};

}  // namespace

void encode_static_tensors(AdaptationState& state) { StaticEncoder(state).run(); }

}  // namespace halfstep
