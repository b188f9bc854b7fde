#include "halfstep/model/fold_extents.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "halfstep/model/graph_index.h"
#include "halfstep/model/op_facts.h"
#include "halfstep/model/values.h"

namespace halfstep {
namespace {

constexpr std::int64_t kMostNumbers = 4096;
constexpr int kMostRounds = 16;

/// A number or a list of numbers. Integers up to 2^53 are exact.
struct Numbers {
  int type = onnx::TensorProto::INT64;
  Shape shape{};
  std::vector<double> values{};
};
using Result = std::optional<Numbers>;
using Inputs = std::vector<const Numbers*>;  ///< null: not given

bool is_whole(int type) { return !is_float_type(type); }

Numbers list_of(std::vector<double> values, int type) {
  return {.type = type,
          .shape = {static_cast<std::int64_t>(values.size())},
          .values = std::move(values)};
}

// ---- element by element -------------------------------------------------------------------------

using Function = double (*)(double, double);
struct Arithmetic {
  std::string_view op;
  Function function;
  bool truth = false;  ///< the result is a bool
};

double divide(double a, double b) { return b == 0 ? 0 : a / b; }

constexpr std::array kArithmetic = {
    Arithmetic{.op = "Add", .function = [](double a, double b) { return a + b; }},
    Arithmetic{.op = "Sub", .function = [](double a, double b) { return a - b; }},
    Arithmetic{.op = "Mul", .function = [](double a, double b) { return a * b; }},
    Arithmetic{.op = "Div", .function = divide},
    Arithmetic{.op = "Min", .function = [](double a, double b) { return std::min(a, b); }},
    Arithmetic{.op = "Max", .function = [](double a, double b) { return std::max(a, b); }},
    Arithmetic{
        .op = "Mod",
        .function = [](double a, double b) { return b == 0 ? 0 : a - b * std::floor(a / b); }},
    Arithmetic{.op = "Equal",
               .function = [](double a, double b) { return a == b ? 1.0 : 0.0; },
               .truth = true},
    Arithmetic{.op = "Greater",
               .function = [](double a, double b) { return a > b ? 1.0 : 0.0; },
               .truth = true},
    Arithmetic{.op = "Less",
               .function = [](double a, double b) { return a < b ? 1.0 : 0.0; },
               .truth = true},
    Arithmetic{.op = "And",
               .function = [](double a, double b) { return a != 0 && b != 0 ? 1.0 : 0.0; },
               .truth = true},
    Arithmetic{.op = "Or",
               .function = [](double a, double b) { return a != 0 || b != 0 ? 1.0 : 0.0; },
               .truth = true},
};

/// One of them is a single number, or both have the same shape.
const Numbers* larger(const Numbers& a, const Numbers& b) {
  if (a.shape == b.shape) {
    return &a;
  }
  if (b.values.size() == 1 && b.shape.size() <= a.shape.size()) {
    return &a;
  }
  return a.values.size() == 1 && a.shape.size() <= b.shape.size() ? &b : nullptr;
}

double at(const Numbers& numbers, std::size_t i) {
  return numbers.values.size() == 1 ? numbers.values[0] : numbers.values[i];
}

Result combine(const Arithmetic& row, const Numbers& a, const Numbers& b) {
  const Numbers* shaped = larger(a, b);
  if (shaped == nullptr) {
    return std::nullopt;
  }
  Numbers result{.type = row.truth ? onnx::TensorProto::BOOL : a.type, .shape = shaped->shape};
  for (std::size_t i = 0; i < shaped->values.size(); ++i) {
    const double value = row.function(at(a, i), at(b, i));
    result.values.push_back(!row.truth && is_whole(a.type) ? std::trunc(value) : value);
  }
  return result;
}

Result where(const Inputs& in) {
  if (in.size() != 3 || in[0] == nullptr || in[1] == nullptr || in[2] == nullptr) {
    return std::nullopt;
  }
  const Numbers* shaped = larger(*in[1], *in[2]);
  shaped = shaped == nullptr ? nullptr : larger(*in[0], *shaped);
  if (shaped == nullptr) {
    return std::nullopt;
  }
  Numbers result{.type = in[1]->type, .shape = shaped->shape};
  for (std::size_t i = 0; i < shaped->values.size(); ++i) {
    result.values.push_back(at(*in[0], i) != 0 ? at(*in[1], i) : at(*in[2], i));
  }
  return result;
}

using Unary = double (*)(double);
struct UnaryRow {
  std::string_view op;
  Unary function;
};
constexpr std::array kUnary = {
    UnaryRow{.op = "Neg", .function = [](double x) { return -x; }},
    UnaryRow{.op = "Abs", .function = [](double x) { return std::fabs(x); }},
    UnaryRow{.op = "Floor", .function = [](double x) { return std::floor(x); }},
    UnaryRow{.op = "Ceil", .function = [](double x) { return std::ceil(x); }},
    UnaryRow{.op = "Sqrt", .function = [](double x) { return std::sqrt(x); }},
    UnaryRow{.op = "Not", .function = [](double x) { return x == 0 ? 1.0 : 0.0; }},
    UnaryRow{.op = "Identity", .function = [](double x) { return x; }},
};

// ---- lists --------------------------------------------------------------------------------------

Result gather(const onnx::NodeProto& node, const Inputs& in) {
  if (int_attribute(node, "axis", 0) != 0 || in.size() != 2 || in[0] == nullptr ||
      in[1] == nullptr || in[0]->shape.size() != 1) {
    return std::nullopt;
  }
  Numbers result{.type = in[0]->type, .shape = in[1]->shape};
  const auto extent = static_cast<double>(in[0]->values.size());
  for (const double given : in[1]->values) {
    const double index = given < 0 ? given + extent : given;
    if (index < 0 || index >= extent) {
      return std::nullopt;
    }
    result.values.push_back(in[0]->values[static_cast<std::size_t>(index)]);
  }
  return result;
}

Result concat(const Inputs& in) {
  std::vector<double> values;
  for (const Numbers* part : in) {
    if (part == nullptr || part->shape.size() != 1) {
      return std::nullopt;
    }
    values.insert(values.end(), part->values.begin(), part->values.end());
  }
  return in.empty() ? std::nullopt : Result(list_of(std::move(values), in[0]->type));
}

std::int64_t clamped(double given, std::int64_t extent, bool backward) {
  const auto far = static_cast<double>(extent);
  const double index = given < 0 ? given + far : given;
  return static_cast<std::int64_t>(
      std::clamp(index, backward ? -1.0 : 0.0, backward ? far - 1 : far));
}

Result slice(const Inputs& in) {
  if (in.size() < 3 || in[0] == nullptr || in[1] == nullptr || in[2] == nullptr ||
      in[0]->shape.size() != 1 || in[1]->values.size() != 1 || in[2]->values.size() != 1 ||
      (in.size() > 4 && (in[4] == nullptr || in[4]->values.size() != 1))) {
    return std::nullopt;
  }
  const auto step = in.size() > 4 ? static_cast<std::int64_t>(in[4]->values[0]) : 1;
  const auto extent = static_cast<std::int64_t>(in[0]->values.size());
  const std::int64_t end = clamped(in[2]->values[0], extent, step < 0);
  std::vector<double> values;
  for (std::int64_t i = clamped(in[1]->values[0], extent, step < 0);
       step != 0 && (step > 0 ? i < end : i > end); i += step) {
    values.push_back(in[0]->values[static_cast<std::size_t>(i)]);
  }
  return list_of(std::move(values), in[0]->type);
}

Result range(const Inputs& in) {
  if (in.size() != 3 || in[0] == nullptr || in[1] == nullptr || in[2] == nullptr ||
      in[0]->values.size() != 1 || in[1]->values.size() != 1 || in[2]->values.size() != 1 ||
      in[2]->values[0] == 0) {
    return std::nullopt;
  }
  const double start = in[0]->values[0], step = in[2]->values[0];
  const double count = std::ceil((in[1]->values[0] - start) / step);
  if (!(count <= static_cast<double>(kMostNumbers))) {
    return std::nullopt;
  }
  std::vector<double> values(count > 0 ? static_cast<std::size_t>(count) : 0);
  for (std::size_t i = 0; i < values.size(); ++i) {
    values[i] = start + static_cast<double>(i) * step;
  }
  return list_of(std::move(values), in[0]->type);
}

// ---- nodes --------------------------------------------------------------------------------------

class Folder {
 public:
  explicit Folder(Model& model) : model_(model), index_(model) {}

