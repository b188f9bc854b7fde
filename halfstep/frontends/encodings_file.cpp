#include "halfstep/frontends/encodings_file.h"

#include <string>
#include <unordered_map>

#include "halfstep/model/node_keys.h"
#include "halfstep/model/tensor_role.h"
#include "halfstep/support/error.h"
#include "halfstep/support/file.h"

namespace halfstep {
namespace {

TensorFacts facts_of(const GraphIndex& graph, const std::string& tensor) {
  const TensorRole role = tensor_role(graph, tensor);
  return {.shape = role.shape,
          .parameter = role.constant && (role.weight || role.bias),
          .channel_axis = role.channel_axis,
          .block_axis = role.block_axis};
}

class GraphNames final : public TensorNames {
 public:
  explicit GraphNames(const GraphIndex& graph) : graph_(graph), keys_(graph.graph()) {
    for (std::string& name : graph.tensor_names()) {
      tensors_.insert(std::move(name));
    }
  }

  [[nodiscard]] std::optional<NamedTensor> find(const std::string& name) const override {
    if (tensors_.contains(name)) {
      return NamedTensor{.facts = facts_of(graph_, name)};
    }
    return find_use(name);
  }

  [[nodiscard]] std::string closest(const std::string& name) const override {
    return closest_match(name, graph_.tensor_names());
  }

 private:
  /// `<tensor>_<node>`: some node that reads the tensor bears the rest of the name.
  [[nodiscard]] std::optional<NamedTensor> find_use(const std::string& name) const {
    for (std::size_t end = name.rfind('_'); end != std::string::npos && end > 0;
         end = name.rfind('_', end - 1)) {
      const std::string tensor = name.substr(0, end);
      if (!tensors_.contains(tensor)) {
        continue;
      }
      for (const Consumer& consumer : graph_.consumers(tensor)) {
        if (consumer.slot >= 0 && keys_.key(consumer.node) == name.substr(end + 1)) {
          return NamedTensor{.facts = facts_of(graph_, tensor),
                             .use = Use{.node = keys_.key(consumer.node),
                                        .slot = static_cast<std::size_t>(consumer.slot)}};
        }
      }
    }
    return std::nullopt;
  }

  const GraphIndex& graph_;
  NodeKeys keys_;
  std::unordered_set<std::string> tensors_{};
};

class AnyNames final : public TensorNames {
 public:
  [[nodiscard]] std::optional<NamedTensor> find(const std::string&) const override {
    return NamedTensor{};
  }
  [[nodiscard]] std::string closest(const std::string&) const override { return {}; }
};

}  // namespace

std::unique_ptr<TensorNames> tensor_names(const GraphIndex& graph) {
  return std::make_unique<GraphNames>(graph);
}

std::unique_ptr<TensorNames> any_tensor_names() { return std::make_unique<AnyNames>(); }

EncodingsFile read_encodings(const std::filesystem::path& path, const GraphIndex& graph,
                             const ReadEncodingsOptions& options, Diagnostics& diagnostics) {
  return read_encodings_text(read_text(path), path.string(), *tensor_names(graph), options,
                             diagnostics);
}

}  // namespace halfstep
