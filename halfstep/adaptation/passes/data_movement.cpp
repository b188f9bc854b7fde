#include <algorithm>
#include <map>
#include <numeric>
#include <string>
#include <unordered_set>
#include <utility>
#include <vector>

#include "halfstep/adaptation/passes/passes.h"
#include "halfstep/adaptation/precision.h"

namespace halfstep {
namespace {

/// Which of many are one: union by the smallest member.
class Merger {
 public:
  explicit Merger(std::size_t count) : parent_(count) {
    std::iota(parent_.begin(), parent_.end(), 0);
  }
  int root(int member) {
    while (parent_[static_cast<std::size_t>(member)] != member) {
      int& parent = parent_[static_cast<std::size_t>(member)];
      parent = parent_[static_cast<std::size_t>(parent)];
      member = parent;
    }
    return member;
  }
  void merge(int a, int b) {
    const int first = root(a), second = root(b);
    parent_[static_cast<std::size_t>(std::max(first, second))] = std::min(first, second);
  }

 private:
  std::vector<int> parent_;
};

struct Chain {
  std::vector<int> nodes{};
  std::vector<std::string> tensors{};  ///< in graph order, each once
  std::unordered_set<std::string> known{};
  const ChainOp* rule = nullptr;  ///< of the first node
};

class ChainSpreader {
 public:
  explicit ChainSpreader(AdaptationState& state) : state_(state) {
    for (const ChainOp& op : state.target.kernels()->chains) {
      ops_[op.op] = &op;
    }
  }

  void run() {
    for (Chain& chain : find_chains()) {
      Unit unit{.kind = Unit::Kind::chain, .nodes = chain.nodes};
      unit.encoding = spread(chain);
      for (const int node : unit.nodes) {
        state_.unit_of[static_cast<std::size_t>(node)] = static_cast<int>(state_.units.size());
      }
      state_.units.push_back(std::move(unit));
    }
  }

 private:
  [[nodiscard]] const ChainOp* rule_of(int node) const {
    const LoweredNode& lowered = state_.lowered[static_cast<std::size_t>(node)];
    if (lowered.row == nullptr || is_convert(state_.node(node))) {
      return nullptr;
    }
    const auto found = ops_.find(lowered.op());
    return found == ops_.end() ? nullptr : found->second;
  }

  /// The tensors that must carry one encoding: float operands and the first output.
  [[nodiscard]] std::vector<std::string> tensors_of(int node) const {
    std::vector<std::string> tensors;
    for (const int slot : state_.lowered[static_cast<std::size_t>(node)].operands) {
      if (is_float_tensor(state_.graph, state_.node(node).input(slot))) {
        tensors.push_back(state_.node(node).input(slot));
      }
    }
    if (state_.node(node).output_size() > 0 &&
        is_float_tensor(state_.graph, state_.node(node).output(0))) {
      tensors.push_back(state_.node(node).output(0));
    }
    return tensors;
  }

  std::vector<Chain> find_chains() {
    const int count = state_.graph.graph().node_size();
    Merger merger(static_cast<std::size_t>(count));
    std::map<std::string, int> carrier;  // tensor -> a node of its chain
    for (int node = 0; node < count; ++node) {
      if (rule_of(node) == nullptr) {
        continue;
      }
      for (const std::string& tensor : tensors_of(node)) {
        if (state_.graph.constant(tensor) != nullptr) {
          continue;  // two readers of one constant may store it twice
        }
        const auto [known, fresh] = carrier.emplace(tensor, node);
        if (!fresh) {
          merger.merge(known->second, node);
        }
      }
    }
    std::map<int, Chain> chains;
    for (int node = 0; node < count; ++node) {
      const ChainOp* rule = rule_of(node);
      if (rule == nullptr || tensors_of(node).empty()) {
        continue;
      }
      Chain& chain = chains[merger.root(node)];
      chain.rule = chain.rule == nullptr ? rule : chain.rule;
      chain.nodes.push_back(node);
      for (const std::string& tensor : tensors_of(node)) {
        if (chain.known.insert(tensor).second) {
          chain.tensors.push_back(tensor);
        }
      }
    }
    std::vector<Chain> list;
    for (auto& [root, chain] : chains) {
      list.push_back(std::move(chain));
    }
    return list;
  }

  /// The encoding that the whole chain carries, if anything was said about any of its tensors.
  std::optional<Encoding> spread(const Chain& chain) {
    const Encoding* chosen = nullptr;
    std::string giver;
    for (const std::string& tensor : chain.tensors) {
      const Encoding* own = state_.requested.find(tensor);
      // Scales per channel or block belong to one layout; they can't travel.
      if (own == nullptr || own->scale.size() > 1) {
        continue;
      }
      if (chosen == nullptr || bits(own->dtype) < bits(chosen->dtype)) {
        chosen = own;
        giver = tensor;
      }
    }
    if (chosen == nullptr) {
      return std::nullopt;
    }
    const Encoding encoding = *chosen;
    for (const std::string& tensor : chain.tensors) {
      give(chain, tensor, giver, encoding);
    }
    return encoding;
  }

  void give(const Chain& chain, const std::string& tensor, const std::string& giver,
            const Encoding& encoding) {
    const Encoding* own = state_.requested.find(tensor);
    const std::string rule =
        chain.rule->rule == "specification" ? "adapt/chain-specification" : "adapt/chain-measured";
    const std::string first = state_.graph.label(chain.nodes.front());
    if (own == nullptr) {
      Encoding copy = encoding;
      copy.origin = Origin::propagated;
      state_.requested.set(tensor, std::move(copy));
      state_.note(rule, tensor,
                  "tensor '" + tensor + "' takes " + describe(encoding) + " from '" + giver +
                      "': the chain of data movement from " + first + " carries one encoding");
    } else if (!same_numbers(*own, encoding)) {
      state_.note(rule, tensor,
                  "tensor '" + tensor + "' keeps " + describe(*own) + " outside the chain from " +
                      first + ", which carries " + describe(encoding) + " of '" + giver +
                      "': a Convert stands between");
    }
  }

  AdaptationState& state_;
  std::map<std::string, const ChainOp*, std::less<>> ops_{};
};

}  // namespace

void spread_data_movement(AdaptationState& state) { ChainSpreader(state).run(); }

}  // namespace halfstep
