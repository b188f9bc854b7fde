#include "halfstep/adaptation/prepare/hoist_weights.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
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

/// One body on the way from the main graph to the innermost one: finds what of it makes float
/// weights, of operators in it or below it, and can leave: constants, and nodes that compute from
/// constants alone.
class Body {
 public:
  Body(const onnx::GraphProto& graph, std::int64_t ir_version, const ConstantScope& outer,
       Body* parent)
      : graph_(graph), scope_(graph, ir_version, &outer), parent_(parent) {
    for (const auto& output : graph.output()) {
      outputs_.insert(output.name());  // they have to be made inside
    }
    for (int i = 0; i < graph.node_size(); ++i) {
      const onnx::NodeProto& node = graph.node(i);
      if (may_compute_beforehand(node) &&
          std::all_of(node.input().begin(), node.input().end(), [this](const std::string& input) {
            return input.empty() || can_leave(input);
          })) {
        for (const std::string& output : node.output()) {
          makers_.emplace(output, i);
        }
      }
    }
  }

  void take_weights() {
    for (const onnx::NodeProto& node : graph_.node()) {
      if (node.output_size() > 0 && makers_.contains(node.output(0))) {
        continue;
      }
      for (int slot = 0; slot < node.input_size(); ++slot) {
        const std::string& name = node.input(slot);
        if (is_weight_slot(node, slot) && can_leave(name) && is_float_weight(name)) {
          take(name);
        }
      }
    }
  }

  [[nodiscard]] const ConstantScope& scope() const noexcept { return scope_; }
  [[nodiscard]] const std::vector<std::string>& constants() const noexcept { return constants_; }
  [[nodiscard]] const std::set<int>& nodes() const noexcept { return nodes_; }

 private:
  bool can_leave(const std::string& name) const {
    if (!scope_.is_own(name)) {
      return parent_ != nullptr ? parent_->can_leave(name) : scope_.constant(name) != nullptr;
    }
    return !outputs_.contains(name) && (scope_.constant(name) != nullptr || makers_.contains(name));
  }

  /// What is computed may be of any type: fold_computed_weights() sees it.
  bool is_float_weight(const std::string& name) const {
    const onnx::TensorProto* tensor = scope_.constant(name);
    return tensor == nullptr || is_float_type(tensor->data_type());
  }

  void take(const std::string& name) {
    if (name.empty() || !scope_.is_own(name)) {
      if (parent_ != nullptr && !name.empty()) {
        parent_->take(name);
      }
      return;
    }
    if (!taken_.insert(name).second) {
      return;
    }
    const auto maker = makers_.find(name);
    if (maker == makers_.end()) {
      constants_.push_back(name);
    } else if (nodes_.insert(maker->second).second) {
      for (const std::string& input : graph_.node(maker->second).input()) {
        take(input);
      }
    }
  }

