#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "halfstep/model/op_facts.h"
#include "halfstep/simulation/follow.h"
#include "halfstep/simulation/target_ops.h"

namespace halfstep::simulation {
namespace {

constexpr int kBiasSlot = 2;
constexpr std::array<std::string_view, 2> kFused = {"PRelu", "HardSwish"};

struct Product {
  int node = 0;
  std::string sums{};             ///< its result, with the bias
  Shape weight{};                 ///< extents of the second operand
  float scale = 0;                ///< of the first operand
  std::vector<float> scales{};    ///< of the second: one, or one a channel
  std::int64_t axis = 0;          ///< of the channels in `sums`
  std::optional<float> second{};  ///< step of a second operand that is an activation
  int bias_add = -1;              ///< the Add of a bias behind it
  int bias_slot = 0;              ///< of the bias, there
  bool vector_unit = false;       ///< computes it
};

/// Codes that sums become.
struct Result {
  float step = 0;
  bool direct = true;    ///< nothing between the sums and their codes but clamping
  float zero_point = 0;  ///< of unsigned codes
  float highest = 0;     ///< code, above the zero point
  int dequantize = -1;   ///< makes values of the codes again
};

bool is_convolution(const onnx::NodeProto& op) {
  return op.op_type() == "Conv" || op.op_type() == "ConvTranspose";
}

bool has_even_stride(const onnx::NodeProto& op) {
  const onnx::AttributeProto* strides = find_attribute(op, "strides");
  return strides != nullptr &&
         std::ranges::any_of(strides->ints(), [](std::int64_t stride) { return stride % 2 == 0; });
}

bool is_weight(const Codes& codes) {
  return codes.is_byte() || codes.type == onnx::TensorProto::INT4 ||
         codes.type == onnx::TensorProto::UINT4 || codes.type == onnx::TensorProto::INT2 ||
         codes.type == onnx::TensorProto::UINT2;
}

/// Which convolutions another unit of the processor computes: depthwise, stride 2 in all
/// directions, the larger extent of the filter 3 to 7. Source: measured (filters of 1 to 9, strides
/// 1 to 4, 4 to 128 channels); filters that are not square are up to 5 of 1,000 codes off with
/// either rule.
bool runs_on_vector_unit(const onnx::NodeProto& op, const Shape& weight) {
  const onnx::AttributeProto* strides = find_attribute(op, "strides");
  if (op.op_type() != "Conv" || weight[1] != 1 || int_attribute(op, "group", 1) == 1 ||
      strides == nullptr || weight.size() < 3) {
    return false;
  }
  constexpr std::int64_t kSmallest = 3;
  constexpr std::int64_t kLargest = 7;
  const std::int64_t extent = *std::max_element(weight.begin() + 2, weight.end());
  return std::ranges::all_of(strides->ints(), [](std::int64_t stride) { return stride == 2; }) &&
         extent >= kSmallest && extent <= kLargest;
}

/// Which activations the backend fuses. Source: measured (pairs of operators, v73 to v81).
bool is_fused(const onnx::NodeProto& product, const Shape& weight, const onnx::NodeProto& next) {
  const std::string& type = next.op_type();
  if (type == "Relu" || type == "Clip") {
    return true;
  }
  const bool depthwise = is_convolution(product) && weight[1] == 1;
  return std::ranges::find(kFused, type) != kFused.end() && product.op_type() != "ConvTranspose" &&
         !(depthwise && has_even_stride(product));
}

class Products {
 public:
  explicit Products(Following& following) : following_(following) {}

  void follow(int i) {
    const std::optional<Product> product = product_at(i);
    if (!product) {
      return;
    }
    const std::optional<Result> result = result_of(*product, product->sums);
    if (!result) {
      return;
    }
    const std::optional<std::string> factor =
        product->second ? std::optional(insert_second(*product, *product->second)) : std::nullopt;
    std::string exact = product->sums;
    if (requantizes(*product, *result)) {
      exact = following_.names.fresh(product->sums + "_exact");
      insert(*product, *result, exact, product->sums, factor);
      following_.editor.set_output(following_.index.producer(product->sums), product->sums, exact);
    }
    follow_behind(*product, *result, exact, factor);
    std::vector<float> unit = product->scales;
    std::ranges::for_each(unit, [&](float& scale) { scale *= product->scale; });
    if (!product->vector_unit) {
      follow_bias(following_, i, kBiasSlot, unit);
    }
    if (product->bias_add >= 0) {
      follow_bias(following_, product->bias_add, product->bias_slot, unit);
    }
    ++following_.followed;
  }

 private:
  [[nodiscard]] const onnx::NodeProto& node(int i) const { return following_.node(i); }

  [[nodiscard]] std::optional<Product> product_at(int i) const {
    const onnx::NodeProto& op = node(i);
    if (!is_onnx_domain(op) ||
        !(is_convolution(op) || op.op_type() == "Gemm" || op.op_type() == "MatMul")) {
      return std::nullopt;
    }
    const std::optional<Codes> first = following_.operand(op.input(0));
    const std::optional<Codes> second = following_.operand(op.input(1));
    if (!first || !second || !first->is_activation() || !is_weight(*second)) {
      return std::nullopt;
    }
    Product product{.node = i, .sums = op.output(0)};
    if (!set_unit(product, op, *first, *second)) {
      return std::nullopt;
    }
    if (!is_convolution(op)) {
      step_over_bias(product);
    }
    return product;
  }