  /// Returns how many nodes were replaced.
  int run() {
    std::unordered_set<int> done;
    for (int i = 0; i < index_.graph().node_size(); ++i) {
      const onnx::NodeProto& node = index_.graph().node(i);
      if (!is_onnx_domain(node) || node.output_size() != 1 || node.op_type() == "Constant" ||
          index_.is_graph_output(node.output(0))) {
        continue;
      }
      Result result = evaluate(node);
      if (result && static_cast<std::int64_t>(result->values.size()) <= kMostNumbers &&
          !result->values.empty()) {
        known_[node.output(0)] = std::move(*result);
        done.insert(i);
      }
    }
    replace(done);
    return static_cast<int>(done.size());
  }

 private:
  const Numbers* numbers(const std::string& tensor) {
    const auto found = known_.find(tensor);
    if (found != known_.end()) {
      return &found->second;
    }
    const onnx::TensorProto* constant = index_.constant(tensor);
    if (constant == nullptr || element_count(shape_of(*constant)) > kMostNumbers ||
        element_bits(constant->data_type()) < 8) {
      return nullptr;
    }
    const std::vector<float> floats = model_.floats(*constant);
    Numbers made{.type = constant->data_type(),
                 .shape = shape_of(*constant),
                 .values = {floats.begin(), floats.end()}};
    if (constant->data_type() == onnx::TensorProto::INT64) {
      const TensorBytes bytes = model_.data(*constant);
      for (std::size_t i = 0; i < made.values.size(); ++i) {
        std::int64_t value = 0;
        std::memcpy(&value, bytes.span().data() + i * sizeof(value), sizeof(value));
        made.values[i] = static_cast<double>(value);
      }
    }
    return &known_.emplace(tensor, std::move(made)).first->second;
  }

