#pragma once

#include <map>
#include <string>
#include <vector>

#include "halfstep/encodings/encoding_table.h"
#include "halfstep/model/graph_editor.h"
#include "halfstep/model/graph_index.h"
#include "halfstep/outputs/qdq_onnx.h"
#include "halfstep/outputs/qdq_params.h"
#include "halfstep/outputs/qdq_uses.h"

namespace halfstep {

/// Turns the encodings of one tensor after the other into changes of the graph.
class QdqWriter {
 public:
  /// `table` is only asked what the other inputs of a consumer are.
  QdqWriter(Model& model, const EncodingTable& table, const QdqOptions& options,
            Diagnostics& diagnostics);

  [[nodiscard]] const GraphIndex& index() const noexcept { return index_; }
  [[nodiscard]] NameMaker& names() noexcept { return names_; }

  /// `encoding`: of the tensor as such, null if only some uses have one. A use whose encoding
  /// differs from the tensor's reads the dequantized tensor through a pair of its own (a constant:
  /// a copy of its own).
  void write(const std::string& tensor, const Encoding* encoding,
             const std::vector<EncodedUse>& uses);
  void apply() { editor_.apply(); }

 private:
  /// What is known of the tensor being written.
  struct Subject {
    const std::string& name;
    int elem_type;
    Shape shape;  ///< -1: unknown extent
    bool rank_known;
    const Encoding* encoding;      ///< null: the tensor itself stays float
    std::vector<EncodedUse> uses;  ///< those that differ from `encoding`
    std::vector<Consumer> plain;   ///< consumers without an encoding of their own
    bool is_output;
    /// Somebody reads the tensor as such.
    [[nodiscard]] bool read() const { return is_output || !plain.empty(); }
  };

  [[nodiscard]] Subject describe(const std::string& tensor, const Encoding* encoding,
                                 const std::vector<EncodedUse>& uses) const;
  void check(const Subject& subject, const Encoding& encoding, bool constant);

  void write_constant(const Subject& subject, const onnx::TensorProto& tensor);
  /// Stores `tensor` as integers `<base>_quantized`, with a DequantizeLinear for each of `outputs`:
  /// the node before which it stands, and the tensor it writes.
  void add_constant(const Subject& subject, const onnx::TensorProto& tensor,
                    const Encoding& encoding, const std::string& base,
                    const std::vector<std::pair<int, std::string>>& outputs, bool barrier);
  void add_codes(const Subject& subject, const onnx::TensorProto& tensor, const Encoding& encoding,
                 const std::string& name);
  [[nodiscard]] bool needs_barrier(const Encoding& encoding, const Consumer& consumer) const;
  void write_constant_uses(const Subject& subject, const onnx::TensorProto& tensor,
                           const std::string& float_name);
  void place_float(const Subject& subject, const std::string& float_name, bool needed);

  void write_activation(const Subject& subject);
  /// Returns the tensor that later pairs start from.
  std::string add_tensor_pair(const Subject& subject, int place);
  void add_use_pairs(const Subject& subject, const std::string& source, int place);
  void insert_quantize(const Subject& subject, const std::string& base, const QdqParams& params,
                       int place, const std::string& input, const std::string& output);
  void insert_dequantize(const Subject& subject, const std::string& base, const QdqParams& params,
                         int place, const std::string& input, const std::string& output);
  void redirect(const Subject& subject, const std::string& to);

  Model& model_;
  const EncodingTable& table_;
  QdqOptions options_;
  Diagnostics& diagnostics_;
  GraphIndex index_;
  NameMaker names_;
  GraphEditor editor_;
};

}  // namespace halfstep
