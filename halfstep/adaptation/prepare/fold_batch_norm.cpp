#include "halfstep/adaptation/prepare/fold_batch_norm.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "halfstep/adaptation/prepare/graph_parts.h"
#include "halfstep/model/graph_index.h"
#include "halfstep/model/op_facts.h"
#include "halfstep/model/values.h"

namespace halfstep {
namespace {

struct Fold {
  int conv = 0;
  int norm = 0;
};

/// The operator's factor and shift per channel: y = x * factor + shift.
struct Affine {
  std::vector<double> factor{}, shift{};
};

const onnx::TensorProto* float_constant(const GraphIndex& graph, const onnx::NodeProto& node,
                                        int slot) {
  const onnx::TensorProto* value =
      slot < node.input_size() ? graph.constant(node.input(slot)) : nullptr;
  return value != nullptr && is_float_type(value->data_type()) ? value : nullptr;
}

bool is_foldable_conv(const GraphIndex& graph, const onnx::NodeProto& conv) {
  const bool has_bias = conv.input_size() > 2 && !conv.input(2).empty();
  return is_onnx_domain(conv) && (conv.op_type() == "Conv" || conv.op_type() == "ConvTranspose") &&
         float_constant(graph, conv, 1) != nullptr &&
         (!has_bias || float_constant(graph, conv, 2) != nullptr);
}

std::optional<Fold> foldable(const GraphIndex& graph, int index) {
  const onnx::NodeProto& norm = graph.graph().node(index);
  if (!is_onnx_domain(norm) || norm.op_type() != "BatchNormalization" || norm.input_size() < 5 ||
      int_attribute(norm, "training_mode", 0) != 0) {
    return std::nullopt;
  }
  for (int slot = 1; slot < 5; ++slot) {
    if (float_constant(graph, norm, slot) == nullptr) {
      return std::nullopt;
    }
  }
  for (int extra = 1; extra < norm.output_size(); ++extra) {
    if (!norm.output(extra).empty()) {
      return std::nullopt;  // statistics are asked for: the training form
    }
  }
  const int producer = graph.producer(norm.input(0));
  if (producer < 0 || graph.is_graph_output(norm.input(0)) ||
      graph.consumers(norm.input(0)).size() != 1 ||
      !is_foldable_conv(graph, graph.graph().node(producer))) {
    return std::nullopt;
  }
  return Fold{.conv = producer, .norm = index};
}

Affine affine_of(const Model& model, const GraphIndex& graph, const onnx::NodeProto& norm) {
  const auto values = [&](int slot) { return model.floats(*float_constant(graph, norm, slot)); };
  const std::vector<float> scale = values(1), shift = values(2), mean = values(3), var = values(4);
  const onnx::AttributeProto* attribute = find_attribute(norm, "epsilon");
  const double epsilon = attribute == nullptr ? 1e-5 : attribute->f();
  Affine affine;
  for (std::size_t c = 0; c < scale.size(); ++c) {
    affine.factor.push_back(scale[c] / std::sqrt(var[c] + epsilon));
    affine.shift.push_back(shift[c] - mean[c] * affine.factor[c]);
  }
  return affine;
}

/// W' = W * factor[output channel]. Conv: [out, in/group, ...]; ConvTranspose: [in, out/group,
/// ...].
std::vector<float> scaled_weight(std::vector<float> weight, const Shape& shape, bool transposed,
                                 std::int64_t group, const std::vector<double>& factor) {
  const std::int64_t inner = element_count(std::span(shape).subspan(2));
  const std::int64_t per_group = shape[0] / group;  // input channels of a group (transposed)
  for (std::int64_t i = 0; i < shape[0]; ++i) {
    for (std::int64_t j = 0; j < shape[1]; ++j) {
      const std::int64_t channel = transposed ? (i / per_group) * shape[1] + j : i;
      float* values = weight.data() + (i * shape[1] + j) * inner;
      for (std::int64_t k = 0; k < inner; ++k) {
        values[k] = static_cast<float>(values[k] * factor[static_cast<std::size_t>(channel)]);
      }
    }
  }
  return weight;
}

/// A new initializer, named `name`, for input `slot` of `node`.
void give_constant(Model& model, onnx::NodeProto& node, int slot, const std::string& name,
                   int data_type, const Shape& shape, const std::vector<float>& values) {
  onnx::TensorProto& tensor = *model.graph().add_initializer();
  tensor.set_name(name);
  tensor.set_data_type(data_type);
  for (const std::int64_t extent : shape) {
    tensor.add_dims(extent);
  }
  model.set_data(tensor, floats_as_bytes(values, data_type));
  while (node.input_size() <= slot) {
    node.add_input("");
  }
  node.set_input(slot, name);
}

class Folder {
 public:
  Folder(Model& model, const std::set<std::string>& keep)
      : model_(model), keep_(keep), graph_(model), names_(model.graph()) {}

