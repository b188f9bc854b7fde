#include "halfstep/adaptation/prepare/hoist_weights.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "halfstep/adaptation/prepare/graph_parts.h"
#include "halfstep/model/graph_index.h"
#include "halfstep/model/op_facts.h"
#include "halfstep/model/values.h"
#include "halfstep/model/visit.h"

namespace halfstep {
namespace {

constexpr std::int64_t kFreeInitializersSince = 4;  // IR version: they need not be inputs

bool has_bodies(const onnx::GraphProto& graph) {
  return std::any_of(graph.node().begin(), graph.node().end(), [](const onnx::NodeProto& node) {
    return std::any_of(node.attribute().begin(), node.attribute().end(), [](const auto& attribute) {
      return attribute.has_g() || attribute.graphs_size() > 0;
    });
  });
}

/// The float weights that nodes of `body`, or below it, read and that are constants of `body`
/// itself, in order.
std::vector<std::string> own_weights(const onnx::GraphProto& body, const ConstantScope& scope) {
  std::set<std::string> seen;
  for (const auto& output : body.output()) {
    seen.insert(output.name());  // outputs have to be made inside
  }
  std::vector<std::string> weights;
  const auto take = [&](const onnx::NodeProto& node) {
    for (int slot = 0; slot < node.input_size(); ++slot) {
      const std::string& name = node.input(slot);
      if (!is_weight_slot(node, slot) || !scope.is_own(name)) {
        continue;
      }
      const onnx::TensorProto* tensor = scope.constant(name);
      if (tensor != nullptr && is_float_type(tensor->data_type()) && seen.insert(name).second) {
        weights.push_back(name);
      }
    }
  };
  for_each_graph(body, [&take](const onnx::GraphProto& part) {
    for (const onnx::NodeProto& node : part.node()) {
      take(node);
    }
  });
  return weights;
}

class Hoister {
 public:
  Hoister(Model& model, Diagnostics& diagnostics)
      : model_(model), diagnostics_(diagnostics), names_(model.graph()) {
    count_names(model.graph());
  }

  int hoist() {
    auto& nodes = *model_.graph().mutable_node();
    const ConstantScope scope(model_.graph(), model_.proto().ir_version(), nullptr);
    for (onnx::NodeProto& node : nodes) {
      enter(node, scope);
    }
    for (onnx::TensorProto& tensor : moved_) {
      onnx::TensorProto& added = *model_.graph().add_initializer();
      added.Swap(&tensor);
      if (model_.proto().ir_version() < kFreeInitializersSince) {
        add_input(model_.graph(), added);
      }
    }
    return static_cast<int>(moved_.size());
  }

 private:
  /// How many tensors of the model are made under each name.
  void count_names(const onnx::GraphProto& graph) {
    for_each_graph(graph, [this](const onnx::GraphProto& part) {
      std::set<std::string_view> own;
      for (const auto& input : part.input()) {
        own.insert(input.name());
      }
      for (const auto& initializer : part.initializer()) {
        own.insert(initializer.name());
      }
      for (const auto& node : part.node()) {
        own.insert(node.output().begin(), node.output().end());
      }
      for (const std::string_view name : own) {
        ++made_[std::string(name)];
      }
    });
  }

  void enter(onnx::NodeProto& node, const ConstantScope& outer) {
    for (onnx::AttributeProto& attribute : *node.mutable_attribute()) {
      for_each_graph_in(attribute, [&](onnx::GraphProto& body) { empty(body, node, outer); });
    }
  }

  void empty(onnx::GraphProto& body, const onnx::NodeProto& holder, const ConstantScope& outer) {
    ConstantScope scope(body, model_.proto().ir_version(), &outer);
    const std::vector<std::string> weights = own_weights(body, scope);
    std::map<std::string, std::string> renamed;
    for (const std::string& name : weights) {
      onnx::TensorProto tensor = *scope.constant(name);
      std::string fresh = made_.at(name) > 1 ? names_.fresh(name) : name;
      tensor.set_name(fresh);
      moved_.push_back(std::move(tensor));
      diagnostics_.push_back({.severity = Severity::note,
                              .rule = "prepare/hoist-weight",
                              .subject = fresh,
                              .message = "weight '" + name + "' of body '" + body.name() + "' of " +
                                         holder.op_type() + " '" + holder.name() +
                                         "' moves to the main graph" +
                                         (fresh == name ? "" : " as '" + fresh + "'") +
                                         ", where it can be stored as integers"});
      if (fresh != name) {
        renamed.emplace(name, std::move(fresh));
      }
    }
    take_out(body, {weights.begin(), weights.end()});
    rename_reads(body, renamed);
    for (onnx::NodeProto& node : *body.mutable_node()) {
      enter(node, scope);
    }
  }

  static void take_out(onnx::GraphProto& body, const std::set<std::string>& names) {
    if (names.empty()) {
      return;
    }
    remove_initializers(body, names);
    std::set<int> nodes;
    for (int i = 0; i < body.node_size(); ++i) {
      if (body.node(i).output_size() == 1 && names.contains(body.node(i).output(0))) {
        nodes.insert(i);
      }
    }
    remove_nodes(body, nodes);
  }

  static void rename_reads(onnx::GraphProto& body,
                           const std::map<std::string, std::string>& renamed) {
    if (renamed.empty()) {
      return;
    }
    for_each_graph(body, [&](onnx::GraphProto& part) {
      for (onnx::NodeProto& node : *part.mutable_node()) {
        for (std::string& input : *node.mutable_input()) {
          if (const auto found = renamed.find(input); found != renamed.end()) {
            input = found->second;
          }
        }
      }
    });
  }

  Model& model_;
  Diagnostics& diagnostics_;
  NameMaker names_;
  std::unordered_map<std::string, int> made_{};
  std::vector<onnx::TensorProto> moved_{};
};

}  // namespace

int hoist_weights(Model& model, Diagnostics& diagnostics) {
  return has_bodies(model.graph()) ? Hoister(model, diagnostics).hoist() : 0;
}

}  // namespace halfstep
