#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include <onnx/onnx_pb.h>

#include "halfstep/frontends/tflite/file.h"
#include "halfstep/frontends/tflite/inference.h"
#include "halfstep/support/diagnostic.h"

namespace halfstep::tflite {

using Ints = std::vector<std::int64_t>;
using Names = std::vector<std::string>;

/// The order of the axes of a value in the ONNX graph, for a tensor that is [N, ..., C] in the
/// file.
enum class Layout : std::uint8_t {
  source,          ///< as in the file
  channels_first,  ///< [N, C, ...]
};

/// How a node of the ONNX graph gets its attributes.
class NodeRef {
 public:
  explicit NodeRef(onnx::NodeProto& node) : node_(&node) {}
  NodeRef& set(const char* name, std::int64_t value);
  NodeRef& set(const char* name, int value) { return set(name, std::int64_t{value}); }
  NodeRef& set(const char* name, float value);
  NodeRef& set(const char* name, const char* value);
  NodeRef& set(const char* name, const Ints& values);
  /// Only there to round as TFLite does; `role` is a value of kArithmeticKey.
  NodeRef& arithmetic(std::string_view role);
  [[nodiscard]] const std::string& out(int i = 0) const { return node_->output(i); }

 private:
  onnx::NodeProto* node_;
};

/// Makes the ONNX graph, node by node. Quantized tensors get QuantizeLinear and DequantizeLinear
/// around them, so that every value that an operator reads or makes is a float one.
class Builder {
 public:
  /// `resized`: inputs have other extents than the file was converted with, those of all other
  /// tensors are found operator by operator.
  Builder(File& file, Diagnostics& diagnostics, bool resized = false);

  // What the file says.
  [[nodiscard]] const Tensor& tensor(int i) const;
  [[nodiscard]] const Tensor& input(const Operator& op, std::size_t slot) const;
  [[nodiscard]] const Tensor& output(const Operator& op, std::size_t slot = 0) const;
  [[nodiscard]] bool has_input(const Operator& op, std::size_t slot) const;
  /// The integers of a constant. Errors: unsupported if the tensor is computed.
  [[nodiscard]] Ints integers(const Operator& op, std::size_t slot) const;
  void note(const char* rule, const std::string& subject, const std::string& message);

  // Values.
  /// The float value of an operand, in this layout.
  [[nodiscard]] std::string read(const Operator& op, std::size_t slot,
                                 Layout layout = Layout::source);
  /// A constant operand with its axes in this order; a computed one is moved by a Transpose.
  [[nodiscard]] std::string read_permuted(const Operator& op, std::size_t slot, const Ints& order);
  /// A constant or source-layout operand seen with another shape of as many elements.
  [[nodiscard]] std::string read_reshaped(const Operator& op, std::size_t slot, const Shape& shape,
                                          const Ints& order = {});
  [[nodiscard]] Layout layout(const Operator& op, std::size_t slot) const;
  [[nodiscard]] Layout layout(int tensor) const;
  /// Integers as an int64 tensor for Reshape, Slice and their like.
  [[nodiscard]] std::string read_int64(const Operator& op, std::size_t slot);

  // Making.
  NodeRef node(const char* type, const Names& inputs, int outputs = 1);
  [[nodiscard]] std::string constant(const Ints& values);  ///< int64 [n]
  [[nodiscard]] std::string scalar(float value, Type type = Type::float32);
  [[nodiscard]] std::string weights(const std::string& name, const Shape& shape,
                                    const std::vector<float>& values);
  /// int8 values with one scale per entry of `axis`, dequantized.
  [[nodiscard]] std::string weights(const std::string& name, const Shape& shape,
                                    std::vector<std::byte> values, const std::vector<float>& scales,
                                    std::int64_t axis);
  [[nodiscard]] std::string transpose(const std::string& value, const Ints& order);
  [[nodiscard]] std::string reshape(const std::string& value, const Shape& shape);
  /// `value` is what the operator computes for output `slot`, before the fused activation.
  void finish(const Operator& op, std::size_t slot, std::string value,
              Layout layout = Layout::source, int activation = 0);
  /// Output 0 is a constant with the content and quantization of input 0 (Densify, Dequantize).
  void forward_constant(const Operator& op, Type type, std::vector<std::byte> content);
  /// Output 0 is the same value as input 0.
  void forward(const Operator& op);

  /// Adds what computes `op`. Errors: unsupported; invalid_file if its operands do not fit it or
  /// its result has not the extents that the file says.
  void run(const Operator& op);
  [[nodiscard]] onnx::ModelProto take();
  /// Values of a constant, dequantized.
  [[nodiscard]] std::vector<float> floats(int tensor) const;

 private:
  struct Value {
    std::string name{};
    Layout layout = Layout::source;
  };

  [[nodiscard]] std::string fresh(const std::string& base);
  [[nodiscard]] std::string read_value(int tensor, Layout layout);
  [[nodiscard]] std::string read_constant(int tensor, const Ints& order, const Shape& shape);
  /// `value` of `tensor` in the other layout, which is `layout`.
  [[nodiscard]] std::string move(const std::string& value, const Tensor& tensor, Layout layout);
  void add_initializer(const std::string& name, int type, const Shape& shape,
                       std::span<const std::byte> content);
  [[nodiscard]] std::pair<std::string, std::string> parameters(const Tensor& tensor, Type type,
                                                               const std::string& base);
  void quantize(const Tensor& tensor, const std::string& value, const std::string& result);
  void rename(const std::string& value, const std::string& name);
  [[nodiscard]] std::string activate(const std::string& value, int activation);
  void define_inputs();
  void define_outputs();
  void add_type(onnx::ValueInfoProto& info, const std::string& name, const Tensor& tensor);
  void infer_results(const Operator& op);
  void settle_shape(Tensor& result, const Shape& inferred);
  void skip_identities();
  void drop_unread();
  void name_nodes();
  void set_opset();

  File& file_;
  Diagnostics& diagnostics_;
  onnx::ModelProto model_{};
  onnx::GraphProto& graph_;
  std::vector<std::optional<Value>> values_;
  std::vector<bool> is_output_;
  std::map<std::pair<std::string, int>, std::string> moved_{};  ///< values in the other layout
  std::map<std::string, std::string> constants_{};
  std::set<std::string> names_{};
  std::unordered_map<std::string, onnx::NodeProto*>
      made_{};           ///< values whose name may still change
  std::string scope_{};  ///< name of what the operator at hand makes
  std::uint64_t stored_ = 0, budget_ = 0;
  Inference inference_{};
  bool resized_ = false;
};

/// [N, ..., C] to [N, C, ...]
[[nodiscard]] Ints to_channels_first(std::size_t rank);
/// [N, C, ...] to [N, ..., C]
[[nodiscard]] Ints to_source(std::size_t rank);
/// Where axis `axis` of a tensor of the file is in this layout.
[[nodiscard]] std::int64_t axis_in(Layout layout, std::int64_t axis, std::size_t rank);
[[nodiscard]] Shape permuted(const Shape& shape, const Ints& order);
/// A negative axis counts from the end. Errors: invalid_file if there is no such axis.
[[nodiscard]] std::int64_t checked_axis(std::int64_t axis, std::size_t rank);
/// Errors: invalid_file unless `tensor` has `rank` axes of known extents.
void require_rank(const Tensor& tensor, std::size_t rank);
/// Extent `axis`. Errors: invalid_file.
[[nodiscard]] std::int64_t extent(const Tensor& tensor, std::size_t axis);
/// Throws unsupported: this operator can't be read, and why.
[[noreturn]] void refuse(const std::string& why);

}  // namespace halfstep::tflite