  [[nodiscard]] bool set_unit(Product& product, const onnx::NodeProto& op, const Codes& first,
                              const Codes& second) const {
    if (!following_.is_constant_operand(op.input(1))) {
      if (op.op_type() != "MatMul" || !second.is_activation()) {
        return false;
      }
      product.second = second.scales[0];
    }
    const OpFacts facts = op_facts(op);
    const std::optional<Shape> weight = following_.index.type(op.input(1)).shape;
    const std::optional<Shape> result = following_.index.type(op.output(0)).shape;
    if (!facts.weight || facts.weight->slot != 1 || !weight || weight->size() < 2 ||
        (!is_convolution(op) && !result)) {
      return false;
    }
    // Groups of ConvTranspose share the scales of a weight channel.
    const std::int64_t channels = normalized_axis(facts.weight->channel_axis, weight->size());
    if (second.scales.size() > 1 &&
        (second.axis != channels || facts.weight->channel_repeat != 1)) {
      return false;
    }
    product.weight = *weight;
    product.vector_unit = runs_on_vector_unit(op, *weight);
    product.axis =
        is_convolution(op) || !result ? 1 : static_cast<std::int64_t>(result->size()) - 1;
    product.scale = first.scales[0];
    product.scales = second.scales;
    return true;
  }

  /// Steps over an Add of a constant: the bias of a product.
  void step_over_bias(Product& product) const {
    const int reader = following_.only_reader(product.sums);
    if (reader < 0 || node(reader).op_type() != "Add") {
      return;
    }
    const onnx::NodeProto& add = node(reader);
    const int slot = add.input(0) == product.sums ? 1 : 0;
    const std::string& other = add.input(slot);
    if (following_.index.constant(other) != nullptr || following_.is_constant_operand(other)) {
      product.sums = add.output(0);
      product.bias_add = reader;
      product.bias_slot = slot;
    }
  }

  /// The codes that `tensor`, without or behind activations, becomes.
  [[nodiscard]] std::optional<Result> result_of(const Product& product, std::string tensor) const {
    Result found;
    for (int hops = 0; hops < 3; ++hops) {
      const int reader = following_.only_reader(tensor);
      if (reader < 0) {
        return std::nullopt;
      }
      const onnx::NodeProto& next = node(reader);
      if (next.op_type() == "QuantizeLinear") {
        const std::optional<Codes> codes = following_.result(next);
        if (!codes || !codes->is_activation()) {
          return std::nullopt;
        }
        found.step = codes->scales[0];
        const float lowest = codes->type == onnx::TensorProto::INT8 ? -128.0F : 0.0F;
        found.zero_point = codes->zero_points[0] - lowest;
        found.highest = 255.0F - found.zero_point;
        found.dequantize = following_.only_reader(next.output(0));
        return found;
      }
      if (!is_fused(node(product.node), product.weight, next) || next.input(0) != tensor) {
        return std::nullopt;
      }
      found.direct = found.direct && (next.op_type() == "Relu" || next.op_type() == "Clip");
      tensor = next.output(0);
    }
    return std::nullopt;
  }

  /// The backend fuses an activation also where the model has codes in front of it: the activation
  /// reads sums that were requantized for its own result.
  void follow_behind(const Product& product, const Result& inner, const std::string& exact,
                     const std::optional<std::string>& factor) {
    if (inner.dequantize < 0 || node(inner.dequantize).op_type() != "DequantizeLinear") {
      return;
    }
    const std::string& before = node(inner.dequantize).output(0);
    const int activation = following_.only_reader(before);
    if (activation < 0 || !is_fused(node(product.node), product.weight, node(activation)) ||
        node(activation).input(0) != before) {
      return;
    }
    if (const std::optional<Result> result = result_of(product, before)) {
      std::string fused = exact;
      if (requantizes(product, *result)) {
        fused = following_.names.fresh(product.sums + "_fused");
        insert(product, *result, exact, fused, factor);
      }
      following_.editor.set_input(activation, 0, fused);
    }
  }

  /// Sums that an activation reads stay as they are on the vector unit and where its results are
  /// never above the zero point.
  static bool requantizes(const Product& product, const Result& result) {
    return result.direct || (!product.vector_unit && result.highest > 0);
  }

  void insert(const Product& product, const Result& result, const std::string& from,
              const std::string& to, const std::optional<std::string>& factor) {
    TargetNode requantize(kRequantize, following_.names.fresh(to + "_requantize"));
    requantize.input(from).output(to).set(kScale, product.scale).set(kScales, product.scales);
    requantize.set(kAxis, product.axis);
    requantize.set(kStep, result.step).set(kHighest, result.direct ? 0.0F : result.highest);
    requantize.set(kVectorUnit, std::int64_t{product.vector_unit});
    requantize.set(kZeroPoint, result.zero_point);
    if (factor) {
      requantize.input(*factor);
    }
    following_.editor.insert_before(following_.index.producer(product.sums) + 1, requantize.take());
  }

  /// Returns the name of the factors.
  std::string insert_second(const Product& product, float step) {
    const std::string operand = node(product.node).input(1);
    const std::string codes = following_.names.fresh(operand + "_rounded");
    const std::string factor = following_.names.fresh(operand + "_factor");
    TargetNode second(kSecondOperand, following_.names.fresh(operand + "_second"));
    second.input(operand).output(codes).output(factor).set(kStep, step);
    following_.editor.set_input(product.node, 1, codes);
    following_.editor.insert_before(product.node, second.take());
    return factor;
  }

  Following& following_;
};

}  // namespace

void follow_products(Following& following) {
  Products products(following);
  for (int i = 0; i < following.model.graph().node_size(); ++i) {
    products.follow(i);
  }
}

}  // namespace halfstep::simulation
