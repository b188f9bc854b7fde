#include "halfstep/outputs/qnn/lower.h"

#include <unordered_set>

#include "halfstep/outputs/qnn/node_context.h"
#include "halfstep/support/error.h"

namespace halfstep::qnn {
namespace {

class Lowerer {
 public:
  explicit Lowerer(const LowerRequest& request) : request_(request), graph_(request) {}

  LoweredGraph run() {
    const std::vector<bool> needed = needed_nodes();
    const onnx::GraphProto& graph = graph_.index().graph();
    for (int node = 0; node < graph.node_size(); ++node) {
      if (needed[static_cast<std::size_t>(node)]) {
        lower_node(node);
      }
    }
    for (const onnx::ValueInfoProto& output : graph.output()) {
      if (graph_.index().producer(output.name()) < 0 || graph_.is_constant(output.name())) {
        errors_.push_back("output '" + output.name() +
                          "' is no result of an operator, and QNN has only those");
      }
    }
    if (!errors_.empty()) {
      throw Error(ErrorKind::unsupported, text_of_errors());
    }
    return graph_.finish();
  }

 private:
  /// Nodes whose results reach an output of the graph through operands. What is left computes
  /// extents, which are known here.
  [[nodiscard]] std::vector<bool> needed_nodes() const {
    const onnx::GraphProto& graph = graph_.index().graph();
    std::vector<bool> needed(static_cast<std::size_t>(graph.node_size()), false);
    std::vector<int> open;
    const auto reach = [&](const std::string& tensor) {
      const int producer = graph_.is_constant(tensor) ? -1 : graph_.index().producer(tensor);
      if (producer >= 0 && !needed[static_cast<std::size_t>(producer)]) {
        needed[static_cast<std::size_t>(producer)] = true;
        open.push_back(producer);
      }
    };
    for (const onnx::ValueInfoProto& output : graph.output()) {
      reach(output.name());
    }
    while (!open.empty()) {
      const int node = open.back();
      open.pop_back();
      const NodeOp& op = request_.nodes[static_cast<std::size_t>(node)];
      for (const int slot : op.operands) {
        if (slot < graph.node(node).input_size()) {
          reach(graph.node(node).input(slot));
        }
      }
    }
    return needed;
  }

  void lower_node(int index) {
    const onnx::NodeProto& node = graph_.index().graph().node(index);
    const NodeOp& op = request_.nodes[static_cast<std::size_t>(index)];
    if (graph_.absorbed(index)) {
      return;
    }
    for (const int slot : op.operands) {
      if (slot < node.input_size() && failed_.contains(node.input(slot))) {
        fail(node);  // said already
        return;
      }
    }
    graph_.begin(index);
    try {
      const LowerNode lowering = find_lowering(op.op);
      if (lowering == nullptr) {
        throw Error(ErrorKind::unsupported,
                    op.op.empty() ? "the target has no operator for it"
                                  : "its operator " + op.op + " can't be written yet");
      }
      lowering({.graph = graph_, .index = index, .node = node, .op = op.op});
    } catch (const Error& error) {
      if (error.kind() != ErrorKind::unsupported) {
        throw error.within(graph_.index().label(index));
      }
      errors_.push_back(graph_.index().label(index) + ": " + error.what());
      fail(node);
    }
  }

  void fail(const onnx::NodeProto& node) {
    failed_.insert(node.output().begin(), node.output().end());
  }

  [[nodiscard]] std::string text_of_errors() const {
    std::string text = request_.model.name() + ": " + std::to_string(errors_.size()) +
                       (errors_.size() == 1 ? " part" : " parts") +
                       " of the model can't be written as a QNN graph";
    for (const std::string& error : errors_) {
      text += "\n  " + error;
    }
    return text;
  }

  const LowerRequest& request_;
  GraphBuilder graph_;
  std::vector<std::string> errors_{};
  std::unordered_set<std::string> failed_{};
};

}  // namespace

LoweredGraph lower(const LowerRequest& request) { return Lowerer(request).run(); }

}  // namespace halfstep::qnn
