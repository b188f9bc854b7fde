// LSTM, GRU and RNN, one step after the other, in float16: the chip's own recurrent operators take
// no weights per direction and no sequence in the order of ONNX.
#include <array>
#include <cstring>

#include "halfstep/core/half.h"
#include "halfstep/outputs/qnn/constant_data.h"
#include "halfstep/outputs/qnn/families/families.h"

namespace halfstep::qnn {
namespace {

constexpr DataType kFloat = DataType::float16;

template <typename T>
T read(const std::vector<std::byte>& data, std::size_t i) {
  T value{};
  std::memcpy(&value, data.data() + i * sizeof(T), sizeof(T));
  return value;
}

float code_at(const Tensor& tensor, std::size_t i) {
  switch (tensor.type) {
    case DataType::sfixed8:
      return read<std::int8_t>(tensor.data, i);
    case DataType::ufixed8:
      return read<std::uint8_t>(tensor.data, i);
    case DataType::sfixed16:
      return read<std::int16_t>(tensor.data, i);
    case DataType::ufixed16:
      return read<std::uint16_t>(tensor.data, i);
    case DataType::sfixed32:
      return static_cast<float>(read<std::int32_t>(tensor.data, i));
    case DataType::float16:
      return to_float(read<Float16>(tensor.data, i));
    default:
      return read<float>(tensor.data, i);
  }
}

/// What the stored weights are worth: the rounding of their codes stays.
std::vector<float> weight_values(const NodeContext& context, int slot) {
  const std::string name =
      context.graph.constant(context.index, slot, identity_layout(context.rank(slot)));
  const Tensor& tensor = context.graph.tensor(name);
  const Quantization& q = tensor.quantization;
  const auto count = static_cast<std::size_t>(element_count(context.in_shape(slot)));
  std::vector<float> values(count);
  std::size_t inner = 1;
  for (std::size_t d = static_cast<std::size_t>(q.axis) + 1; d < tensor.dims.size(); ++d) {
    inner *= tensor.dims[d];
  }
  for (std::size_t i = 0; i < count; ++i) {
    values[i] = code_at(tensor, i);
    if (is_fixed_point(tensor.type)) {
      const std::size_t k = q.scales.size() == 1 ? 0 : i / inner % q.scales.size();
      const float offset = q.offsets.empty() ? 0.0F : static_cast<float>(q.offsets[k]);
      values[i] = (values[i] + offset) * q.scales[k];
    }
  }
  return values;
}

/// One direction of one layer.
class Unroller {
 public:
  Unroller(const NodeContext& context, std::int64_t gates)
      : context_(context), graph_(context.graph), gates_(gates) {
    check();
    for (int i = 0; i < 3 && base_.empty(); ++i) {
      base_ = context.wants(i) ? context.out(i) : "";
    }
    const Shape& x = context.in_shape(0);
    const bool batch_first = context.attribute("layout", std::int64_t{0}) != 0;
    if (batch_first) {
      context.refuse("layout 1 (batch first) is not written; expected 0");
    }
    steps_ = x.at(0);
    batch_ = x.at(1);
    inputs_ = x.at(2);
    hidden_ = context.in_shape(2).at(2);
    directions_ = context.in_shape(1).at(0);
    weights_ = weight_values(context, 1);
    recurrent_ = weight_values(context, 2);
    bias_ = context.has(3)
                ? weight_values(context, 3)
                : std::vector<float>(static_cast<std::size_t>(directions_ * 2 * gates_ * hidden_));
  }

  void run() {
    const std::string direction = context_.attribute("direction", "forward");
    rows_ = temporary({steps_ * batch_, inputs_});
    graph_.add("Reshape", {context_.operand(0, identity_layout(3))}, {rows_}, {}, "rows");
    std::vector<std::vector<std::string>> outputs(static_cast<std::size_t>(steps_));
    std::vector<std::string> last_h, last_c;
    for (std::int64_t d = 0; d < directions_; ++d) {
      const bool reverse = direction == "reverse" || d == 1;
      run_direction(d, reverse, outputs, last_h, last_c);
    }
    finish(outputs, last_h, last_c);
  }

 private:
  void check() const {
    if (context_.has(4) || context_.has(7)) {
      context_.refuse(context_.has(4)
                          ? "sequences of several lengths (sequence_lens) are not written"
                          : "peephole weights (P) are not written");
    }
    for (const char* name : {"clip", "activations", "activation_alpha"}) {
      if (find_attribute(context_.node, name) != nullptr && !is_default(name)) {
        context_.refuse("the attribute " + std::string(name) + " is not written");
      }
    }
    if (context_.attribute("input_forget", std::int64_t{0}) != 0) {
      context_.refuse("coupled gates (input_forget) are not written");
    }
  }