  Inputs inputs_of(const onnx::NodeProto& node) {
    Inputs inputs;
    for (const std::string& input : node.input()) {
      inputs.push_back(input.empty() ? nullptr : numbers(input));
    }
    return inputs;
  }

  /// Shape and Size need extents only.
  [[nodiscard]] Result extents(const onnx::NodeProto& node) const {
    const std::optional<Shape> shape = index_.type(node.input(0)).shape;
    if (!shape || std::any_of(shape->begin(), shape->end(), [](auto e) { return e < 0; })) {
      return std::nullopt;
    }
    if (node.op_type() == "Size") {
      return Numbers{.values = {static_cast<double>(element_count(*shape))}};
    }
    const auto rank = static_cast<std::int64_t>(shape->size());
    const auto bound = [rank](std::int64_t value) {
      return std::clamp<std::int64_t>(value < 0 ? value + rank : value, 0, rank);
    };
    const std::int64_t start = bound(int_attribute(node, "start", 0));
    const std::int64_t end = std::max(start, bound(int_attribute(node, "end", rank)));
    return list_of({shape->begin() + start, shape->begin() + end}, onnx::TensorProto::INT64);
  }

  Result evaluate(const onnx::NodeProto& node) {
    const std::string& op = node.op_type();
    if (op == "Shape" || op == "Size") {
      return extents(node);
    }
    // Weights and their kin are no extents: only what is whole, or follows from something whole.
    const Inputs in = inputs_of(node);
    if (in.empty() || in[0] == nullptr) {
      return std::nullopt;
    }
    if (const auto* row = std::ranges::find(kArithmetic, op, &Arithmetic::op);
        row != kArithmetic.end()) {
      return in.size() == 2 && in[1] != nullptr ? combine(*row, *in[0], *in[1]) : std::nullopt;
    }
    if (const auto* row = std::ranges::find(kUnary, op, &UnaryRow::op); row != kUnary.end()) {
      Numbers result = *in[0];
      std::ranges::transform(result.values, result.values.begin(), row->function);
      return result;
    }
    return evaluate_list(node, in);
  }

