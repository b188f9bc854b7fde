#include "halfstep/frontends/qdq.h"

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "halfstep/frontends/integer_ops.h"
#include "halfstep/frontends/qdq_constant.h"
#include "halfstep/frontends/qdq_node.h"
#include "halfstep/frontends/qdq_patterns.h"
#include "halfstep/model/graph_editor.h"
#include "halfstep/model/graph_index.h"
#include "halfstep/model/node_keys.h"
#include "halfstep/model/node_metadata.h"

namespace halfstep {
namespace {

/// What reads a dequantized tensor, or a tensor as such.
struct Readers {
  std::vector<Consumer> nodes{};
  bool output = false;  ///< the tensor is a graph output
};

/// A QuantizeLinear with the DequantizeLinear nodes behind it that say the same.
struct Pair {
  int quantize = 0;
  int saturate = -1;  ///< the Clip in front of it, if its codes are of a narrower type
  std::vector<int> dequantize{};
  Encoding encoding{};
};

/// An encoding of a single use, found before the nodes are numbered anew.
struct FoundUse {
  int node = 0;
  int slot = 0;
  Encoding encoding{};
};

class Extractor {
 public:
  Extractor(Model& model, Diagnostics& diagnostics)
      : model_(model), diagnostics_(diagnostics), index_(model), editor_(model) {}

  EncodingTable run() {
    const int count = index_.graph().node_size();
    for (int i = 0; i < count; ++i) {
      if (is_dequantize(index_.graph().node(i))) {
        fold_constant(i);
      } else if (is_quantize(index_.graph().node(i))) {
        collect_pair(i);
      }
    }
    for (auto& [tensor, pairs] : pairs_) {
      fold_pairs(tensor, pairs);
    }
    editor_.apply();
    number_uses(count);
    drop_unread();
    return std::move(table_);
  }

 private:
  void note(int node, const std::string& reason) {
    diagnostics_.push_back({.severity = Severity::note,
                            .rule = "qdq/kept",
                            .subject = index_.graph().node(node).output(0),
                            .message = index_.label(node) + " stays in the graph: " + reason});
  }

  [[nodiscard]] Readers readers(const std::string& tensor) const {
    const auto nodes = index_.consumers(tensor);
    return {.nodes = {nodes.begin(), nodes.end()}, .output = index_.is_graph_output(tensor)};
  }

  /// Constants stored as integers: float values under the name that the DequantizeLinear wrote.
  void fold_constant(int i) {
    const onnx::NodeProto& node = index_.graph().node(i);
    const onnx::TensorProto* stored = index_.constant(node.input(0));
    if (stored == nullptr) {
      return;  // behind a QuantizeLinear: part of a pair
    }
    if (scales_.contains(node.output(0)) || is_scale(node.output(0))) {
      scales_.insert(node.output(0));
      return;  // the scale of another DequantizeLinear (LPBQ) goes with that one
    }
    std::string read = node.output(0);
    std::vector<int> folded{i};
    const int cast = narrowing_behind(index_, read);
    const auto take = [&](int tail) {
      if (tail >= 0) {
        folded.push_back(tail);
        read = index_.graph().node(tail).output(0);
      }
    };
    take(cast);
    take(barrier_behind(model_, index_, read, shape_of(*stored)));
    const QdqMeaning meaning = qdq_meaning(model_, index_, node, read);
    if (!meaning.encoding) {
      note(i, meaning.reason);
      return;
    }
    const bool renamable = is_renamable(read);
    const std::string* twin = renamable ? find_twin(node, *meaning.encoding) : nullptr;
    const std::string name = twin != nullptr ? *twin
                             : renamable     ? own_name(index_, table_, node.input(0), read)
                                             : read;
    if (name != read) {
      redirect(read, name);
    }
    if (twin == nullptr) {
      const onnx::TensorProto* scale = index_.constant(node.input(1));
      const bool half =
          cast >= 0 || (scale != nullptr && scale->data_type() == onnx::TensorProto::FLOAT16);
      add_constant(*stored, name, *meaning.encoding, half);
      constants_[node.input(0)].push_back(name);
    }
    remove(folded);
  }

  void remove(const std::vector<int>& nodes) {
    for (const int node : nodes) {
      editor_.remove_node(node);
      removed_.insert(node);
    }
  }