  /// Exporters write the activations that are the default.
  [[nodiscard]] bool is_default(std::string_view name) const {
    if (name != "activations") {
      return false;
    }
    const onnx::AttributeProto& given = *find_attribute(context_.node, name);
    for (int i = 0; i < given.strings_size(); ++i) {
      const std::string& text = given.strings(i);
      const std::string wanted = gates_ == 1   ? "Tanh"
                                 : gates_ == 3 ? (i % 2 == 0 ? "Sigmoid" : "Tanh")
                                               : (i % 3 == 0 ? "Sigmoid" : "Tanh");
      if (text != wanted) {
        return false;
      }
    }
    return true;
  }

  std::string temporary(const Shape& dims) {
    return graph_.temporary(base_ + "_step", {.type = kFloat}, dims);
  }

  std::string constant(const Shape& dims, const std::vector<float>& values) {
    return graph_.add_constant(base_ + "_weight", {.type = kFloat}, dims,
                               float_bytes(values, kFloat));
  }

  std::string apply(const char* type, std::vector<std::string> inputs, const Shape& dims) {
    std::string output = temporary(dims);
    graph_.add(type, std::move(inputs), {output}, {}, "step");
    return output;
  }

  /// Rows [first, first + rows) of `from`, [from_rows, columns].
  std::string slice(const std::string& from, std::int64_t first, std::int64_t rows,
                    std::int64_t columns_first, std::int64_t columns) {
    std::string output = temporary({rows, columns});
    const std::array<std::int32_t, 6> ranges = {static_cast<std::int32_t>(first),
                                                static_cast<std::int32_t>(first + rows),
                                                1,
                                                static_cast<std::int32_t>(columns_first),
                                                static_cast<std::int32_t>(columns_first + columns),
                                                1};
    graph_.add("StridedSlice", {from}, {output}, {list_param("ranges", ranges, {2, 3})}, "step");
    return output;
  }

  std::string gate(const std::string& sums, std::int64_t number) {
    return slice(sums, 0, batch_, number * hidden_, hidden_);
  }

  std::string sum(const std::string& a, const std::string& b, const Shape& dims) {
    return apply("ElementWiseAdd", {a, b}, dims);
  }

  /// Rows of a weight [D, rows, columns] or bias of direction `d`.
  static std::vector<float> part(const std::vector<float>& values, std::int64_t first,
                                 std::int64_t count) {
    return {values.begin() + first, values.begin() + first + count};
  }

  std::string initial(int slot, std::int64_t d) {
    if (!context_.has(slot)) {
      const auto count = static_cast<std::size_t>(batch_ * hidden_);
      return constant({batch_, hidden_}, std::vector<float>(count));
    }
    if (context_.is_constant(slot)) {
      return constant({batch_, hidden_},
                      part(weight_values(context_, slot), d * batch_ * hidden_, batch_ * hidden_));
    }
    const std::string rows = temporary({directions_ * batch_, hidden_});
    graph_.add("Reshape", {context_.operand(slot, identity_layout(3))}, {rows}, {}, "state");
    return slice(rows, d * batch_, batch_, 0, hidden_);
  }

  void run_direction(std::int64_t d, bool reverse, std::vector<std::vector<std::string>>& outputs,
                     std::vector<std::string>& last_h, std::vector<std::string>& last_c) {
    const std::int64_t wide = gates_ * hidden_;
    const Shape sums_shape = {batch_, wide};
    const std::string w =
        constant({wide, inputs_}, part(weights_, d * wide * inputs_, wide * inputs_));
    recurrent_name_ =
        constant({wide, hidden_}, part(recurrent_, d * wide * hidden_, wide * hidden_));
    set_biases(d, wide);
    const std::string products = temporary({steps_ * batch_, wide});
    graph_.add("FullyConnected", {rows_, w, input_bias_}, {products}, {}, "input");
    std::string h = initial(5, d);
    std::string c = gates_ == 4 ? initial(6, d) : std::string();
    for (std::int64_t k = 0; k < steps_; ++k) {
      const std::int64_t t = reverse ? steps_ - 1 - k : k;
      const std::string given = slice(products, t * batch_, batch_, 0, wide);
      if (gates_ == 4) {
        h = lstm_step(given, h, c);
      } else if (gates_ == 3) {
        h = gru_step(given, h);
      } else {
        h = apply("Tanh", {sum(given, recurrence(h), sums_shape)}, {batch_, hidden_});
      }
      outputs[static_cast<std::size_t>(t)].push_back(h);
    }
    last_h.push_back(h);
    last_c.push_back(c);
  }

