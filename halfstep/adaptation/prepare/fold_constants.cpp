#include "halfstep/adaptation/prepare/fold_constants.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "halfstep/adaptation/prepare/constant_steps.h"
#include "halfstep/adaptation/prepare/graph_parts.h"
#include "halfstep/model/op_facts.h"
#include "halfstep/model/static_view.h"
#include "halfstep/model/values.h"
#include "halfstep/model/visit.h"

namespace halfstep {
namespace {

constexpr std::int64_t kFreeInitializersSince = 4;  // IR version: they need not be inputs

/// A constant behind steps.
struct View {
  std::string root{};
  const onnx::TensorProto* tensor = nullptr;
  std::vector<ConstantStep> steps{};
  int last = 0;  ///< node that writes the view
};

/// What equal views of one root have in common.
std::string key_of(const View& view) {
  std::string key = view.root;
  for (const ConstantStep& step : view.steps) {
    key += '\n' + step.node->op_type();
    for (const onnx::AttributeProto& attribute : step.node->attribute()) {
      key += attribute.SerializeAsString();
    }
    for (const std::int64_t number : step.numbers) {
      key += ' ' + std::to_string(number);
    }
  }
  return key;
}

int type_of(const View& view) {
  int type = view.tensor->data_type();
  for (const ConstantStep& step : view.steps) {
    if (step.node->op_type() == "Cast") {
      type = static_cast<int>(int_attribute(*step.node, "to", 0));
    }
  }
  return type;
}

bool only_view_steps(const View& view) {
  return std::all_of(view.steps.begin(), view.steps.end(),
                     [](const ConstantStep& step) { return is_view_step(*step.node); });
}

/// Folds in one graph, then in the bodies below it.
class GraphFolder {
 public:
  GraphFolder(Model& model, onnx::GraphProto& graph, const ConstantScope* outer,
              const std::set<std::string>& keep, Diagnostics& diagnostics)
      : model_(model),
        keep_(keep),
        graph_(graph),
        scope_(graph, model.proto().ir_version(), outer),
        is_main_(outer == nullptr),
        diagnostics_(diagnostics) {}

  int fold() {
    find_views();
    if (!views_.empty()) {
      readers_ = GraphReaders(graph_);
      choose();
    }
    int folded = replace();
    for (onnx::NodeProto& node : *graph_.mutable_node()) {
      for (onnx::AttributeProto& attribute : *node.mutable_attribute()) {
        for_each_graph_in(attribute, [&](onnx::GraphProto& body) {
          folded += GraphFolder(model_, body, &scope_, keep_, diagnostics_).fold();
        });
      }
    }
    return folded;
  }

 private:
  void find_views() {
    std::unordered_set<std::string_view> outputs;
    for (const auto& output : graph_.output()) {
      outputs.insert(output.name());
    }
    for (int i = 0; i < graph_.node_size(); ++i) {
      const onnx::NodeProto& node = graph_.node(i);
      if (!is_constant_step(node) || outputs.contains(node.output(0)) ||
          keep_.contains(node.input(0))) {
        continue;
      }
      if (std::optional<View> view = view_at(i)) {
        views_.emplace(node.output(0), *std::move(view));
        order_.push_back(node.output(0));
      }
    }
  }

  std::optional<View> view_at(int index) const {
    const onnx::NodeProto& node = graph_.node(index);
    View view;
    if (const auto before = views_.find(node.input(0)); before != views_.end()) {
      view = before->second;
    } else {
      view.root = node.input(0);
      view.tensor = scope_.constant(view.root);
    }
    if (view.tensor == nullptr || element_bits(view.tensor->data_type()) < 8 ||
        view.tensor->data_type() == onnx::TensorProto::COMPLEX64 ||
        view.tensor->data_type() == onnx::TensorProto::COMPLEX128) {
      return std::nullopt;
    }
    ConstantStep step{.node = &node};
    if (node.input_size() > 1 && !node.input(1).empty()) {
      const onnx::TensorProto* numbers = scope_.constant(node.input(1));
      if (numbers == nullptr || numbers->data_type() != onnx::TensorProto::INT64) {
        return std::nullopt;
      }
      step.numbers = int64_values(model_, *numbers);
    }
    view.steps.push_back(std::move(step));
    view.last = index;
    return view;
  }

  /// Readers of `tensor` that are no views themselves.
  bool has_real_reader(const std::string& tensor) const {
    const std::vector<GraphReader>& readers = readers_.of(tensor);
    return std::any_of(readers.begin(), readers.end(),
                       [this](const GraphReader& reader) { return !is_view(reader); });
  }

  bool is_view(const GraphReader& reader) const {
    if (reader.slot != 0) {
      return false;
    }
    const onnx::NodeProto& node = graph_.node(reader.node);
    return is_constant_step(node) && views_.contains(node.output(0));
  }

  bool is_weight_somewhere(const std::string& root) const {
    const std::vector<GraphReader>& readers = readers_.of(root);
    return std::any_of(readers.begin(), readers.end(), [this](const GraphReader& reader) {
      return reader.slot >= 0 && is_weight_slot(graph_.node(reader.node), reader.slot);
    });
  }

