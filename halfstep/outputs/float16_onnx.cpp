#include "halfstep/outputs/float16_onnx.h"

#include <cstring>
#include <string>
#include <vector>

#include "halfstep/core/half.h"
#include "halfstep/model/graph_editor.h"
#include "halfstep/model/graph_index.h"
#include "halfstep/outputs/qdq_params.h"
#include "halfstep/outputs/qdq_uses.h"

namespace halfstep {
namespace {

class Float16Writer {
 public:
  explicit Float16Writer(Model& model)
      : model_(model), index_(model), names_(model.graph()), editor_(model) {}

  void write(const std::string& tensor) {
    require_tensor(index_, tensor);
    if (index_.type(tensor).elem_type != onnx::TensorProto::FLOAT) {
      return;
    }
    if (const onnx::TensorProto* constant = index_.constant(tensor)) {
      write_constant(tensor, *constant);
    } else {
      write_activation(tensor);
    }
  }

  void apply() { editor_.apply(); }

 private:
  void cast(const std::string& base, const std::string& from, const std::string& to, int place,
            int elem_type) {
    editor_.insert_before(place, cast_node(names_, base, from, to, elem_type));
  }

  [[nodiscard]] int first_reader(const std::string& tensor) const {
    const auto readers = index_.consumers(tensor);
    return readers.empty() ? index_.graph().node_size() : readers.front().node;
  }

  void write_constant(const std::string& tensor, const onnx::TensorProto& constant) {
    const std::vector<float> values = model_.floats(constant);
    std::vector<std::byte> bytes(values.size() * sizeof(std::uint16_t));
    for (std::size_t i = 0; i < values.size(); ++i) {
      const std::uint16_t half = to_float16(values[i]).bits;
      std::memcpy(bytes.data() + i * sizeof(half), &half, sizeof(half));
    }
    const std::string stored = names_.fresh(tensor + "_float16");
    editor_.add_initializer(stored, Dtype::float16, shape_of(constant), std::move(bytes));
    // The Cast writes the tensor itself: whoever reads it goes on reading it.
    if (const int producer = index_.producer(tensor); producer >= 0) {
      editor_.remove_node(producer);  // a Constant node
    } else {
      editor_.remove_initializer(tensor);
    }
    cast(tensor, stored, tensor, first_reader(tensor), onnx::TensorProto::FLOAT);
  }

  void write_activation(const std::string& tensor) {
    const int producer = index_.producer(tensor);
    const bool renamed = index_.is_graph_output(tensor) && producer >= 0;
    const std::string source = renamed ? names_.fresh(tensor + "_float") : tensor;
    const std::string half = names_.fresh(tensor + "_float16");
    const std::string wide = renamed ? tensor : names_.fresh(tensor + "_float32");
    const int place = producer + 1;
    if (renamed) {
      editor_.set_output(producer, tensor, source);
    }
    cast(tensor, source, half, place, onnx::TensorProto::FLOAT16);
    cast(tensor, half, wide, place, onnx::TensorProto::FLOAT);
    if (!renamed) {
      redirect(tensor, wide);
    }
  }

  void redirect(const std::string& tensor, const std::string& to) {
    for (const Consumer& consumer : index_.consumers(tensor)) {
      if (consumer.slot >= 0) {
        editor_.set_input(consumer.node, consumer.slot, to);
      } else {
        editor_.rename_in_subgraphs(consumer.node, tensor, to);
      }
    }
  }

  Model& model_;
  GraphIndex index_;
  NameMaker names_;
  GraphEditor editor_;
};

}  // namespace

void write_float16(Model& model, const EncodingTable& table) {
  Float16Writer writer(model);
  for (const auto& [tensor, encoding] : table) {
    if (encoding.dtype == Dtype::float16) {
      writer.write(tensor);
    }
  }
  writer.apply();
}

}  // namespace halfstep