  void add_constant(const onnx::TensorProto& stored, const std::string& name,
                    const Encoding& encoding, bool half) {
    DequantizedConstant constant = dequantized_constant(model_, stored, encoding, half);
    table_.set(name, encoding);
    if (!constant.codes.empty()) {
      table_.keep_codes(name, std::move(constant.codes));
    }
    editor_.add_initializer(name, constant.dtype, shape_of(stored), std::move(constant.bytes));
  }

  /// Neither a graph output nor quantized once more.
  [[nodiscard]] bool is_renamable(const std::string& tensor) const {
    const auto consumers = index_.consumers(tensor);
    return !index_.is_graph_output(tensor) &&
           std::none_of(consumers.begin(), consumers.end(), [&](const Consumer& reader) {
             return is_quantize(index_.graph().node(reader.node));
           });
  }

  /// The constant that another node made of the same integers in the same way; null if none did.
  [[nodiscard]] const std::string* find_twin(const onnx::NodeProto& node,
                                             const Encoding& encoding) const {
    const auto made = constants_.find(node.input(0));
    if (made == constants_.end()) {
      return nullptr;
    }
    const auto twin =
        std::find_if(made->second.begin(), made->second.end(),
                     [&](const std::string& name) { return *table_.find(name) == encoding; });
    return twin == made->second.end() ? nullptr : &*twin;
  }

  void redirect(const std::string& from, const std::string& to) {
    for (const Consumer& reader : index_.consumers(from)) {
      if (reader.slot < 0) {
        editor_.rename_in_subgraphs(reader.node, from, to);
      } else {
        editor_.set_input(reader.node, reader.slot, to);
      }
    }
  }

  [[nodiscard]] bool is_scale(const std::string& tensor) const {
    const auto consumers = index_.consumers(tensor);
    return !consumers.empty() &&
           std::all_of(consumers.begin(), consumers.end(), [&](const Consumer& c) {
             return c.slot == 1 && is_dequantize(index_.graph().node(c.node));
           });
  }

  void collect_pair(int i) {
    const onnx::NodeProto& node = index_.graph().node(i);
    const std::string reason = try_pair(i, node);
    if (!reason.empty()) {
      note(i, reason);
      kept_.insert(i);
    }
  }

  std::string try_pair(int i, const onnx::NodeProto& node) {
    const QdqMeaning meaning = qdq_meaning(model_, index_, node);
    if (!meaning.encoding) {
      return meaning.reason;
    }
    const Readers quantized = readers(node.output(0));
    if (quantized.output) {
      return "its integers are a graph output";
    }
    Pair pair{.quantize = i, .encoding = *meaning.encoding};
    if (meaning.narrow) {
      pair.saturate = saturate_before(node.input(0));
      if (pair.saturate < 0) {
        return "it is marked as narrower than its type, and nothing keeps its values in range";
      }
    }
    for (const Consumer& reader : quantized.nodes) {
      if (reader.slot != 0 || !is_dequantize(index_.graph().node(reader.node))) {
        return "its integers are read by " + index_.label(reader.node);
      }
      const QdqMeaning back = qdq_meaning(model_, index_, index_.graph().node(reader.node));
      if (!back.encoding || *back.encoding != pair.encoding) {
        return "it is dequantized in another way than it was quantized";
      }
      pair.dequantize.push_back(reader.node);
    }
    if (pair.dequantize.empty()) {
      return "nobody dequantizes it";
    }
    const std::string& tensor =
        pair.saturate < 0 ? node.input(0) : index_.graph().node(pair.saturate).input(0);
    pairs_[tensor].push_back(std::move(pair));
    return {};
  }

  /// The Clip that keeps `tensor` in range for its only reader; -1 if there is none.
  [[nodiscard]] int saturate_before(const std::string& tensor) const {
    const int producer = index_.producer(tensor);
    const bool own = producer >= 0 && is_saturate(index_.graph().node(producer)) &&
                     index_.consumers(tensor).size() == 1 && !index_.is_graph_output(tensor);
    return own ? producer : -1;
  }

  /// All pairs that start from one tensor.
  void fold_pairs(const std::string& tensor, const std::vector<Pair>& pairs) {
    const Readers direct = readers(tensor);
    const bool alike = std::all_of(pairs.begin(), pairs.end(), [&](const Pair& pair) {
      return pair.encoding == pairs[0].encoding;
    });
    const bool whole = alike && !direct.output && direct.nodes.size() == pairs.size();
    if (whole && fold_between_casts(tensor, pairs)) {
      return;
    }
    for (const Pair& pair : pairs) {
      const std::string reason = whole ? whole_obstacle(tensor, pairs) : use_obstacle(pair);
      if (!reason.empty()) {
        note(pair.quantize, reason);
        continue;
      }
      if (whole) {
        fold_whole(tensor, pair);
      } else {
        fold_uses(tensor, pair);
      }
    }
  }

