// Written Q/DQ models in ONNX Runtime: they load with all optimizations and with none, and compute
// what fake quantization of inputs, weights and outputs computes.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <ostream>
#include <random>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "halfstep/core/quantize.h"
#include "halfstep/engines/engine.h"
#include "halfstep/model/graph_index.h"
#include "halfstep/outputs/qdq_onnx.h"
#include "tests/unit/support/onnx_text.h"

namespace halfstep {
namespace {

struct Weight {
  std::string name;
  Shape shape;
  QuantizationSpec spec;
  bool bias_of_product = false;  ///< int32 with input scale x scale of the first weight
};

struct RunCase {
  std::string name;
  std::string input;  ///< shape as ONNX text: "1, 4, 8, 8"
  std::string body;   ///< from x and the weights to y
  std::vector<Weight> weights{};
  Encoding activation{.dtype = Dtype::uint8, .scale = {0.03F}, .zero_point = {120}};
  Encoding result{.dtype = Dtype::uint8, .scale = {0.05F}, .zero_point = {128}};
  /// Optimized, ONNX Runtime turns some products into MatMulNBits, which rounds activations to 8
  /// bits a block by default; nothing in the model can ask for more.
  double optimized_error = 0;
};
std::ostream& operator<<(std::ostream& out, const RunCase& c) { return out << c.name; }

std::vector<float> random_values(std::size_t count, unsigned seed) {
  std::mt19937 engine(seed);
  std::vector<float> values(count);
  for (float& value : values) {
    value = static_cast<float>(engine() % 20001) / 10000.0F - 1.0F;
  }
  return values;
}

std::vector<std::byte> bytes_of(const std::vector<float>& values) {
  std::vector<std::byte> bytes(values.size() * sizeof(float));
  std::memcpy(bytes.data(), values.data(), bytes.size());
  return bytes;
}

std::vector<float> faked(const Encoding& encoding, const std::vector<float>& values,
                         const Shape& shape, Role role) {
  if (encoding.is_float()) {
    return values;
  }
  std::vector<float> result(values.size());
  fake_quantize({values.data(), shape}, bind(encoding, shape, role), {result.data(), shape});
  return result;
}

/// The float model of a case, its encodings, and the same model with fake-quantized weights.
struct Models {
  onnx::ModelProto plain;
  onnx::ModelProto reference;
  EncodingTable table;
};

void add_weight(onnx::ModelProto& proto, const Weight& weight, const std::vector<float>& values) {
  onnx::TensorProto& tensor = *proto.mutable_graph()->add_initializer();
  tensor.set_name(weight.name);
  tensor.set_data_type(onnx::TensorProto::FLOAT);
  tensor.mutable_dims()->Add(weight.shape.begin(), weight.shape.end());
  tensor.mutable_float_data()->Add(values.begin(), values.end());
}

Models models_of(const RunCase& c) {
  Models models;
  models.plain = proto_from_text("<ir_version: 8, opset_import: [\"\" : 17]> g (float[" + c.input +
                                 "] x) => (float y) { " + c.body + " }");
  models.reference = models.plain;
  unsigned seed = 1;
  for (const Weight& weight : c.weights) {
    const auto count = static_cast<std::size_t>(element_count(weight.shape));
    const std::vector<float> values = random_values(count, seed++);
    const Mapping mapping = fit({values.data(), weight.shape}, resolve(weight.spec, Role::weight));
    const Encoding encoding = encoding_of(mapping, Origin::calibrated);
    models.table.set(weight.name, encoding);
    add_weight(models.plain, weight, values);
    add_weight(models.reference, weight, faked(encoding, values, weight.shape, Role::weight));
  }
  if (!c.activation.is_float()) {
    models.table.set("x", c.activation);
  }
  if (!c.result.is_float()) {
    models.table.set("y", c.result);
  }
  return models;
}

std::vector<float> run(const Model& model, bool optimize, const std::vector<float>& x,
                       Shape* shape) {
  const auto engine = make_onnxruntime_engine();
  const auto session = engine->open(model, {.optimize = optimize});
  const Tensor input = make_tensor(Dtype::float32, session->inputs().at(0).shape, bytes_of(x));
  const std::vector<Tensor> outputs = session->run({{"x", input}});
  *shape = outputs.at(0).shape;
  std::vector<float> values(outputs.at(0).bytes() / sizeof(float));
  std::memcpy(values.data(), outputs.at(0).data, outputs.at(0).bytes());
  return values;
}

class QdqRuns : public testing::TestWithParam<RunCase> {};

TEST_P(QdqRuns, AsFakeQuantizationDoes) {
  const RunCase& c = GetParam();
  const Models models = models_of(c);
  Model written = Model::from_proto(models.plain, c.name);
  Diagnostics diagnostics;
  write_qdq(written, models.table, {}, diagnostics);

  const Model reference = Model::from_proto(models.reference, c.name);
  const Shape x_shape = GraphIndex(reference).type("x").shape.value_or(Shape{});  // none: a scalar
  const std::vector<float> x = random_values(static_cast<std::size_t>(element_count(x_shape)), 99);
  Shape shape;
  const std::vector<float> float_y =
      run(reference, false, faked(c.activation, x, x_shape, Role::activation), &shape);
  const std::vector<float> expected = faked(c.result, float_y, shape, Role::activation);

  const double step = c.result.is_float() ? 1e-5 : c.result.scale[0];
  for (const bool optimize : {false, true}) {
    const std::vector<float> actual = run(written, optimize, x, &shape);
    ASSERT_EQ(actual.size(), expected.size());
    std::size_t different = 0;
    for (std::size_t i = 0; i < actual.size(); ++i) {
      const double error = std::abs(double{actual[i]} - double{expected[i]});
      const double allowed = optimize ? std::max(step, c.optimized_error) : step;
      ASSERT_LE(error, allowed * 1.001) << "at " << i << ", optimized: " << optimize;
      different += error > step * 1e-3 ? 1 : 0;
    }
    // Sums of float products may be added in another order, which moves a value across a tie.
    if (!optimize || c.optimized_error == 0) {
      EXPECT_LE(different, actual.size() / 200) << "optimized: " << optimize;
    }
  }
}

QuantizationSpec spec(Dtype dtype, Granularity granularity = PerTensor{},
                      Scheme scheme = Scheme::symmetric) {
  return {.dtype = dtype,
          .qscheme = scheme,
          .granularity = std::move(granularity),
          .policy = Policy::safe};
}
PerChannel channel(std::int64_t axis) { return {.axis = axis}; }
PerBlock block(std::int64_t axis, std::int64_t size) {
  return {.axis = axis, .block_size = {size}};
}
Lpbq lpbq(std::int64_t axis, std::int64_t size, std::int64_t channel_axis) {
  return {.axis = axis, .block_size = size, .channel_axis = channel_axis};
}
Encoding activation(Dtype dtype, float scale, std::int64_t zero_point = 0) {
  return {.dtype = dtype, .scale = {scale}, .zero_point = {zero_point}};
}
const Encoding kFloat{.dtype = Dtype::float32};

const std::string kConv = "y = Conv<pads = [1, 1, 1, 1]>(x, w)";
const Shape kConvShape{6, 8, 3, 3};
const std::string kImage = "1, 8, 7, 7";

std::vector<RunCase> convolutions() {
  const auto conv = [](std::string name, QuantizationSpec wish) {
    return RunCase{.name = std::move(name),
                   .input = kImage,
                   .body = kConv,
                   .weights = {{"w", kConvShape, std::move(wish)}},
                   .result = activation(Dtype::uint8, 0.1F, 128)};
  };
  return {
      conv("ConvInt8Tensor", spec(Dtype::int8)),
      conv("ConvInt8Channel", spec(Dtype::int8, channel(0))),
      conv("ConvUint8ChannelAsymmetric", spec(Dtype::uint8, channel(0), Scheme::asymmetric)),
      conv("ConvInt16Channel", spec(Dtype::int16, channel(0))),
      conv("ConvInt4Channel", spec(Dtype::int4, channel(0))),
      conv("ConvUint4Tensor", spec(Dtype::uint4, PerTensor{}, Scheme::asymmetric)),
      conv("ConvInt4Block", spec(Dtype::int4, block(1, 4))),
      conv("ConvInt8Block", spec(Dtype::int8, block(1, 2))),
      conv("ConvInt2Channel", spec(Dtype::int2, channel(0))),
      conv("ConvFloat8Channel", spec(Dtype::float8_e4m3fn, channel(0))),
      conv("ConvLpbq", spec(Dtype::int4, lpbq(1, 4, 0))),
      {.name = "ConvBias",
       .input = kImage,
       .body = "y = Conv<pads = [1, 1, 1, 1]>(x, w, b)",
       .weights = {{"w", kConvShape, spec(Dtype::int8, channel(0))},
                   {"b", {6}, spec(Dtype::int32, channel(0))}},
       .result = activation(Dtype::uint8, 0.1F, 128)},
      {.name = "ConvDepthwise",
       .input = kImage,
       .body = "y = Conv<group = 8>(x, w)",
       .weights = {{"w", {8, 1, 3, 3}, spec(Dtype::int8, channel(0))}}},
      {.name = "ConvTransposeGroups",
       .input = kImage,
       .body = "y = ConvTranspose<group = 2, strides = [2, 2]>(x, w)",
       .weights = {{"w", {8, 3, 3, 3}, spec(Dtype::int8, channel(1))}}},
      {.name = "ConvTransposeBlock",
       .input = kImage,
       .body = "y = ConvTranspose(x, w)",
       .weights = {{"w", {8, 3, 3, 3}, spec(Dtype::int4, block(0, 4))}},
       .result = activation(Dtype::uint8, 0.1F, 128)},
  };
}

std::vector<RunCase> products() {
  const auto matmul = [](std::string name, QuantizationSpec wish) {
    return RunCase{.name = std::move(name),
                   .input = "5, 32",
                   .body = "y = MatMul(x, w)",
                   .weights = {{"w", {32, 12}, std::move(wish)}},
                   .result = activation(Dtype::uint8, 0.1F, 128)};
  };
  RunCase wide = matmul("MatMulUint16", spec(Dtype::int8, channel(1)));
  wide.activation = activation(Dtype::uint16, 0.0001F, 30000);
  wide.result = activation(Dtype::uint16, 0.0005F, 32768);
  RunCase weights_only = matmul("MatMulWeightOnlyInt4Block", spec(Dtype::int4, block(0, 16)));
  weights_only.activation = weights_only.result = kFloat;
  weights_only.optimized_error = 0.05;
  RunCase small_blocks =
      matmul("MatMulWeightOnlyUint4Block", spec(Dtype::uint4, block(0, 8), Scheme::asymmetric));
  small_blocks.activation = small_blocks.result = kFloat;
  small_blocks.optimized_error = 0.05;
  return {
      matmul("MatMulInt8Channel", spec(Dtype::int8, channel(1))),
      matmul("MatMulInt4Block", spec(Dtype::int4, block(0, 16))),
      matmul("MatMulUint4BlockAsymmetric", spec(Dtype::uint4, block(0, 8), Scheme::asymmetric)),
      matmul("MatMulUint2Channel", spec(Dtype::uint2, channel(1), Scheme::asymmetric)),
      matmul("MatMulUint16Weight", spec(Dtype::uint16, channel(1), Scheme::asymmetric)),
      matmul("MatMulLpbq", spec(Dtype::int4, lpbq(0, 8, 1))),
      matmul("MatMulFloat8Block", spec(Dtype::float8_e5m2, block(0, 16))),
      wide,
      weights_only,
      small_blocks,
      {.name = "GemmTransB",
       .input = "5, 32",
       .body = "y = Gemm<transB = 1>(x, w, b)",
       .weights = {{"w", {12, 32}, spec(Dtype::int8, channel(0))},
                   {"b", {12}, spec(Dtype::int32, channel(0))}},
       .result = activation(Dtype::uint8, 0.1F, 128)},
      {.name = "GemmBiasOfProduct",
       .input = "5, 32",
       .body = "y = Gemm<transB = 1>(x, w, b)",
       .weights = {{"w", {12, 32}, spec(Dtype::int8, channel(0))}, {"b", {12}, {}, true}},
       .result = activation(Dtype::uint8, 0.1F, 128)},
      {.name = "GemmTransA",
       .input = "32, 5",
       .body = "y = Gemm<transA = 1>(x, w)",
       .weights = {{"w", {32, 12}, spec(Dtype::int4, block(0, 8))}},
       .result = activation(Dtype::uint8, 0.1F, 128)},
  };
}

std::vector<RunCase> others() {
  return {
      {.name = "AddConstant",
       .input = "2, 6",
       .body = "y = Add(x, k)",
       .weights = {{"k", {6}, spec(Dtype::uint8, PerTensor{}, Scheme::asymmetric)}}},
      {.name = "AddScalar",
       .input = "",
       .body = "y = Add(x, k)",
       .weights = {{"k", {}, spec(Dtype::int8)}}},
      {.name = "Relu", .input = "2, 6", .body = "y = Relu(x)"},
      {.name = "ReluInt16",
       .input = "2, 6",
       .body = "y = Relu(x)",
       .activation = activation(Dtype::int16, 0.0001F),
       .result = activation(Dtype::int16, 0.0001F)},
      {.name = "ReluInt4",
       .input = "2, 6",
       .body = "y = Relu(x)",
       .activation = activation(Dtype::int4, 0.2F),
       .result = activation(Dtype::uint4, 0.1F)},
      {.name = "MaxPool", .input = kImage, .body = "y = MaxPool<kernel_shape = [2, 2]>(x)"},
      {.name = "Concat", .input = "2, 6", .body = "h = Relu(x) y = Concat<axis = 1>(x, h)"},
      {.name = "Branches", .input = "2, 6", .body = "a = Relu(x) b = Neg(x) y = Add(a, b)"},
      {.name = "PerChannelActivation",
       .input = "2, 3",
       .body = "y = Neg(x)",
       .activation = {.dtype = Dtype::int8,
                      .granularity = PerChannel{.axis = 1},
                      .shape = {3},
                      .scale = {0.01F, 0.02F, 0.03F},
                      .zero_point = {0, 1, 2}}},
      {.name = "PerBlockActivation",
       .input = "2, 4",
       .body = "y = Neg(x)",
       .activation = {.dtype = Dtype::int8,
                      .granularity = PerBlock{.axis = 1, .block_size = {2}},
                      .shape = {2, 2},
                      .scale = {0.01F, 0.02F, 0.03F, 0.04F}}},
  };
}

std::string case_name(const testing::TestParamInfo<RunCase>& info) { return info.param.name; }

INSTANTIATE_TEST_SUITE_P(Convolutions, QdqRuns, testing::ValuesIn(convolutions()), case_name);
INSTANTIATE_TEST_SUITE_P(Products, QdqRuns, testing::ValuesIn(products()), case_name);
INSTANTIATE_TEST_SUITE_P(Others, QdqRuns, testing::ValuesIn(others()), case_name);

}  // namespace
}  // namespace halfstep