  /// Biases of input and recurrence are added once, but for the last gate of a GRU that is reset
  /// behind the product.
  void set_biases(std::int64_t d, std::int64_t wide) {
    std::vector<float> input = part(bias_, d * 2 * wide, wide);
    std::vector<float> recurrence = part(bias_, d * 2 * wide + wide, wide);
    const bool late = gates_ == 3 && resets_late();
    const auto both = static_cast<std::size_t>(late ? 2 * hidden_ : wide);
    for (std::size_t i = 0; i < both; ++i) {
      input[i] += recurrence[i];
      recurrence[i] = 0;
    }
    input_bias_ = constant({wide}, input);
    recurrent_bias_ = constant({wide}, recurrence);
  }

  [[nodiscard]] bool resets_late() const {
    return context_.attribute("linear_before_reset", std::int64_t{0}) != 0;
  }

  std::string recurrence(const std::string& h) {
    return apply("FullyConnected", {h, recurrent_name_, recurrent_bias_},
                 {batch_, gates_ * hidden_});
  }

  /// Gates i, o, f, c.
  std::string lstm_step(const std::string& given, const std::string& h, std::string& c) {
    const Shape dims = {batch_, hidden_};
    const std::string sums = sum(given, recurrence(h), {batch_, gates_ * hidden_});
    const std::string i = apply("Sigmoid", {gate(sums, 0)}, dims);
    const std::string o = apply("Sigmoid", {gate(sums, 1)}, dims);
    const std::string f = apply("Sigmoid", {gate(sums, 2)}, dims);
    const std::string candidate = apply("Tanh", {gate(sums, 3)}, dims);
    c = sum(apply("ElementWiseMultiply", {f, c}, dims),
            apply("ElementWiseMultiply", {i, candidate}, dims), dims);
    return apply("ElementWiseMultiply", {o, apply("Tanh", {c}, dims)}, dims);
  }

  /// Gates z, r, h. H = (1 - z) candidate + z h = candidate + z (h - candidate)
  std::string gru_step(const std::string& given, const std::string& h) {
    const Shape dims = {batch_, hidden_};
    const std::string back = recurrence(h);
    const std::string z = apply("Sigmoid", {sum(gate(given, 0), gate(back, 0), dims)}, dims);
    const std::string r = apply("Sigmoid", {sum(gate(given, 1), gate(back, 1), dims)}, dims);
    std::string reset;
    if (resets_late()) {
      reset = apply("ElementWiseMultiply", {r, gate(back, 2)}, dims);
    } else {
      reset = gate(recurrence(apply("ElementWiseMultiply", {r, h}, dims)), 2);
    }
    const std::string candidate = apply("Tanh", {sum(gate(given, 2), reset, dims)}, dims);
    const std::string change =
        apply("ElementWiseMultiply", {z, apply("ElementWiseSubtract", {h, candidate}, dims)}, dims);
    return sum(candidate, change, dims);
  }

  void finish(const std::vector<std::vector<std::string>>& outputs,
              const std::vector<std::string>& last_h, const std::vector<std::string>& last_c) {
    if (context_.wants(0)) {
      std::vector<std::string> all;
      for (const auto& step : outputs) {
        all.insert(all.end(), step.begin(), step.end());
      }
      collect(all, 0, 4);
    }
    if (context_.wants(1)) {
      collect(last_h, 1, 3);
    }
    if (context_.wants(2)) {
      collect(last_c, 2, 3);
    }
  }

  /// States [B, H] one after the other as output `number`.
  void collect(const std::vector<std::string>& states, int number, std::size_t rank) {
    std::string all = states.front();
    const auto count = static_cast<std::int64_t>(states.size());
    if (count > 1) {
      all = temporary({count * batch_, hidden_});
      graph_.add("Concat", states, {all}, {{.name = "axis", .value = std::uint32_t{0}}}, "states");
    }
    graph_.add("Reshape", {all}, {graph_.result(context_.out(number), identity_layout(rank))}, {},
               "output");
  }

  const NodeContext& context_;
  GraphBuilder& graph_;
  std::int64_t gates_;
  std::int64_t steps_ = 0, batch_ = 0, inputs_ = 0, hidden_ = 0, directions_ = 1;
  std::vector<float> weights_{}, recurrent_{}, bias_{};
  std::string base_{}, rows_{}, recurrent_name_{}, input_bias_{}, recurrent_bias_{};
};

}  // namespace

void lower_lstm(const NodeContext& context) { Unroller(context, 4).run(); }

void lower_gru(const NodeContext& context) { Unroller(context, 3).run(); }

void lower_rnn(const NodeContext& context) { Unroller(context, 1).run(); }

}  // namespace halfstep::qnn