  /// Which views become tensors.
  void choose() {
    std::map<std::string, std::set<std::string>> forms;  // root -> its different views
    std::vector<const std::string*> wanted;
    for (const std::string& name : order_) {
      const View& view = views_.at(name);
      if (is_float_type(type_of(view)) && has_real_reader(name)) {
        wanted.push_back(&name);
        forms[view.root].insert(key_of(view));
      }
    }
    for (const std::string* name : wanted) {
      const View& view = views_.at(*name);
      const std::size_t others = forms[view.root].size() - 1;
      const bool tied =
          is_main_ && only_view_steps(view) && (others > 0 || is_weight_somewhere(view.root));
      if (!tied) {
        make(*name, view);
      }
    }
  }

  void make(const std::string& name, const View& view) {
    const std::string key = key_of(view);
    const auto twin = made_.find(key);
    const std::vector<GraphReader>& readers = readers_.of(name);
    const bool direct = std::all_of(
        readers.begin(), readers.end(),
        [this](const GraphReader& reader) { return reader.slot >= 0 && !is_view(reader); });
    if (twin != made_.end() && direct) {
      for (const GraphReader& reader : readers) {
        graph_.mutable_node(reader.node)->set_input(reader.slot, twin->second);
      }
      replaced_.insert(name);
      return;
    }
    std::optional<ConstantValue> value = computed(view);
    if (!value) {
      return;
    }
    onnx::TensorProto& tensor = *graph_.add_initializer();
    tensor.set_name(name);
    tensor.set_data_type(value->data_type);
    tensor.mutable_dims()->Add(value->shape.begin(), value->shape.end());
    model_.set_data(tensor, std::move(value->bytes));
    if (is_main_ && model_.proto().ir_version() < kFreeInitializersSince) {
      add_input(graph_, tensor);
    }
    made_.emplace(key, name);
    replaced_.insert(name);
    new_constants_.push_back(&tensor);
    report(name, view);
  }

  std::optional<ConstantValue> computed(const View& view) const {
    const TensorBytes bytes = model_.data(*view.tensor);
    std::optional<ConstantValue> value =
        ConstantValue{.data_type = view.tensor->data_type(),
                      .shape = shape_of(*view.tensor),
                      .bytes = {bytes.span().begin(), bytes.span().end()}};
    model_.drop(*view.tensor);
    for (const ConstantStep& step : view.steps) {
      value = apply_step(step, *std::move(value));
      if (!value) {
        break;
      }
    }
    return value;
  }

  void report(const std::string& name, const View& view) {
    std::string chain;
    for (const ConstantStep& step : view.steps) {
      chain += (chain.empty() ? "" : ", ") + step.node->op_type();
    }
    diagnostics_.push_back(
        {.severity = Severity::note,
         .rule = "prepare/fold-constant",
         .subject = name,
         .message = "constant '" + view.root + "' behind " + chain + " is computed once; '" + name +
                    "' is a constant now" +
                    (is_main_ ? std::string() : " of body '" + graph_.name() + "'")});
  }

  /// Removes the nodes that nobody needs any more, and constants that only they read.
  int replace() {
    if (replaced_.empty()) {
      return 0;
    }
    std::set<int> removed;
    for (auto name = order_.rbegin(); name != order_.rend(); ++name) {
      const std::vector<GraphReader>& readers = readers_.of(*name);
      const bool unread =
          std::all_of(readers.begin(), readers.end(), [&](const GraphReader& reader) {
            return reader.slot >= 0 && removed.contains(reader.node);
          });
      if (unread || replaced_.contains(*name)) {
        removed.insert(views_.at(*name).last);
      }
    }
    std::set<std::string> roots;
    for (const int node : removed) {
      roots.insert(graph_.node(node).input().begin(), graph_.node(node).input().end());
    }
    const auto count = static_cast<int>(removed.size());
    views_.clear();  // they point at nodes
    remove_nodes(graph_, removed);
    for (const onnx::TensorProto* tensor : new_constants_) {
      scope_.add(*tensor);
    }
    remove_unread(graph_, roots, scope_);
    return count;
  }

  Model& model_;
  const std::set<std::string>& keep_;
  onnx::GraphProto& graph_;
  ConstantScope scope_;
  bool is_main_;
  Diagnostics& diagnostics_;
  GraphReaders readers_{};
  std::unordered_map<std::string, View> views_{};  ///< by the tensor they write
  std::vector<std::string> order_{};
  std::unordered_map<std::string, std::string> made_{};  ///< key of a view -> its tensor
  std::unordered_set<std::string> replaced_{};
  std::vector<const onnx::TensorProto*> new_constants_{};
};

}  // namespace

int fold_constants(Model& model, Diagnostics& diagnostics, const std::set<std::string>& keep) {
  return GraphFolder(model, model.graph(), nullptr, keep, diagnostics).fold();
}

}  // namespace halfstep
