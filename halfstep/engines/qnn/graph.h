#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <variant>
#include <vector>

/// A graph in the words of the public QNN C API, as plain data: it can be built, printed, sent to
/// another process and compared without Qualcomm's libraries.
namespace halfstep::qnn {

/// Numbers are those of the QNN C API (Qnn_DataType_t).
// NOLINTNEXTLINE(performance-enum-size): the width of the C API
enum class DataType : std::uint32_t {
  int8 = 0x008,
  int16 = 0x016,
  int32 = 0x032,
  int64 = 0x064,
  uint8 = 0x108,
  uint16 = 0x116,
  uint32 = 0x132,
  float16 = 0x216,
  bfloat16 = 0x217,
  float32 = 0x232,
  sfixed8 = 0x308,  ///< also holds 4- and 2-bit codes: see Quantization::bits
  sfixed16 = 0x316,
  sfixed32 = 0x332,
  ufixed8 = 0x408,
  ufixed16 = 0x416,
  ufixed32 = 0x432,
  bool8 = 0x508,
};

/// Numbers are those of the QNN C API (Qnn_TensorType_t).
// NOLINTNEXTLINE(performance-enum-size): the width of the C API
enum class TensorKind : std::uint32_t {
  app_write = 0,  ///< graph input
  app_read = 1,   ///< graph output
  native = 3,     ///< between operators
  constant = 4,
  null = 5,  ///< an optional operand that is not there
};

/// value = scale * (code + offset): the offset is minus the zero point.
struct Quantization {
  enum class Kind : std::uint8_t {
    none,
    per_tensor,       ///< scales[0], offsets[0]
    per_axis,         ///< one scale and offset an index along `axis`
    per_tensor_bits,  ///< as per_tensor, codes of `bits` bits
    per_axis_bits,    ///< as per_axis, codes of `bits` bits
    block,            ///< float scale a block: extents of a block in `block`, a dimension each;
                      ///< scales output-channel-major
    block_expansion,  ///< LPBQ: scale of block = scales[channel] * block_scales[channel][block]
  };
  Kind kind = Kind::none;
  std::vector<float> scales{};
  std::vector<std::int32_t> offsets{};
  std::int32_t axis = 0;
  std::uint32_t bits = 8;
  std::vector<std::uint32_t> block{};
  std::uint32_t blocks_per_axis = 0;
  std::uint32_t block_scale_bits = 4;
  std::vector<std::uint8_t> block_scales{};
};

struct Tensor {
  std::string name{};
  TensorKind kind = TensorKind::native;
  DataType type = DataType::float32;
  std::vector<std::uint32_t> dims{};
  Quantization quantization{};
  std::vector<std::byte> data{};  ///< of a constant, row-major, one code a byte below 8 bits
};

struct Param {
  std::string name{};
  std::variant<bool, std::uint32_t, std::int32_t, float, Tensor, std::string> value{};
};

struct Op {
  std::string name{};
  std::string type{};                            ///< "Conv2d"; package qti.aisw
  std::vector<std::string> inputs{}, outputs{};  ///< names of tensors
  std::vector<Param> params{};
};

/// Operators in an order in which they can run.
struct Graph {
  std::string name{};
  std::vector<Tensor> tensors{};
  std::vector<Op> ops{};
};

}  // namespace halfstep::qnn