  int fold_all(Diagnostics& diagnostics) {
    std::vector<Fold> folds;
    for (int node = 0; node < model_.graph().node_size(); ++node) {
      const std::optional<Fold> fold = foldable(graph_, node);
      if (fold && !touches_kept(*fold)) {
        folds.push_back(*fold);
      }
    }
    for (const Fold& fold : folds) {
      diagnostics.push_back(
          {.severity = Severity::note,
           .rule = "prepare/fold-batch-norm",
           .subject = model_.graph().node(fold.norm).output(0),
           .message = graph_.label(fold.norm) + " is folded into " + graph_.label(fold.conv)});
    }
    for (const Fold& fold : folds) {
      apply(fold);
    }
    finish();
    return static_cast<int>(folds.size());
  }

 private:
  [[nodiscard]] bool touches_kept(const Fold& fold) const {
    const onnx::NodeProto& conv = model_.graph().node(fold.conv);
    const onnx::NodeProto& norm = model_.graph().node(fold.norm);
    const auto kept = [this](const std::string& name) { return keep_.contains(name); };
    return kept(conv.output(0)) ||
           std::any_of(conv.input().begin() + 1, conv.input().end(), kept) ||
           std::any_of(norm.input().begin() + 1, norm.input().end(), kept);
  }

  void apply(const Fold& fold) {
    onnx::NodeProto& conv = *model_.graph().mutable_node(fold.conv);
    const onnx::NodeProto& norm = model_.graph().node(fold.norm);
    const Affine affine = affine_of(model_, graph_, norm);
    const onnx::TensorProto& weight = *graph_.constant(conv.input(1));
    const Shape shape = shape_of(weight);
    const std::vector<float> scaled =
        scaled_weight(model_.floats(weight), shape, conv.op_type() == "ConvTranspose",
                      int_attribute(conv, "group", 1), affine.factor);
    std::vector<float> bias(affine.factor.size());
    const bool has_bias = conv.input_size() > 2 && !conv.input(2).empty();
    const std::vector<float> old = has_bias ? model_.floats(*graph_.constant(conv.input(2))) : bias;
    for (std::size_t c = 0; c < bias.size(); ++c) {
      bias[c] = static_cast<float>(old[c] * affine.factor[c] + affine.shift[c]);
    }
    // The graph index still points at the old tensors: new ones are added, old ones removed at the
    // end. Without a bias of its own the convolution takes over the shift's name.
    const std::string bias_name = has_bias ? conv.input(2) : norm.input(2);
    const int data_type = weight.data_type();
    pending_.push_back({.node = fold.conv,
                        .slot = 1,
                        .name = conv.input(1),
                        .data_type = data_type,
                        .shape = shape,
                        .values = scaled});
    pending_.push_back({.node = fold.conv,
                        .slot = 2,
                        .name = bias_name,
                        .data_type = data_type,
                        .shape = {static_cast<std::int64_t>(bias.size())},
                        .values = bias});
    outputs_.emplace_back(fold.conv, norm.output(0));
    removed_.insert(fold.norm);
  }

  void finish() {
    const std::set<std::string> unread = no_longer_read();
    for (const std::string& name : unread) {
      if (const int constant = graph_.producer(name); constant >= 0) {
        removed_.insert(
            constant);  // a Constant node: its name goes to the initializer that follows it
      }
    }
    for (Constant& constant : pending_) {
      // A constant that only this node reads keeps its name with its new content; a shared one is
      // copied.
      if (!unread.contains(constant.name)) {
        constant.name = names_.fresh(constant.name + "_folded");
      }
    }
    remove_initializers(model_.graph(), unread);
    for (const Constant& constant : pending_) {
      give_constant(model_, *model_.graph().mutable_node(constant.node), constant.slot,
                    constant.name, constant.data_type, constant.shape, constant.values);
    }
    for (const auto& [node, output] : outputs_) {
      model_.graph().mutable_node(node)->set_output(0, output);
    }
    remove_nodes(model_.graph(), removed_);
  }

  /// Constants whose last readers are folded nodes.
  std::set<std::string> no_longer_read() const {
    std::map<std::string, std::size_t> lost;
    for (const Constant& constant : pending_) {
      const onnx::NodeProto& conv = model_.graph().node(constant.node);
      if (constant.slot < conv.input_size()) {
        ++lost[conv.input(constant.slot)];
      }
    }
    for (const int norm : removed_) {
      for (int slot = 1; slot < 5; ++slot) {
        ++lost[model_.graph().node(norm).input(slot)];
      }
    }
    std::set<std::string> unread;
    for (const auto& [name, count] : lost) {
      if (!name.empty() && graph_.consumers(name).size() == count &&
          !graph_.is_graph_output(name)) {
        unread.insert(name);
      }
    }
    return unread;
  }

  struct Constant {
    int node = 0;
    int slot = 0;
    std::string name{};
    int data_type = 0;
    Shape shape{};
    std::vector<float> values{};
  };

  Model& model_;
  const std::set<std::string>& keep_;
  GraphIndex graph_;
  NameMaker names_;
  std::vector<Constant> pending_{};
  std::vector<std::pair<int, std::string>> outputs_{};
  std::set<int> removed_{};
};

}  // namespace

int fold_batch_norm(Model& model, Diagnostics& diagnostics, const std::set<std::string>& keep) {
  for (const onnx::NodeProto& node : model.graph().node()) {
    if (node.op_type() == "BatchNormalization") {
      return Folder(model, keep).fold_all(diagnostics);
    }
  }
  return 0;
}

}  // namespace halfstep
