#include <algorithm>
#include <deque>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "halfstep/adaptation/passes/passes.h"
#include "halfstep/adaptation/precision.h"

namespace halfstep {
namespace {

/// A tensor in one encoding. The first is what the producer writes, the others are converted.
struct Form {
  Encoding encoding{};
  std::string name{};
  int from = -1;         ///< index of the form it is converted from
  int first_reader = 0;  ///< the node before which its Convert stands
};

/// Whoever reads a tensor, and through which encodings.
struct Reader {
  Consumer consumer{};
  std::vector<const Encoding*> road{};  ///< after the producer's form
};

class ConvertInserter {
 public:
  explicit ConvertInserter(AdaptationState& state) : state_(state) {}

  void run() {
    for (const std::string& tensor : state_.graph.tensor_names()) {
      if (state_.graph.constant(tensor) == nullptr && !state_.inner.contains(tensor) &&
          is_float_tensor(state_.graph, tensor)) {
        convert(tensor);
      }
    }
  }

 private:
  /// What the producer writes: its kernel's type; of a graph input what was asked for.
  [[nodiscard]] const Encoding* produced(const std::string& tensor) const {
    const int producer = state_.graph.producer(tensor);
    if (producer >= 0) {
      const onnx::NodeProto& node = state_.node(producer);
      for (int i = 0; i < node.output_size(); ++i) {
        const auto& written =
            state_.nodes[static_cast<std::size_t>(producer)].outputs[static_cast<std::size_t>(i)];
        if (node.output(i) == tensor && written) {
          return &*written;
        }
      }
    }
    return state_.requested.find(tensor);
  }

  [[nodiscard]] std::vector<Reader> readers_of(const std::string& tensor) const {
    std::vector<Reader> readers;
    const Encoding* user = state_.requested.find(tensor);
    for (const Consumer& consumer : state_.graph.consumers(tensor)) {
      Reader reader{.consumer = consumer};
      if (user != nullptr) {
        reader.road.push_back(user);
      }
      if (consumer.slot >= 0) {
        const auto& needed = state_.nodes[static_cast<std::size_t>(consumer.node)]
                                 .inputs[static_cast<std::size_t>(consumer.slot)];
        if (const Encoding* own = state_.wanted(consumer.node, consumer.slot);
            own != nullptr && needed) {
          reader.road.push_back(own);
        }
        if (needed) {
          reader.road.push_back(&*needed);
        }
      }
      readers.push_back(std::move(reader));
    }
    return readers;
  }

  void convert(const std::string& tensor) {
    const Encoding* written = produced(tensor);
    if (written == nullptr) {
      return;
    }
    std::deque<Form> forms{{.encoding = *written, .name = tensor}};
    std::vector<std::pair<Consumer, int>> reads;
    for (const Reader& reader : readers_of(tensor)) {
      reads.emplace_back(reader.consumer, walk(forms, reader.road, reader.consumer.node));
    }
    int output = 0;
    if (state_.graph.is_graph_output(tensor)) {
      const int end = state_.graph.graph().node_size();
      output = walk(forms, {state_.requested.find(tensor)}, end);
    }
    name_forms(tensor, forms, output);
    write(tensor, forms, reads);
  }

  /// Follows a road from the producer's form, adding forms that are not there yet.
  static int walk(std::deque<Form>& forms, const std::vector<const Encoding*>& road, int reader) {
    int at = 0;
    for (const Encoding* next : road) {
      if (next == nullptr || same_numbers(forms[static_cast<std::size_t>(at)].encoding, *next)) {
        continue;
      }
      int found = -1;
      for (std::size_t i = 0; i < forms.size(); ++i) {
        if (forms[i].from == at && same_numbers(forms[i].encoding, *next)) {
          found = static_cast<int>(i);
        }
      }
      if (found < 0) {
        found = static_cast<int>(forms.size());
        forms.push_back({.encoding = *next, .from = at, .first_reader = reader});
      }
      Form& form = forms[static_cast<std::size_t>(found)];
      form.first_reader = std::min(form.first_reader, reader);
      at = found;
    }
    return at;
  }

  /// A graph output keeps its name on the form that leaves the graph.
  void name_forms(const std::string& tensor, std::deque<Form>& forms, int output) {
    for (std::size_t i = 0; i < forms.size(); ++i) {
      if (static_cast<int>(i) == output) {
        forms[i].name = tensor;
      } else if (i > 0 || output > 0) {
        forms[i].name =
            state_.names.fresh(tensor + "_" + std::string(name(forms[i].encoding.dtype)));
      }
    }
  }

  void write(const std::string& tensor, const std::deque<Form>& forms,
             const std::vector<std::pair<Consumer, int>>& reads) {
    const int producer = state_.graph.producer(tensor);
    if (forms[0].name != tensor && producer >= 0) {
      state_.editor.set_output(producer, tensor, forms[0].name);
    }
    for (std::size_t i = 0; i < forms.size(); ++i) {
      state_.result.set(forms[i].name, forms[i].encoding);
      if (i > 0) {
        insert(tensor, forms[static_cast<std::size_t>(forms[i].from)], forms[i]);
      }
    }
    for (const auto& [consumer, form] : reads) {
      const std::string& now = forms[static_cast<std::size_t>(form)].name;
      if (now == tensor) {
        continue;
      }
      if (consumer.slot >= 0) {
        state_.editor.set_input(consumer.node, consumer.slot, now);
      } else {
        state_.editor.rename_in_subgraphs(consumer.node, tensor, now);
      }
    }
  }

  void insert(const std::string& tensor, const Form& from, const Form& to) {
    onnx::NodeProto node;
    node.set_op_type("Identity");
    node.set_name(state_.names.fresh(to.name + "_Convert"));
    node.add_input(from.name);
    node.add_output(to.name);
    mark_convert(node);
    state_.editor.insert_before(to.first_reader, std::move(node));
    state_.converts.push_back({.from = from.name, .to = to.name});
    ++state_.totals.converts;
    warn_if_ignored(tensor, from.encoding, to.encoding);
    state_.note("adapt/convert", tensor,
                "tensor '" + tensor + "' is converted from " + describe(from.encoding) + " to " +
                    describe(to.encoding) + " ('" + to.name + "')");
  }

  /// Measured on HTP: a Convert of 8-bit codes to the same type right behind such an operator has
  /// no effect.
  void warn_if_ignored(const std::string& tensor, const Encoding& from, const Encoding& to) {
    const int producer = state_.graph.producer(tensor);
    if (producer < 0 || from.dtype != to.dtype || from.is_float()) {
      return;
    }
    const std::string& op = state_.node(producer).op_type();
    if (op == "DepthToSpace" || op == "SpaceToDepth") {
      state_.warn("adapt/convert-ignored", tensor,
                  "tensor '" + tensor + "' behind " + state_.graph.label(producer) + " goes from " +
                      describe(from) + " to " + describe(to) +
                      ": the emulator ignores such a Convert; give the operator's input and output "
                      "one encoding, or the output 16 bits");
    }
  }

  AdaptationState& state_;
};

}  // namespace

void insert_converts(AdaptationState& state) { ConvertInserter(state).run(); }

}  // namespace halfstep
