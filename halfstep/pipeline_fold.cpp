#include "halfstep/pipeline_fold.h"

#include <algorithm>
#include <cstddef>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "halfstep/adaptation/prepare/graph_parts.h"
#include "halfstep/model/op_facts.h"
#include "halfstep/model/static_view.h"
#include "halfstep/model/visit.h"
#include "halfstep/support/error.h"

namespace halfstep {
namespace {

constexpr std::size_t kMostOperandBytes = 1U << 20U;
constexpr int kOldestIr = 4;  // before, every initializer has to be an input

class ComputedWeights {
 public:
  ComputedWeights(Model& model, const std::set<std::string>& keep, bool operands)
      : model_(model),
        keep_(keep),
        operands_(operands),
        scope_(model.graph(), model.proto().ir_version(), nullptr) {}

  int fold(Engine& engine, int threads, Diagnostics& diagnostics) {
    find_computable();
    if (makers_.empty()) {
      return 0;
    }
    const std::vector<std::string> wanted = wanted_weights();
    if (wanted.empty()) {
      return 0;
    }
    try {
      const std::unique_ptr<Session> session = engine.open(part_for(wanted), {.threads = threads});
      const std::vector<Tensor> values = session->run({});
      return replace(session->outputs(), values, diagnostics);
    } catch (const Error& error) {
      if (error.kind() != ErrorKind::unsupported) {
        throw;
      }
      diagnostics.push_back(
          {.severity = Severity::note,
           .rule = "prepare/constant-left",
           .subject = wanted.front(),
           .message = "'" + wanted.front() + "' and " + std::to_string(wanted.size() - 1) +
                      " more that nodes compute from constants stay computed: the engine is not "
                      "there, or refuses one of the nodes"});
      return 0;
    }
  }

 private:
  const onnx::GraphProto& graph() const { return model_.graph(); }

  /// Nodes whose inputs are all constant, directly or through such nodes.
  void find_computable() {
    for (int i = 0; i < graph().node_size(); ++i) {
      const onnx::NodeProto& node = graph().node(i);
      const bool computable =
          may_compute_beforehand(node) &&
          std::all_of(node.input().begin(), node.input().end(), [this](const std::string& input) {
            return input.empty() || (!keep_.contains(input) && (makers_.contains(input) ||
                                                                scope_.constant(input) != nullptr));
          });
      if (computable) {
        for (const std::string& output : node.output()) {
          makers_.emplace(output, i);
        }
      }
    }
  }

  std::vector<std::string> wanted_weights() {
    std::unordered_set<std::string_view> seen;
    for (const auto& output : graph().output()) {
      seen.insert(output.name());  // outputs have to be written by nodes
    }
    std::vector<std::string> wanted;
    for_each_graph(graph(), [&](const onnx::GraphProto& part) {
      for (const onnx::NodeProto& node : part.node()) {
        const bool computed = node.output_size() > 0 && makers_.contains(node.output(0));
        for (int slot = 0; slot < node.input_size() && !computed; ++slot) {
          const std::string& name = node.input(slot);
          const bool weight = is_weight_slot(node, slot);
          if (makers_.contains(name) && (weight || operands_) && !is_view(name) &&
              seen.insert(name).second) {
            wanted.push_back(name);
          }
          if (weight && makers_.contains(name)) {
            weights_.insert(name);
          }
        }
      }
    });
    return wanted;
  }

  /// Only Identity, Cast and Transpose stand between a constant and `name`: a tied weight.
  bool is_view(std::string name) const {
    while (scope_.constant(name) == nullptr) {
      const auto maker = makers_.find(name);
      if (maker == makers_.end() || !is_view_step(graph().node(maker->second))) {
        return false;
      }
      name = graph().node(maker->second).input(0);
    }
    return true;
  }

  /// A model of the nodes behind `wanted` alone.
  Model part_for(const std::vector<std::string>& wanted) const {
    std::set<int> nodes;
    std::set<std::string> constants;
    std::vector<std::string> open = wanted;
    while (!open.empty()) {
      const std::string name = std::move(open.back());
      open.pop_back();
      const auto maker = makers_.find(name);
      if (maker == makers_.end()) {
        constants.insert(name);
      } else if (nodes.insert(maker->second).second) {
        const auto& inputs = graph().node(maker->second).input();
        std::copy_if(inputs.begin(), inputs.end(), std::back_inserter(open),
                     [](const std::string& input) { return !input.empty(); });
      }
    }
    Model part = model_.clone();
    onnx::GraphProto& small = part.graph();
    small.Clear();
    small.set_name("constants");
    for (const std::string& name : constants) {
      onnx::TensorProto& tensor = *small.add_initializer();
      tensor = *scope_.constant(name);
      tensor.set_name(name);
    }
    for (const int node : nodes) {
      *small.add_node() = graph().node(node);
    }
    for (const std::string& name : wanted) {
      small.add_output()->set_name(name);
    }
    part.raise_ir_version(std::max(kOldestIr, static_cast<int>(part.proto().ir_version())));
    return part;
  }

