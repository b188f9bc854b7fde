#include "halfstep/adaptation/prepare/fold_bias.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <string>
#include <unordered_set>
#include <utility>
#include <vector>

#include "halfstep/adaptation/prepare/graph_parts.h"
#include "halfstep/model/graph_index.h"
#include "halfstep/model/op_facts.h"
#include "halfstep/model/static_view.h"
#include "halfstep/model/value_info.h"
#include "halfstep/model/values.h"

namespace halfstep {
namespace {

constexpr int kBiasSlot = 2;
constexpr int kBroadcastSince = 7;             // opset: before, Add and Gemm broadcast otherwise
constexpr std::int64_t kOverridableSince = 4;  // IR version: before, initializers are inputs

struct Fold {
  int op = 0;   ///< takes the bias
  int add = 0;  ///< goes
  int constant_slot = 0;
  std::int64_t channels = 0;
};

bool takes_bias(const onnx::NodeProto& node) {
  return is_onnx_domain(node) && (node.op_type() == "Conv" || node.op_type() == "ConvTranspose" ||
                                  node.op_type() == "Gemm");
}

bool is_conv(const onnx::NodeProto& node) {
  return node.op_type() == "Conv" || node.op_type() == "ConvTranspose";
}

bool has_bias(const onnx::NodeProto& node) {
  return node.input_size() > kBiasSlot && !node.input(kBiasSlot).empty();
}

/// Types whose values float32 holds.
bool fits_float(int type) { return is_float_type(type) && type != onnx::TensorProto::DOUBLE; }

/// The values of a constant that holds one number per channel, or one for all. `rank` is that of
/// the tensor it is added to, `axis` the channel's there. Empty if it is anything else.
std::optional<std::vector<float>> per_channel(const Model& model, const onnx::TensorProto& constant,
                                              std::size_t rank, std::size_t axis,
                                              std::int64_t channels) {
  const Shape shape = shape_of(constant);
  if (shape.size() > rank) {
    return std::nullopt;  // the sum has more axes than the operator's result
  }
  const std::size_t missing = rank - shape.size();
  for (std::size_t i = 0; i < shape.size(); ++i) {
    const bool at_channel = i + missing == axis;
    if (shape[i] != 1 && !(at_channel && shape[i] == channels)) {
      return std::nullopt;
    }
  }
  std::vector<float> values = model.floats(constant);
  if (values.size() == 1) {
    values.resize(static_cast<std::size_t>(channels), values[0]);
  }
  return values;
}

class BiasFolder {
 public:
  BiasFolder(Model& model, const std::set<std::string>& keep)
      : model_(model), keep_(keep), graph_(model), names_(model.graph()) {}

  int fold_all(Diagnostics& diagnostics) {
    std::vector<std::pair<Fold, std::vector<float>>> folds;
    std::unordered_set<int> taken;
    for (int node = 0; node < graph_.graph().node_size(); ++node) {
      const std::optional<Fold> fold = candidate(node);
      std::optional<std::vector<float>> bias = fold ? bias_of(*fold) : std::nullopt;
      if (bias && taken.insert(fold->op).second) {
        taken.insert(node);
        folds.emplace_back(*fold, std::move(*bias));
      }
    }
    for (const auto& [fold, bias] : folds) {
      diagnostics.push_back(
          {.severity = Severity::note,
           .rule = "prepare/fold-bias",
           .subject = proto(fold.add).output(0),
           .message = graph_.label(fold.add) + " is the bias of " + graph_.label(fold.op) +
                      (has_bias(proto(fold.op)) ? ", added to the one it had" : "")});
    }
    count_lost_readers(folds);
    for (auto& [fold, bias] : folds) {
      apply(fold, bias);
    }
    finish();
    return static_cast<int>(folds.size());
  }

 private:
  [[nodiscard]] const onnx::NodeProto& proto(int node) const { return graph_.graph().node(node); }

