#include "halfstep/frontends/matmul_nbits.h"

#include <cstdint>
#include <cstring>
#include <optional>
#include <span>
#include <vector>

#include "halfstep/core/half.h"
#include "halfstep/core/quantize.h"
#include "halfstep/support/error.h"

namespace halfstep {
namespace {

/// What the node says of its weight.
struct NBits {
  std::int64_t k = 0, n = 0, bits = 4, block = 32, blocks = 0;
  const onnx::TensorProto* codes = nullptr;
  const onnx::TensorProto* scales = nullptr;
  const onnx::TensorProto* zero_points = nullptr;  ///< null: the middle of the type
};

std::string input(const onnx::NodeProto& node, int slot) {
  return slot < node.input_size() ? node.input(slot) : std::string();
}

/// 2^bits.
std::int64_t code_count(std::int64_t bits) {
  return static_cast<std::int64_t>(std::uint64_t{1} << static_cast<unsigned>(bits));
}

bool is_float(int type) {
  return type == onnx::TensorProto::FLOAT || type == onnx::TensorProto::FLOAT16;
}

std::string read(const GraphIndex& index, const onnx::NodeProto& node, NBits& result) {
  result = {.k = int_attribute(node, "K", 0),
            .n = int_attribute(node, "N", 0),
            .bits = int_attribute(node, "bits", 4),
            .block = int_attribute(node, "block_size", 0),
            .codes = index.constant(input(node, 1)),
            .scales = index.constant(input(node, 2)),
            .zero_points = index.constant(input(node, 3))};
  if (result.codes == nullptr || result.scales == nullptr ||
      (!input(node, 3).empty() && result.zero_points == nullptr)) {
    return "its weight, scales or zero points are computed";
  }
  if (!input(node, 4).empty()) {
    return "its blocks are permuted (g_idx)";
  }
  if (result.bits != 2 && result.bits != 4 && result.bits != 8) {
    return "it stores " + std::to_string(result.bits) + " bits a value; 2, 4 and 8 are read";
  }
  constexpr std::int64_t kLargest = 1073741824;  // 2^30: products stay far from the end of the type
  if (result.k > kLargest || result.n > kLargest || result.k <= 0 || result.n <= 0 ||
      result.block <= 0 || result.k % result.block != 0) {
    return "blocks of " + std::to_string(result.block) + " do not divide its " +
           std::to_string(result.k) + " rows";
  }
  if (!is_float(result.scales->data_type())) {
    return "its scales are neither float32 nor float16";
  }
  result.blocks = result.k / result.block;
  return {};
}

/// Values of `bits` bits, first value in the low bits, each row starting at a byte.
std::vector<std::uint8_t> unpacked(std::span<const std::byte> packed, std::size_t rows,
                                   std::size_t columns, std::size_t bits) {
  const std::size_t per_byte = 8 / bits;
  const std::size_t row_bytes = (columns + per_byte - 1) / per_byte;
  const auto mask = static_cast<std::uint8_t>((1U << bits) - 1U);
  std::vector<std::uint8_t> values(rows * columns);
  for (std::size_t row = 0; row < rows; ++row) {
    for (std::size_t column = 0; column < columns; ++column) {
      const auto byte = std::to_integer<unsigned>(packed[row * row_bytes + column / per_byte]);
      values[row * columns + column] =
          static_cast<std::uint8_t>(byte >> (column % per_byte * bits)) & mask;
    }
  }
  return values;
}

/// Zero points by row (output channel), then block. Empty: floats that are not whole, or sizes that
/// do not fit.
std::optional<std::vector<std::int64_t>> zero_points(const Model& model, const NBits& w) {
  const auto rows = static_cast<std::size_t>(w.n);
  const auto columns = static_cast<std::size_t>(w.blocks);
  std::vector<std::int64_t> result(rows * columns, code_count(w.bits - 1));
  if (w.zero_points == nullptr) {
    return result;
  }
  if (is_float(w.zero_points->data_type())) {
    const std::vector<float> values = model.floats(*w.zero_points);
    if (values.size() != result.size()) {
      return std::nullopt;
    }
    for (std::size_t i = 0; i < values.size(); ++i) {
      result[i] = static_cast<std::int64_t>(values[i]);
      if (static_cast<float>(result[i]) != values[i] || result[i] < 0 ||
          result[i] >= code_count(w.bits)) {
        return std::nullopt;
      }
    }
    return result;
  }
  const TensorBytes packed = model.data(*w.zero_points);
  const std::size_t per_byte = 8 / static_cast<std::size_t>(w.bits);
  if (packed.size() != rows * ((columns + per_byte - 1) / per_byte)) {
    return std::nullopt;
  }
  const auto values = unpacked(packed.span(), rows, columns, static_cast<std::size_t>(w.bits));
  result.assign(values.begin(), values.end());
  return result;
}

/// The encoding of the weight [K, N]: parameters [blocks, N].
Encoding encoding_of_weight(const Model& model, const NBits& w,
                            const std::vector<std::int64_t>& zero_point) {
  const std::vector<float> scale = model.floats(*w.scales);
  Encoding encoding{.dtype = find_dtype("uint" + std::to_string(w.bits)).value(),
                    .granularity = PerBlock{.axis = 0, .block_size = {w.block}},
                    .shape = {w.blocks, w.n},
                    .origin = Origin::model};
  const auto columns = static_cast<std::size_t>(w.blocks);
  for (std::size_t block = 0; block < columns; ++block) {
    for (std::size_t row = 0; row < static_cast<std::size_t>(w.n); ++row) {
      encoding.scale.push_back(scale[row * columns + block]);
      encoding.zero_point.push_back(zero_point[row * columns + block]);
    }
  }
  return encoding;
}

std::vector<std::byte> weight_values(const Model& model, const NBits& w, const Encoding& encoding) {
  const auto rows = static_cast<std::size_t>(w.n);
  const auto columns = static_cast<std::size_t>(w.k);
  const TensorBytes packed = model.data(*w.codes);
  const auto codes = unpacked(packed.span(), rows, columns, static_cast<std::size_t>(w.bits));
  std::vector<std::byte> transposed(codes.size());
  for (std::size_t row = 0; row < rows; ++row) {
    for (std::size_t column = 0; column < columns; ++column) {
      transposed[column * rows + row] = std::byte{codes[row * columns + column]};
    }
  }
  const Shape shape{w.k, w.n};
  std::vector<float> values(codes.size());
  dequantize(transposed, bind(encoding, shape, Role::weight), {values.data(), shape});
  const bool half = w.scales->data_type() == onnx::TensorProto::FLOAT16;
  std::vector<std::byte> bytes(values.size() * (half ? sizeof(Float16) : sizeof(float)));
  for (std::size_t i = 0; half && i < values.size(); ++i) {
    const Float16 rounded = to_float16(values[i]);
    std::memcpy(bytes.data() + i * sizeof(rounded), &rounded, sizeof(rounded));
  }
  if (!half) {
    std::memcpy(bytes.data(), values.data(), bytes.size());
  }
  return bytes;
}

}  // namespace

bool is_matmul_nbits(const onnx::NodeProto& node) {
  return node.op_type() == "MatMulNBits" && node.domain() == "com.microsoft";
}

std::string spell_matmul_nbits(const Model& model, const GraphIndex& index, int i,
                               GraphEditor& editor, NameMaker& names, EncodingTable& table) {
  const onnx::NodeProto& node = index.graph().node(i);
  NBits w;
  if (std::string reason = read(index, node, w); !reason.empty()) {
    return reason;
  }
  const auto row_bytes = static_cast<std::uint64_t>(w.k * w.bits / 8);
  const std::vector<float> scales = model.floats(*w.scales);
  if (w.block * w.bits % 8 != 0 ||
      model.data(*w.codes).size() != row_bytes * static_cast<std::uint64_t>(w.n) ||
      scales.size() != static_cast<std::size_t>(w.n * w.blocks)) {
    return "the sizes of its weight and scales do not fit K, N and block_size";
  }
  const auto zero_point = zero_points(model, w);
  if (!zero_point) {
    return "its zero points are not whole, or too few";
  }
  const Encoding encoding = encoding_of_weight(model, w, *zero_point);
  try {
    validate(encoding, {w.k, w.n});
  } catch (const Error& error) {
    return error.what();
  }
  const std::string weight = names.fresh(node.input(1) + "_float");
  const bool half = w.scales->data_type() == onnx::TensorProto::FLOAT16;
  editor.add_initializer(weight, half ? Dtype::float16 : Dtype::float32, {w.k, w.n},
                         weight_values(model, w, encoding));
  table.set(weight, encoding);
  const std::string bias = input(node, 5);
  onnx::NodeProto product;
  product.set_op_type("MatMul");
  product.set_name(node.name());
  product.add_input(node.input(0));
  product.add_input(weight);
  product.add_output(bias.empty() ? node.output(0) : names.fresh(node.output(0) + "_product"));
  const std::string sum = product.output(0);
  editor.insert_before(i, std::move(product));
  if (!bias.empty()) {
    onnx::NodeProto add;
    add.set_op_type("Add");
    add.set_name(names.fresh(node.output(0) + "_Add"));
    add.add_input(sum);
    add.add_input(bias);
    add.add_output(node.output(0));
    editor.insert_before(i, std::move(add));
  }
  editor.remove_node(i);
  return {};
}

}  // namespace halfstep
