#include "halfstep/engines/qnn/dlc/compare.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <variant>
#include <vector>

#include "halfstep/engines/qnn/check_graph.h"
#include "halfstep/engines/qnn/dlc/reader.h"
#include "halfstep/engines/qnn/graph.h"

namespace halfstep::qnn::dlc {
namespace {

/// How the IR library stores an operator whose type it changes. Source: every operator of a
/// catalogue written and read back, QNN 2.51.
struct Stored {
  std::string_view type;
  std::string_view as;
  std::uint32_t operation;  ///< value of the param "operation" that it adds
};
constexpr std::array kStored = {
    Stored{.type = "Relu", .as = "Neuron", .operation = 4},
    Stored{.type = "Sigmoid", .as = "Neuron", .operation = 6},
    Stored{.type = "Tanh", .as = "Neuron", .operation = 8},
    Stored{.type = "Gelu", .as = "Neuron", .operation = 1},
    Stored{.type = "Elu", .as = "Neuron", .operation = 0},
    Stored{.type = "ReluMinMax", .as = "Neuron", .operation = 5},
    Stored{.type = "ElementWiseAbs", .as = "Eltwise_Unary", .operation = 0},
    Stored{.type = "ElementWiseAsin", .as = "Eltwise_Unary", .operation = 1},
    Stored{.type = "ElementWiseAtan", .as = "Eltwise_Unary", .operation = 2},
    Stored{.type = "ElementWiseCeil", .as = "Eltwise_Unary", .operation = 3},
    Stored{.type = "ElementWiseCos", .as = "Eltwise_Unary", .operation = 4},
    Stored{.type = "ElementWiseExp", .as = "Eltwise_Unary", .operation = 5},
    Stored{.type = "ElementWiseFloor", .as = "Eltwise_Unary", .operation = 6},
    Stored{.type = "ElementWiseLog", .as = "Eltwise_Unary", .operation = 7},
    Stored{.type = "ElementWiseNeg", .as = "Eltwise_Unary", .operation = 8},
    Stored{.type = "ElementWiseNot", .as = "Eltwise_Unary", .operation = 9},
    Stored{.type = "ElementWiseRound", .as = "Eltwise_Unary", .operation = 11},
    Stored{.type = "ElementWiseRsqrt", .as = "Eltwise_Unary", .operation = 12},
    Stored{.type = "ElementWiseSign", .as = "Eltwise_Unary", .operation = 13},
    Stored{.type = "ElementWiseSin", .as = "Eltwise_Unary", .operation = 14},
    Stored{.type = "ElementWiseSquareRoot", .as = "Eltwise_Unary", .operation = 15},
    Stored{.type = "ElementWiseAdd", .as = "Eltwise_Binary", .operation = 0},
    Stored{.type = "ElementWiseAnd", .as = "Eltwise_Binary", .operation = 1},
    Stored{.type = "ElementWiseDivide", .as = "Eltwise_Binary", .operation = 2},
    Stored{.type = "ElementWiseEqual", .as = "Eltwise_Binary", .operation = 3},
    Stored{.type = "ElementWiseFloorDiv", .as = "Eltwise_Binary", .operation = 4},
    Stored{.type = "ElementWiseGreater", .as = "Eltwise_Binary", .operation = 6},
    Stored{.type = "ElementWiseGreaterEqual", .as = "Eltwise_Binary", .operation = 7},
    Stored{.type = "ElementWiseLess", .as = "Eltwise_Binary", .operation = 8},
    Stored{.type = "ElementWiseLessEqual", .as = "Eltwise_Binary", .operation = 9},
    Stored{.type = "ElementWiseMaximum", .as = "Eltwise_Binary", .operation = 10},
    Stored{.type = "ElementWiseMinimum", .as = "Eltwise_Binary", .operation = 11},
    Stored{.type = "ElementWiseMod", .as = "Eltwise_Binary", .operation = 12},
    Stored{.type = "ElementWiseMultiply", .as = "Eltwise_Binary", .operation = 13},
    Stored{.type = "ElementWiseNotEqual", .as = "Eltwise_Binary", .operation = 14},
    Stored{.type = "ElementWiseOr", .as = "Eltwise_Binary", .operation = 15},
    Stored{.type = "ElementWisePower", .as = "Eltwise_Binary", .operation = 16},
    Stored{.type = "ElementWiseSquaredDifference", .as = "Eltwise_Binary", .operation = 17},
    Stored{.type = "ElementWiseSubtract", .as = "Eltwise_Binary", .operation = 18},
    Stored{.type = "ElementWiseXor", .as = "Eltwise_Binary", .operation = 19},
};

/// Families that keep the type in a param of their own.
constexpr std::array kFamilies = {
    Stored{.type = "Pool", .as = "Pool", .operation = 0},
    Stored{.type = "Reduce", .as = "Reduce", .operation = 0},
    Stored{.type = "Arg", .as = "Arg", .operation = 0},
    Stored{.type = "ElementWise", .as = "Eltwise_", .operation = 0},
};

/// True if an operator meant as `type` may be stored as `found`.
bool may_be_stored_as(std::string_view type, std::string_view found) {
  const auto* row = std::ranges::find(kStored, type, &Stored::type);
  if (row != kStored.end()) {
    return found == row->as;
  }
  return type == found || std::ranges::any_of(kFamilies, [&](const Stored& family) {
           return type.starts_with(family.type) && found.starts_with(family.as);
         });
}

/// A number of any of the types that params have.
std::optional<double> number_in(const Param& param) {
  if (const auto* truth = std::get_if<bool>(&param.value)) {
    return *truth ? 1.0 : 0.0;
  }
  if (const auto* count = std::get_if<std::uint32_t>(&param.value)) {
    return *count;
  }
  if (const auto* integer = std::get_if<std::int32_t>(&param.value)) {
    return *integer;
  }
  if (const auto* real = std::get_if<float>(&param.value)) {
    return *real;
  }
  return std::nullopt;
}

class Comparison {
 public:
  explicit Comparison(std::vector<std::string>& differences) : differences_(differences) {}