  /// Outputs that the pairs write; the tensor can take the name of one of them.
  [[nodiscard]] std::vector<std::string> written_outputs(const std::vector<Pair>& pairs) const {
    std::vector<std::string> outputs;
    for (const Pair& pair : pairs) {
      for (const int i : pair.dequantize) {
        const std::string& name = index_.graph().node(i).output(0);
        if (index_.is_graph_output(name)) {
          outputs.push_back(name);
        }
      }
    }
    return outputs;
  }

  [[nodiscard]] std::string whole_obstacle(const std::string& tensor,
                                           const std::vector<Pair>& pairs) const {
    const auto outputs = written_outputs(pairs);
    if (outputs.size() > 1) {
      return "it makes several graph outputs of one tensor";
    }
    if (!outputs.empty() && index_.producer(tensor) < 0) {
      return "it makes a graph output of a graph input or a constant";
    }
    return {};
  }

  [[nodiscard]] std::string use_obstacle(const Pair& pair) const {
    for (const int i : pair.dequantize) {
      const Readers behind = readers(index_.graph().node(i).output(0));
      if (behind.output) {
        return "it makes a graph output of a tensor that is also read as it is";
      }
      for (const Consumer& reader : behind.nodes) {
        if (reader.slot < 0 || is_quantize(index_.graph().node(reader.node))) {
          return "it is read by " + index_.label(reader.node) +
                 ", and its tensor is also read as it is";
        }
      }
    }
    return {};
  }

  /// The Casts to `type` behind all pairs; empty if somebody else reads what they read.
  [[nodiscard]] std::vector<int> casts_behind(const std::vector<Pair>& pairs, int type) const {
    std::vector<int> casts;
    for (const Pair& pair : pairs) {
      for (const int i : pair.dequantize) {
        const std::string& from = index_.graph().node(i).output(0);
        for (const Consumer& reader : index_.consumers(from)) {
          if (!is_cast(index_, reader, type) || index_.is_graph_output(from)) {
            return {};
          }
          casts.push_back(reader.node);
        }
      }
    }
    return casts;
  }

  /// Tensors that are not float32 stand between a Cast to float32 before the pairs and Casts back
  /// behind them: the encoding is theirs. False if these are not all that there is.
  bool fold_between_casts(const std::string& tensor, const std::vector<Pair>& pairs) {
    const int widening = index_.producer(tensor);
    if (widening < 0 || index_.graph().node(widening).op_type() != "Cast") {
      return false;
    }
    const std::string& narrow = index_.graph().node(widening).input(0);
    const int type = index_.type(narrow).elem_type;
    const std::vector<int> casts = casts_behind(pairs, type);
    const bool only = index_.consumers(narrow).size() == 1 && !index_.is_graph_output(narrow);
    if (type == onnx::TensorProto::FLOAT || casts.empty() || !only) {
      return false;
    }
    std::string name = narrow;
    for (const int cast : casts) {
      const std::string& to = index_.graph().node(cast).output(0);
      if (index_.is_graph_output(to)) {
        if (name != narrow || index_.producer(narrow) < 0) {
          return false;  // two outputs, or an output of an input
        }
        name = to;
      }
    }
    fold_casts(narrow, name, widening, casts);
    for (const Pair& pair : pairs) {
      remove_pair(pair);
    }
    table_.set(name, pairs[0].encoding);
    return true;
  }

  void fold_casts(const std::string& narrow, const std::string& name, int widening,
                  const std::vector<int>& casts) {
    if (name != narrow) {
      editor_.set_output(index_.producer(narrow), narrow, name);
    }
    for (const int cast : casts) {
      redirect(index_.graph().node(cast).output(0), name);
    }
    remove(casts);
    remove({widening});
  }

  void remove_pair(const Pair& pair) {
    remove({pair.quantize});
    if (pair.saturate >= 0) {
      remove({pair.saturate});
    }
    remove(pair.dequantize);
  }