  const onnx::GraphProto& graph_;
  ConstantScope scope_;
  Body* parent_;
  std::unordered_set<std::string> outputs_{};
  std::unordered_map<std::string, int> makers_{};  ///< tensors made of constants -> node
  std::unordered_set<std::string> taken_{};
  std::vector<std::string> constants_{};
  std::set<int> nodes_{};
};

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
      enter(node, scope, nullptr);
    }
    for (onnx::TensorProto& tensor : moved_) {
      onnx::TensorProto& added = *model_.graph().add_initializer();
      added.Swap(&tensor);
      if (model_.proto().ir_version() < kFreeInitializersSince) {
        add_input(model_.graph(), added);
      }
    }
    put_first(nodes);
    return static_cast<int>(moved_.size());
  }

 private:
  /// Nodes that read constants alone can stand before all others.
  void put_first(google::protobuf::RepeatedPtrField<onnx::NodeProto>& nodes) {
    if (moved_nodes_.empty()) {
      return;
    }
    google::protobuf::RepeatedPtrField<onnx::NodeProto> all;
    all.Reserve(static_cast<int>(moved_nodes_.size()) + nodes.size());
    for (onnx::NodeProto& node : moved_nodes_) {
      all.Add()->Swap(&node);
    }
    for (onnx::NodeProto& node : nodes) {
      all.Add()->Swap(&node);
    }
    nodes.Swap(&all);
  }

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

  void enter(onnx::NodeProto& node, const ConstantScope& outer, Body* parent) {
    for (onnx::AttributeProto& attribute : *node.mutable_attribute()) {
      for_each_graph_in(attribute,
                        [&](onnx::GraphProto& body) { empty(body, node, outer, parent); });
    }
  }

  void empty(onnx::GraphProto& graph, const onnx::NodeProto& holder, const ConstantScope& outer,
             Body* parent) {
    const std::size_t start = moved_nodes_.size();
    Body body(graph, model_.proto().ir_version(), outer, parent);
    body.take_weights();
    for (onnx::NodeProto& node : *graph.mutable_node()) {
      enter(node, body.scope(), &body);
    }
    std::map<std::string, std::string> renamed;
    for (const std::string& name : body.constants()) {
      onnx::TensorProto tensor = *body.scope().constant(name);
      tensor.set_name(name_outside(name, renamed));
      report(tensor.name(), name, graph, holder);
      moved_.push_back(std::move(tensor));
    }
    std::vector<onnx::NodeProto> nodes;
    for (const int index : body.nodes()) {
      nodes.push_back(graph.node(index));
      for (const std::string& output : nodes.back().output()) {
        name_outside(output, renamed);
      }
    }
    // What left the bodies below may read what leaves this one, so that comes first.
    moved_nodes_.insert(moved_nodes_.begin() + static_cast<std::ptrdiff_t>(start),
                        std::make_move_iterator(nodes.begin()),
                        std::make_move_iterator(nodes.end()));
    for (std::size_t i = start; i < moved_nodes_.size(); ++i) {
      rename(*moved_nodes_[i].mutable_input(), renamed);
      rename(*moved_nodes_[i].mutable_output(), renamed);
    }
    remove_nodes(graph, body.nodes());
    take_out(graph, {body.constants().begin(), body.constants().end()});
    rename_reads(graph, renamed);
  }

  std::string name_outside(const std::string& name, std::map<std::string, std::string>& renamed) {
    const auto made = made_.find(name);
    if (name.empty() || made == made_.end() || made->second < 2) {
      return name;
    }
    return renamed.emplace(name, names_.fresh(name)).first->second;
  }

  void report(const std::string& fresh, const std::string& name, const onnx::GraphProto& body,
              const onnx::NodeProto& holder) {
    diagnostics_.push_back({.severity = Severity::note,
                            .rule = "prepare/hoist-weight",
                            .subject = fresh,
                            .message = "weight '" + name + "' of body '" + body.name() + "' of " +
                                       holder.op_type() + " '" + holder.name() +
                                       "' moves to the main graph" +
                                       (fresh == name ? "" : " as '" + fresh + "'") +
                                       ", where it can be stored as integers"});
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

  static void rename(google::protobuf::RepeatedPtrField<std::string>& names,
                     const std::map<std::string, std::string>& renamed) {
    for (std::string& name : names) {
      if (const auto found = renamed.find(name); found != renamed.end()) {
        name = found->second;
      }
    }
  }

  static void rename_reads(onnx::GraphProto& body,
                           const std::map<std::string, std::string>& renamed) {
    if (renamed.empty()) {
      return;
    }
    for_each_graph(body, [&](onnx::GraphProto& part) {
      for (onnx::NodeProto& node : *part.mutable_node()) {
        rename(*node.mutable_input(), renamed);
      }
    });
  }

  Model& model_;
  Diagnostics& diagnostics_;
  NameMaker names_;
  std::unordered_map<std::string, int> made_{};
  std::vector<onnx::TensorProto> moved_{};
  std::vector<onnx::NodeProto> moved_nodes_{};
};

}  // namespace

int hoist_weights(Model& model, Diagnostics& diagnostics) {
  return has_bodies(model.graph()) ? Hoister(model, diagnostics).hoist() : 0;
}

}  // namespace halfstep