  Result evaluate_list(const onnx::NodeProto& node, const Inputs& in) {
    const std::string& op = node.op_type();
    if (op == "Gather") {
      return gather(node, in);
    }
    if (op == "Concat") {
      return concat(in);
    }
    if (op == "Slice") {
      return slice(in);
    }
    if (op == "Where") {
      return where(in);
    }
    if (op == "Range") {
      return range(in);
    }
    if (op == "Cast") {
      return cast(node, *in[0]);
    }
    if (op == "ConstantOfShape") {
      return filled(node, *in[0]);
    }
    if (op == "Squeeze" || op == "Unsqueeze" || op == "Reshape" || op == "Flatten") {
      return reshaped(node, *in[0]);
    }
    return op == "Expand" ? expanded(node, *in[0]) : std::nullopt;
  }

  static Result cast(const onnx::NodeProto& node, const Numbers& from) {
    Numbers result = from;
    result.type = static_cast<int>(int_attribute(node, "to", from.type));
    if (element_bits(result.type) < 8) {
      return std::nullopt;
    }
    for (double& value : result.values) {
      value = result.type == onnx::TensorProto::BOOL ? (value != 0 ? 1.0 : 0.0)
              : is_whole(result.type)                ? std::trunc(value)
                                                     : value;
    }
    return result;
  }

  Result filled(const onnx::NodeProto& node, const Numbers& extents) const {
    Numbers result{.type = onnx::TensorProto::FLOAT,
                   .shape = {extents.values.begin(), extents.values.end()}};
    if (std::ranges::any_of(result.shape, [](auto extent) { return extent < 1; }) ||
        element_count(result.shape) > kMostNumbers) {
      return std::nullopt;
    }
    double value = 0;
    if (const onnx::AttributeProto* given = find_attribute(node, "value"); given != nullptr) {
      result.type = given->t().data_type();
      value = static_cast<double>(model_.floats(given->t()).at(0));
    }
    result.values.assign(static_cast<std::size_t>(element_count(result.shape)), value);
    return result;
  }

  [[nodiscard]] Result reshaped(const onnx::NodeProto& node, const Numbers& from) const {
    const std::optional<Shape> shape = index_.type(node.output(0)).shape;
    if (!shape || element_count(*shape) != static_cast<std::int64_t>(from.values.size())) {
      return std::nullopt;
    }
    Numbers result = from;
    result.shape = *shape;
    return result;
  }

  [[nodiscard]] Result expanded(const onnx::NodeProto& node, const Numbers& from) const {
    const std::optional<Shape> shape = index_.type(node.output(0)).shape;
    if (!shape || from.values.size() != 1 || element_count(*shape) < 1 ||
        element_count(*shape) > kMostNumbers) {
      return std::nullopt;
    }
    return Numbers{.type = from.type,
                   .shape = *shape,
                   .values = std::vector<double>(static_cast<std::size_t>(element_count(*shape)),
                                                 from.values[0])};
  }

  static onnx::TensorProto tensor_of(const std::string& name, const Numbers& numbers) {
    onnx::TensorProto tensor;
    tensor.set_name(name);
    tensor.set_data_type(numbers.type);
    for (const std::int64_t extent : numbers.shape) {
      tensor.add_dims(extent);
    }
    for (const double value : numbers.values) {
      if (numbers.type == onnx::TensorProto::INT64) {
        tensor.add_int64_data(static_cast<std::int64_t>(value));
      } else if (numbers.type == onnx::TensorProto::FLOAT) {
        tensor.add_float_data(static_cast<float>(value));
      } else {
        tensor.add_int32_data(static_cast<std::int32_t>(value));
      }
    }
    return tensor;
  }

  void replace(const std::unordered_set<int>& done) {
    onnx::GraphProto& graph = model_.graph();
    google::protobuf::RepeatedPtrField<onnx::NodeProto> kept;
    for (int i = 0; i < graph.node_size(); ++i) {
      if (done.contains(i)) {
        const std::string& name = graph.node(i).output(0);
        *graph.add_initializer() = tensor_of(name, known_.at(name));
      } else {
        kept.Add(std::move(*graph.mutable_node(i)));
      }
    }
    graph.mutable_node()->Swap(&kept);
  }

  Model& model_;
  GraphIndex index_;
  std::unordered_map<std::string, Numbers> known_{};
};

}  // namespace

int fold_extents(Model& model) {
  int all = 0;
  for (int round = 0; round < kMostRounds; ++round) {
    const int folded = Folder(model).run();
    if (folded == 0) {
      break;
    }
    all += folded;
  }
  return all;
}

}  // namespace halfstep
