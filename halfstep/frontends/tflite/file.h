#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "halfstep/frontends/tflite/flatbuffer.h"
#include "halfstep/support/diagnostic.h"
#include "halfstep/support/tensor_view.h"

namespace halfstep::tflite {

/// Element types by their number in the file. Source: schema.fbs of LiteRT, TensorType.
enum class Type : std::int8_t {
  float32 = 0,
  float16 = 1,
  int32 = 2,
  uint8 = 3,
  int64 = 4,
  string = 5,
  boolean = 6,
  int16 = 7,
  int8 = 9,
  float64 = 10,
  uint64 = 12,
  resource = 13,
  variant = 14,
  uint32 = 15,
  uint16 = 16,
  int4 = 17,
  bfloat16 = 18,
  int2 = 19,
  uint4 = 20,
};

[[nodiscard]] bool is_float(Type type) noexcept;
/// Integers that may stand for real numbers.
[[nodiscard]] bool is_integer(Type type) noexcept;
/// Bits of an element; 0 for types without a fixed size.
[[nodiscard]] int bits(Type type) noexcept;
/// The same type as TensorProto.DataType. Errors: unsupported.
[[nodiscard]] int onnx_type(Type type);

struct Tensor {
  std::string name{};  ///< unique and not empty
  Shape shape{};
  bool dynamic = false;  ///< an extent is only known at run time
  bool open = false;     ///< the file leaves an extent to the user (its signature is -1)
  Type type = Type::float32;
  std::vector<float> scale{};              ///< empty: not quantized
  std::vector<std::int64_t> zero_point{};  ///< as many as `scale`
  std::int64_t axis = 0;                   ///< of `scale`, if it has more than one
  bool variable = false;                   ///< keeps its content from run to run
  bool constant = false;
  bool dequantized = false;  ///< a constant with integers that DEQUANTIZE makes real numbers of
  Bytes data{};              ///< of a constant
  std::shared_ptr<const std::vector<std::byte>> owner{};  ///< keeps `data` if it is not the file's
  Table sparsity{};
  bool sparse = false;

  /// Integers that stand for real numbers.
  [[nodiscard]] bool quantized() const noexcept { return !scale.empty() && !is_float(type); }
};

struct Operator {
  std::size_t index = 0;
  int code = 0;
  std::string custom{};                  ///< name of a custom operator
  std::vector<int> inputs{}, outputs{};  ///< tensor numbers; -1: not given
  Table options{};
  Bytes custom_options{};
};

/// A named way to call the graph.
struct SignatureName {
  std::string name{};
  int tensor = 0;
};

/// The main graph of a file, every number in it checked: tensors of operators exist, content fits
/// type and shape.
struct File {
  std::vector<Tensor> tensors{};
  std::vector<Operator> operators{};
  std::vector<int> inputs{}, outputs{};
  std::string description{};  ///< what made the file
  std::string signature{};    ///< key of the signature that calls the main graph
  std::vector<SignatureName> signature_inputs{}, signature_outputs{};
};

/// `bytes` must outlive the result. Errors: invalid_file (damaged), unsupported (what the operator
/// table can't say: no graph).
[[nodiscard]] File read_file(Bytes bytes, Diagnostics& diagnostics);

/// Number of elements. Errors: invalid_file if an extent is negative or the product does not fit.
[[nodiscard]] std::uint64_t count(const Shape& shape);

/// "ADD" of 0; "operator 999" if it is unknown.
[[nodiscard]] std::string operator_name(int code);

}  // namespace halfstep::tflite