  void fold_whole(const std::string& tensor, const Pair& pair) {
    const auto outputs = written_outputs(pairs_.at(tensor));
    const std::string name = outputs.empty() ? tensor : outputs[0];
    if (name != tensor) {
      editor_.set_output(index_.producer(tensor), tensor, name);
    }
    for (const int i : pair.dequantize) {
      redirect(index_.graph().node(i).output(0), name);
    }
    remove_pair(pair);
    table_.set(name, pair.encoding);
  }

  void fold_uses(const std::string& tensor, const Pair& pair) {
    for (const int i : pair.dequantize) {
      for (const Consumer& reader : index_.consumers(index_.graph().node(i).output(0))) {
        editor_.set_input(reader.node, reader.slot, tensor);
        uses_.push_back({.node = reader.node, .slot = reader.slot, .encoding = pair.encoding});
      }
    }
    remove_pair(pair);
  }

  /// Uses go by the keys of the nodes that are left.
  void number_uses(int count) {
    std::vector<int> number(static_cast<std::size_t>(count), 0);
    int next = 0;
    for (int i = 0; i < count; ++i) {
      number[static_cast<std::size_t>(i)] = next;
      next += removed_.contains(i) ? 0 : 1;
    }
    const NodeKeys keys(model_.graph());
    for (FoundUse& use : uses_) {
      table_.set_use({.node = keys.key(number[static_cast<std::size_t>(use.node)]),
                      .slot = static_cast<std::size_t>(use.slot)},
                     std::move(use.encoding));
    }
  }

  /// Scales, zero points and stored integers that only the folded nodes read; of LPBQ also the node
  /// that made the scale, and what only that one read.
  void drop_unread() {
    const GraphIndex after(model_);
    GraphEditor cleaner(model_);
    std::set<int> dropped;
    const auto unread = [&](const std::string& tensor) {
      const auto consumers = after.consumers(tensor);
      return !after.is_graph_output(tensor) &&
             std::all_of(consumers.begin(), consumers.end(),
                         [&](const Consumer& reader) { return dropped.contains(reader.node); });
    };
    for (int i = model_.graph().node_size() - 1; i >= 0; --i) {
      const onnx::NodeProto& node = model_.graph().node(i);
      if ((is_dequantize(node) || node.op_type() == "Constant") && unread(node.output(0))) {
        cleaner.remove_node(i);
        dropped.insert(i);
      }
    }
    for (const onnx::TensorProto& tensor : model_.graph().initializer()) {
      if (unread(tensor.name()) && !index_.consumers(tensor.name()).empty()) {
        cleaner.remove_initializer(tensor.name());
      }
    }
    cleaner.apply();
  }

  Model& model_;
  Diagnostics& diagnostics_;
  GraphIndex index_;
  GraphEditor editor_;
  EncodingTable table_{};
  std::map<std::string, std::vector<Pair>> pairs_{};
  std::vector<FoundUse> uses_{};
  std::set<int> removed_{}, kept_{};
  std::set<std::string> scales_{};
  std::map<std::string, std::vector<std::string>> constants_{};  // stored integers -> float tensors
};

}  // namespace

bool has_qdq(const Model& model) {
  const auto& nodes = model.graph().node();
  return std::any_of(nodes.begin(), nodes.end(), [](const onnx::NodeProto& node) {
    return is_quantize(node) || is_dequantize(node) || is_integer_op(node);
  });
}

namespace {

/// Tensors inside super groups whose pair is in the file for the sake of an engine only.
std::vector<std::string> inner_pairs(const Model& model) {
  std::vector<std::string> tensors;
  for (const onnx::NodeProto& node : model.graph().node()) {
    const std::string* mark = find_metadata(node, kOpKey);
    if (mark != nullptr && *mark == kInnerPairMark && node.input_size() > 0) {
      tensors.push_back(node.input(0));
    }
  }
  return tensors;
}

}  // namespace

EncodingTable extract_qdq(Model& model, Diagnostics& diagnostics) {
  const std::vector<std::string> inner = inner_pairs(model);
  const auto& nodes = model.graph().node();
  const bool integer_ops = std::any_of(nodes.begin(), nodes.end(), is_integer_op);
  const EncodingTable weights =
      integer_ops ? spell_out_integer_ops(model, diagnostics) : EncodingTable{};
  EncodingTable table = Extractor(model, diagnostics).run().overridden_by(weights);
  for (const std::string& tensor : inner) {
    table.erase(tensor);
  }
  return table;
}

}  // namespace halfstep