  int replace(const std::vector<TensorInfo>& infos, const std::vector<Tensor>& values,
              Diagnostics& diagnostics) {
    std::set<int> removed;
    std::map<std::string, std::string> twins;  // what was computed before -> its tensor
    std::map<std::string, std::string> renamed;
    int made = 0;
    for (std::size_t i = 0; i < values.size(); ++i) {
      const std::string& name = infos[i].name;
      const auto maker = makers_.at(name);
      const bool weight = weights_.contains(name);
      if ((!is_floating(values[i].dtype) && !operands_) || graph().node(maker).output_size() != 1 ||
          (!weight && values[i].bytes() > kMostOperandBytes)) {
        continue;
      }
      diagnostics.push_back({.severity = Severity::note,
                             .rule = "prepare/fold-constant",
                             .subject = name,
                             .message = (weight ? "weight '" : "tensor '") + name + "', which " +
                                        graph().node(maker).op_type() +
                                        " computes from constants, is a constant now"});
      const auto [twin, is_new] = twins.emplace(contents(values[i]), name);
      if (is_new) {
        add(name, values[i]);
      } else {
        renamed.emplace(name, twin->second);
      }
      removed.insert(maker);
      ++made;
    }
    rename_reads(renamed);
    remove_dead(std::move(removed));
    return made;
  }

  /// Equal for equal tensors: branches of an If often compute the same weight.
  static std::string contents(const Tensor& value) {
    std::string key = std::to_string(static_cast<int>(value.dtype)) + to_text(value.shape);
    key.append(reinterpret_cast<const char*>(value.data), value.bytes());
    return key;
  }

  void rename_reads(const std::map<std::string, std::string>& renamed) {
    if (renamed.empty()) {
      return;
    }
    for_each_graph(model_.graph(), [&renamed](onnx::GraphProto& part) {
      for (onnx::NodeProto& node : *part.mutable_node()) {
        for (std::string& input : *node.mutable_input()) {
          if (const auto found = renamed.find(input); found != renamed.end()) {
            input = found->second;
          }
        }
      }
    });
  }

  void add(const std::string& name, const Tensor& value) {
    onnx::TensorProto& tensor = *model_.graph().add_initializer();
    tensor.set_name(name);
    tensor.set_data_type(info(value.dtype).onnx);
    tensor.mutable_dims()->Add(value.shape.begin(), value.shape.end());
    model_.set_data(tensor, {value.data, value.data + value.bytes()});
    if (model_.proto().ir_version() < kOldestIr) {
      add_input(model_.graph(), tensor);
    }
  }

  /// Removes nodes that were replaced, and those of which nobody reads the result any more.
  void remove_dead(std::set<int> removed) {
    std::set<std::string> roots;
    const GraphReaders readers(graph());
    for (int i = graph().node_size(); i-- > 0;) {
      const onnx::NodeProto& node = graph().node(i);
      const bool dead =
          node.output_size() > 0 && makers_.contains(node.output(0)) &&
          std::all_of(node.output().begin(), node.output().end(), [&](const std::string& output) {
            return only_read_by(readers.of(output), removed);
          });
      if (dead) {
        removed.insert(i);
      }
      if (removed.contains(i)) {
        roots.insert(node.input().begin(), node.input().end());
      }
    }
    remove_nodes(model_.graph(), removed);
    remove_unread(model_.graph(), roots, scope_);
  }

  static bool only_read_by(const std::vector<GraphReader>& readers, const std::set<int>& nodes) {
    return std::all_of(readers.begin(), readers.end(), [&nodes](const GraphReader& reader) {
      return reader.slot >= 0 && nodes.contains(reader.node);
    });
  }

  Model& model_;
  const std::set<std::string>& keep_;
  bool operands_;
  ConstantScope scope_;
  std::unordered_set<std::string> weights_{};      ///< those of them that are weights
  std::unordered_map<std::string, int> makers_{};  ///< tensors made of constants -> node
};

}  // namespace

int fold_computed_weights(Model& model, Engine& engine, int threads, Diagnostics& diagnostics,
                          const std::set<std::string>& keep, bool operands) {
  return ComputedWeights(model, keep, operands).fold(engine, threads, diagnostics);
}

}  // namespace halfstep