  void tensor(const std::string& place, const Tensor& meant, const Tensor& found);
  void op(const Op& meant, const Op& found);

 private:
  template <typename T>
  void same(const std::string& what, const T& meant, const T& found);
  void quantization(const std::string& place, const Quantization& meant, const Quantization& found);
  void params(const std::string& place, const Op& meant, const Op& found);

  std::vector<std::string>& differences_;
};

std::string to_word(const std::string& value) { return "\"" + value + "\""; }
std::string to_word(std::string_view value) { return std::string(value); }
template <typename T>
std::string to_word(const T& value) {
  return std::to_string(value);
}

std::string to_word(const std::vector<std::byte>& value) {
  return std::to_string(value.size()) + " bytes";
}

template <typename T>
std::string to_word(const std::vector<T>& values) {
  constexpr std::size_t kShown = 8;
  std::string text = "[";
  for (std::size_t i = 0; i < std::min(values.size(), kShown); ++i) {
    text += (i == 0 ? "" : ", ") + to_word(values[i]);
  }
  return text + (values.size() > kShown ? ", ...]" : "]");
}

template <typename T>
void Comparison::same(const std::string& what, const T& meant, const T& found) {
  if (meant != found) {
    differences_.push_back(what + ": found " + to_word(found) + ", expected " + to_word(meant));
  }
}

void Comparison::quantization(const std::string& place, const Quantization& meant,
                              const Quantization& found) {
  using Kind = Quantization::Kind;
  same(place + ": kind of encoding", static_cast<int>(meant.kind), static_cast<int>(found.kind));
  if (meant.kind == Kind::none || meant.kind != found.kind) {
    return;
  }
  same(place + ": scales", meant.scales, found.scales);
  const std::vector<std::int32_t> offsets =
      meant.offsets.empty() ? std::vector<std::int32_t>(meant.scales.size()) : meant.offsets;
  same(place + ": offsets", offsets, found.offsets);
  const bool bits = meant.kind == Kind::per_tensor_bits || meant.kind == Kind::per_axis_bits;
  if (bits) {
    same(place + ": bits", meant.bits, found.bits);
  }
  if (meant.kind != Kind::per_tensor && meant.kind != Kind::per_tensor_bits &&
      meant.kind != Kind::block) {
    same(place + ": axis", meant.axis, found.axis);
  }
  if (meant.kind == Kind::block_expansion) {
    same(place + ": blocks per axis", meant.blocks_per_axis, found.blocks_per_axis);
    same(place + ": bits of a block scale", meant.block_scale_bits, found.block_scale_bits);
    same(place + ": block scales", meant.block_scales, found.block_scales);
  }
}

void Comparison::tensor(const std::string& place, const Tensor& meant, const Tensor& found) {
  same(place + ": type", name_of(meant.type), name_of(found.type));
  same(place + ": shape", meant.dims, found.dims);
  same(place + ": data", meant.data, found.data);
  quantization(place, meant.quantization, found.quantization);
}

void Comparison::params(const std::string& place, const Op& meant, const Op& found) {
  for (const Param& param : meant.params) {
    const std::string name = place + ": param \"" + param.name + "\"";
    const auto other = std::ranges::find(found.params, param.name, &Param::name);
    if (other == found.params.end()) {
      differences_.push_back(name + ": missing");
      continue;
    }
    const auto* mine = std::get_if<Tensor>(&param.value);
    const auto* theirs = std::get_if<Tensor>(&other->value);
    if (mine != nullptr && theirs != nullptr) {
      tensor(name, *mine, *theirs);
    } else if (mine != nullptr || theirs != nullptr) {
      differences_.push_back(name + ": a tensor on one side only");
    } else if (number_in(param) != number_in(*other)) {
      differences_.push_back(name + ": another value");
    }
  }
}

void Comparison::op(const Op& meant, const Op& found) {
  const std::string place = meant.type + " \"" + meant.name + "\"";
  same(place + ": name", meant.name, found.name);
  same(place + ": inputs", meant.inputs, found.inputs);
  same(place + ": outputs", meant.outputs, found.outputs);
  if (!may_be_stored_as(meant.type, found.type)) {
    differences_.push_back(place + ": stored as " + found.type);
  }
  const auto* row = std::ranges::find(kStored, meant.type, &Stored::type);
  if (row != kStored.end()) {
    Op operation{.name = meant.name, .type = found.type};
    operation.params.push_back({.name = "operation", .value = row->operation});
    params(place, operation, found);
  } else if (meant.type == found.type) {
    params(place, meant, found);
  }
}

}  // namespace

std::vector<std::string> compare(const Graph& meant, const Contents& contents) {
  std::vector<std::string> differences;
  if (contents.graphs.size() != 1) {
    return {"the file holds " + std::to_string(contents.graphs.size()) + " graphs, expected 1"};
  }
  const Graph& found = contents.graphs.front();
  Comparison comparison(differences);
  std::unordered_map<std::string_view, const Tensor*> tensors;
  for (const Tensor& tensor : found.tensors) {
    tensors.emplace(tensor.name, &tensor);
  }
  for (const Tensor& tensor : meant.tensors) {
    const std::string place = "tensor \"" + tensor.name + "\"";
    const auto other = tensors.find(tensor.name);
    if (other == tensors.end()) {
      differences.push_back(place + ": missing");
      continue;
    }
    if (tensor.kind != other->second->kind) {
      differences.push_back(place + ": kind " + std::string(name_of(other->second->kind)) +
                            ", expected " + std::string(name_of(tensor.kind)));
    }
    comparison.tensor(place, tensor, *other->second);
  }
  if (meant.ops.size() != found.ops.size()) {
    differences.push_back("found " + std::to_string(found.ops.size()) + " operators, expected " +
                          std::to_string(meant.ops.size()));
    return differences;
  }
  for (std::size_t i = 0; i < meant.ops.size(); ++i) {
    comparison.op(meant.ops[i], found.ops[i]);
  }
  return differences;
}

}  // namespace halfstep::qnn::dlc