  /// An Add whose one operand is constant and the other is written by an operator for it alone.
  [[nodiscard]] std::optional<Fold> candidate(int add) const {
    const onnx::NodeProto& node = proto(add);
    if (!is_onnx_domain(node) || node.op_type() != "Add" || node.input_size() != 2) {
      return std::nullopt;
    }
    for (int slot = 0; slot < 2; ++slot) {
      const std::string& inner = node.input(1 - slot);
      const int op = graph_.producer(inner);
      if (graph_.constant(node.input(slot)) == nullptr || op < 0 || !takes_bias(proto(op)) ||
          graph_.is_graph_output(inner) || graph_.consumers(inner).size() != 1 ||
          keep_.contains(inner) || keep_.contains(node.input(slot))) {
        continue;
      }
      Fold fold{.op = op, .add = add, .constant_slot = slot};
      if (const std::optional<std::int64_t> channels = channels_of(op)) {
        fold.channels = *channels;
        return fold;
      }
    }
    return std::nullopt;
  }

  /// Output channels of an operator with a constant weight, if a bias can be given to it.
  [[nodiscard]] std::optional<std::int64_t> channels_of(int op) const {
    const onnx::NodeProto& node = proto(op);
    if (node.input_size() < 2 || static_constant(graph_, node.input(1)) == nullptr) {
      return std::nullopt;
    }
    const std::optional<Shape> weight = graph_.type(node.input(1)).shape;
    if (!weight || weight->size() < 2) {
      return std::nullopt;
    }
    if (node.op_type() == "Conv") {
      return (*weight)[0];
    }
    if (node.op_type() == "ConvTranspose") {
      return (*weight)[1] * int_attribute(node, "group", 1);
    }
    if (!has_bias(node) && keep_.contains(node.input(1))) {
      return std::nullopt;
    }
    return (*weight)[int_attribute(node, "transB", 0) != 0 ? 0 : 1];
  }

  /// The bias that `fold` leads to. Empty if a constant is of another kind than expected.
  [[nodiscard]] std::optional<std::vector<float>> bias_of(const Fold& fold) const {
    const onnx::NodeProto& op = proto(fold.op);
    const onnx::TensorProto& added = *graph_.constant(proto(fold.add).input(fold.constant_slot));
    const std::optional<Shape> weight = graph_.type(op.input(1)).shape;
    if (!weight) {
      return std::nullopt;
    }
    const std::size_t rank = is_conv(op) ? weight->size() : 2;
    const int type = graph_.type(op.input(1)).elem_type;
    if (!fits_float(type) || added.data_type() != type) {
      return std::nullopt;
    }
    std::optional<std::vector<float>> sum = per_channel(model_, added, rank, 1, fold.channels);
    if (!sum || !has_bias(op)) {
      return sum;
    }
    const onnx::TensorProto* own = graph_.constant(op.input(kBiasSlot));
    if (own == nullptr || own->data_type() != type || keep_.contains(op.input(kBiasSlot))) {
      return std::nullopt;
    }
    const std::optional<std::vector<float>> old =
        is_conv(op) ? per_channel(model_, *own, 1, 0, fold.channels)
                    : per_channel(model_, *own, rank, 1, fold.channels);
    const onnx::AttributeProto* beta = find_attribute(op, "beta");
    const double factor = beta == nullptr ? 1.0 : beta->f();
    for (std::size_t i = 0; old && i < sum->size(); ++i) {
      (*sum)[i] = static_cast<float>(factor * (*old)[i] + (*sum)[i]);
    }
    return old ? sum : std::nullopt;
  }

  /// Constants whose last readers are the folded nodes.
  void count_lost_readers(const std::vector<std::pair<Fold, std::vector<float>>>& folds) {
    std::map<std::string, std::size_t> lost;
    for (const auto& [fold, bias] : folds) {
      ++lost[proto(fold.add).input(fold.constant_slot)];
      if (has_bias(proto(fold.op))) {
        ++lost[proto(fold.op).input(kBiasSlot)];
      }
    }
    for (const auto& [name, count] : lost) {
      if (graph_.consumers(name).size() == count && !graph_.is_graph_output(name)) {
        unread_.insert(name);
      }
    }
  }

