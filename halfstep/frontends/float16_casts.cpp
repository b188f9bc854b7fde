#include "halfstep/frontends/float16_casts.h"

#include <cstring>
#include <string>
#include <vector>

#include "halfstep/model/graph_editor.h"
#include "halfstep/model/graph_index.h"
#include "halfstep/model/node_metadata.h"
#include "halfstep/model/op_facts.h"

namespace halfstep {
namespace {

class CastFolder {
 public:
  CastFolder(Model& model, EncodingTable& table)
      : model_(model), table_(table), index_(model), editor_(model) {}

  void run() {
    for (int node = 0; node < index_.graph().node_size(); ++node) {
      if (is_cast(node, onnx::TensorProto::FLOAT)) {
        fold(node);
      }
    }
    editor_.apply();
    for (const onnx::NodeProto& node : model_.graph().node()) {
      keep_float32(node);
    }
  }

 private:
  /// What a Convert of an earlier adaptation reads without an encoding was decided to be float32.
  void keep_float32(const onnx::NodeProto& node) {
    const std::string* mark = find_metadata(node, kOpKey);
    if (mark != nullptr && *mark == kConvertMark && table_.find(node.input(0)) == nullptr) {
      table_.set(node.input(0), {.dtype = Dtype::float32, .origin = Origin::model});
    }
  }

  [[nodiscard]] bool is_cast(int node, int to) const {
    const onnx::NodeProto& proto = index_.graph().node(node);
    return is_onnx_domain(proto) && proto.op_type() == "Cast" && proto.input_size() == 1 &&
           int_attribute(proto, "to", 0) == to;
  }

  [[nodiscard]] bool has_one_reader(const std::string& tensor) const {
    return index_.consumers(tensor).size() == 1 && index_.consumers(tensor)[0].slot == 0 &&
           !index_.is_graph_output(tensor);
  }

  /// `back` is a Cast to float32.
  void fold(int back) {
    const std::string& half = index_.graph().node(back).input(0);
    if (!has_one_reader(half)) {
      return;
    }
    const onnx::TensorProto* constant = index_.constant(half);
    if (constant != nullptr && index_.producer(half) < 0) {
      fold_constant(back, *constant);
    } else if (const int narrow = index_.producer(half);
               narrow >= 0 && is_cast(narrow, onnx::TensorProto::FLOAT16)) {
      fold_pair(narrow, back);
    }
  }

  void fold_constant(int back, const onnx::TensorProto& constant) {
    const std::string& wide = index_.graph().node(back).output(0);
    if (constant.data_type() != onnx::TensorProto::FLOAT16 || index_.is_graph_output(wide)) {
      return;
    }
    const std::vector<float> values = model_.floats(constant);
    std::vector<std::byte> bytes(values.size() * sizeof(float));
    if (!values.empty()) {
      std::memcpy(bytes.data(), values.data(), bytes.size());
    }
    editor_.add_initializer(wide, Dtype::float32, shape_of(constant), std::move(bytes));
    editor_.remove_initializer(constant.name());
    editor_.remove_node(back);
    set(wide);
  }

  void fold_pair(int narrow, int back) {
    const std::string& source = index_.graph().node(narrow).input(0);
    const std::string& wide = index_.graph().node(back).output(0);
    const int producer = index_.producer(source);
    if (index_.type(source).elem_type != onnx::TensorProto::FLOAT || !has_one_reader(source) ||
        index_.constant(source) != nullptr ||
        (producer >= 0 && is_cast(producer, onnx::TensorProto::FLOAT))) {
      return;
    }
    if (index_.is_graph_output(wide)) {
      if (producer < 0) {
        return;
      }
      editor_.set_output(producer, source, wide);
      set(wide);
    } else {
      for (const Consumer& reader : index_.consumers(wide)) {
        if (reader.slot >= 0) {
          editor_.set_input(reader.node, reader.slot, source);
        } else {
          editor_.rename_in_subgraphs(reader.node, wide, source);
        }
      }
      set(source);
    }
    editor_.remove_node(narrow);
    editor_.remove_node(back);
  }

  void set(const std::string& tensor) {
    if (table_.find(tensor) == nullptr) {
      table_.set(tensor, {.dtype = Dtype::float16, .origin = Origin::model});
    }
  }

  Model& model_;
  EncodingTable& table_;
  GraphIndex index_;
  GraphEditor editor_;
};

}  // namespace

void extract_float16(Model& model, EncodingTable& table) { CastFolder(model, table).run(); }

}  // namespace halfstep