  /// The bias keeps its name, or takes over the constant's; one that others read, or that two
  /// folds would take over, is copied.
  std::string bias_name(const Fold& fold) {
    const onnx::NodeProto& op = proto(fold.op);
    const std::string& name =
        has_bias(op) ? op.input(kBiasSlot) : proto(fold.add).input(fold.constant_slot);
    return unread_.contains(name) && used_.insert(name).second ? name
                                                               : names_.fresh(name + "_folded");
  }

  void apply(const Fold& fold, std::vector<float>& bias) {
    onnx::NodeProto& op = *model_.graph().mutable_node(fold.op);
    onnx::TensorProto tensor;
    tensor.set_name(bias_name(fold));
    tensor.set_data_type(graph_.type(op.input(1)).elem_type);
    tensor.add_dims(fold.channels);
    while (op.input_size() <= kBiasSlot) {
      op.add_input("");
    }
    op.set_input(kBiasSlot, tensor.name());
    op.set_output(0, proto(fold.add).output(0));
    for (onnx::AttributeProto& attribute : *op.mutable_attribute()) {
      if (attribute.name() == "beta") {
        attribute.set_f(1.0F);
      }
    }
    made_.emplace_back(std::move(tensor), std::move(bias));
    removed_.insert(fold.add);
  }

  void finish() {
    onnx::GraphProto& graph = model_.graph();
    for (const std::string& name : unread_) {
      if (const int constant = graph_.producer(name); constant >= 0) {
        removed_.insert(constant);  // a Constant node: an initializer of its name may follow
      }
    }
    remove_initializers(graph, unread_);
    forget_types(graph, unread_);
    const bool listed = model_.proto().ir_version() < kOverridableSince;
    if (listed) {
      auto& inputs = *graph.mutable_input();
      inputs.erase(
          std::remove_if(inputs.begin(), inputs.end(),
                         [this](const auto& input) { return unread_.contains(input.name()); }),
          inputs.end());
    }
    for (auto& [tensor, values] : made_) {
      onnx::TensorProto& added = *graph.add_initializer();
      added = tensor;
      model_.set_data(added, floats_as_bytes(values, tensor.data_type()));
      if (listed) {
        add_input(graph, added);
      }
    }
    remove_nodes(graph, removed_);
  }

  Model& model_;
  const std::set<std::string>& keep_;
  GraphIndex graph_;
  NameMaker names_;
  std::set<std::string> unread_{}, used_{};
  std::vector<std::pair<onnx::TensorProto, std::vector<float>>> made_{};
  std::set<int> removed_{};
};

/// Does any Add read what an operator with a bias writes? Cheaper than an index of the graph.
bool worth_a_look(const onnx::GraphProto& graph) {
  std::unordered_set<std::string_view> written;
  for (const onnx::NodeProto& node : graph.node()) {
    if (takes_bias(node) && node.output_size() > 0) {
      written.insert(node.output(0));
    }
  }
  return std::any_of(graph.node().begin(), graph.node().end(), [&](const onnx::NodeProto& node) {
    return node.op_type() == "Add" && node.input_size() == 2 &&
           (written.contains(node.input(0)) || written.contains(node.input(1)));
  });
}

}  // namespace

int fold_bias(Model& model, Diagnostics& diagnostics, const std::set<std::string>& keep) {
  int folded = 0;
  // One round folds one Add per operator; a second Add behind it is of the next round.
  while (model.opset() >= kBroadcastSince && worth_a_look(model.graph())) {
    const int found = BiasFolder(model, keep).fold_all(diagnostics);
    if (found == 0) {
      break;
    }
    folded += found;
  }
  return folded;
}

}  // namespace halfstep
