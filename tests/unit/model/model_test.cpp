#include "halfstep/model/model.h"

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "tests/unit/model/model_fixtures.h"

namespace halfstep {
namespace {

constexpr std::size_t kWeightBytes = std::size_t{64} * 64 * 4;

const onnx::TensorProto& initializer(const Model& model, std::string_view name) {
  for (const auto& tensor : model.graph().initializer()) {
    if (tensor.name() == name) {
      return tensor;
    }
  }
  throw std::runtime_error("no initializer " + std::string(name));
}

onnx::TensorProto& initializer(Model& model, std::string_view name) {
  return const_cast<onnx::TensorProto&>(initializer(std::as_const(model), name));
}

TEST(Model, KeepsLargeDataOutOfTheMessage) {
  const Model model = Model::from_proto(large_model(), "m");
  EXPECT_LT(model.proto().ByteSizeLong(), 1000U);
  const onnx::TensorProto& weight = initializer(model, "w");
  EXPECT_TRUE(weight.raw_data().empty());
  EXPECT_EQ(shape_of(weight), (Shape{64, 64}));
  EXPECT_EQ(model.data(weight).size(), 64U * 64U * 4U);
  EXPECT_EQ(model.floats(weight)[4095], 4095.0F);
  EXPECT_EQ(initializer(model, "b").raw_data().size(), 256U);
  EXPECT_EQ(model.floats(initializer(model, "b"))[63], 63.0F);
}

TEST(Model, WritesWhatItRead) {
  const std::string bytes = large_model().SerializeAsString();
  const Model model = Model::from_bytes(bytes_of(bytes), "m");
  EXPECT_EQ(model.serialized_size(), bytes.size());
  EXPECT_TRUE(model.serialize() == bytes);
}

TEST(Model, SetDataReplacesAndKeepsTypeAndShape) {
  Model model = Model::from_proto(large_model(), "m");
  onnx::TensorProto& weight = initializer(model, "w");
  const std::vector<std::byte> bytes(kWeightBytes, std::byte{0});
  model.set_data(weight, bytes);
  EXPECT_EQ(model.floats(weight)[4095], 0.0F);
  EXPECT_EQ(weight.data_type(), onnx::TensorProto::FLOAT);
  onnx::ModelProto written;
  ASSERT_TRUE(written.ParseFromString(model.serialize()));
  EXPECT_EQ(written.graph().initializer(0).raw_data(), std::string(kWeightBytes, '\0'));
  EXPECT_FALSE(written.graph().initializer(0).has_data_location());

  weight.set_data_type(onnx::TensorProto::INT4);
  model.set_data(weight, std::vector<std::byte>(64 * 64 / 2, std::byte{0x7F}));
  EXPECT_EQ(weight.raw_data().size(), 2048U);  // small enough to stay
  EXPECT_EQ(model.floats(weight)[0], -1.0F);
  EXPECT_EQ(model.floats(weight)[1], 7.0F);
}

TEST(Model, SetDataRefusesTheWrongSize) {
  Model model = Model::from_proto(large_model(), "m");
  EXPECT_EQ(message_of([&] { model.set_data(initializer(model, "b"), std::vector<std::byte>(3)); }),
            "tensor 'b' (float [64]): cannot hold 3 bytes, expected 256");
}

TEST(Model, CloneSharesDataAndIsIndependent) {
  Model model = Model::from_proto(large_model(), "m");
  Model copy = model.clone();
  EXPECT_EQ(copy.data(initializer(copy, "w")).span().data(),
            model.data(initializer(model, "w")).span().data());
  copy.set_data(initializer(copy, "w"), std::vector<std::byte>(kWeightBytes, std::byte{0}));
  EXPECT_EQ(copy.floats(initializer(copy, "w"))[1], 0.0F);
  EXPECT_EQ(model.floats(initializer(model, "w"))[1], 1.0F);
}

TEST(Model, ACopiedTensorKeepsItsData) {
  Model model = Model::from_proto(large_model(), "m");
  onnx::TensorProto& copy = *model.graph().add_initializer();
  copy = initializer(model, "w");
  copy.set_name("w2");
  model.set_data(initializer(model, "w"), std::vector<std::byte>(kWeightBytes, std::byte{0}));
  EXPECT_EQ(model.floats(initializer(model, "w2"))[2], 2.0F);
  EXPECT_EQ(model.floats(initializer(model, "w"))[2], 0.0F);
}

TEST(Model, NoticesATensorOfAnotherModel) {
  const Model model = Model::from_proto(large_model(), "m");
  const Model small = model_from_text(R"(<ir_version: 8, opset_import: ["" : 17]>
    g (float[2] x) => (float[2] y) { y = Relu (x) })");
  EXPECT_EQ(message_of([&] { (void)small.data(initializer(model, "w")); }),
            "test model: tensor 'w' (float [64, 64]): is a tensor of another model");
}

TEST(Model, AttributesAreFound) {
  const Model model = model_from_text(R"(<ir_version: 8, opset_import: ["" : 17]>
    g (float[2, 3] x) => (float[2, 3] y) { y = Softmax <axis = 1> (x) })");
  const onnx::NodeProto& node = model.graph().node(0);
  EXPECT_EQ(int_attribute(node, "axis", 7), 1);
  EXPECT_EQ(int_attribute(node, "axes", 7), 7);
  ASSERT_NE(find_attribute(node, "axis"), nullptr);
  EXPECT_EQ(find_attribute(node, "none"), nullptr);
}

// Every way to store numbers gives the same bytes.
struct StoredForm {
  const char* name;
  int data_type;
  std::vector<float> values;
  std::function<void(onnx::TensorProto&)> store;
};

class ModelValues : public testing::TestWithParam<StoredForm> {};

TEST_P(ModelValues, AreRead) {
  onnx::ModelProto proto = proto_from_text(R"(<ir_version: 14, opset_import: ["" : 28]>
    g (float[2] x) => (float[2] y) { y = Relu (x) })");
  onnx::TensorProto& tensor = *proto.mutable_graph()->add_initializer();
  tensor.set_name("t");
  tensor.set_data_type(GetParam().data_type);
  tensor.add_dims(static_cast<std::int64_t>(GetParam().values.size()));
  GetParam().store(tensor);
  const Model model = Model::from_proto(std::move(proto), "m");
  const std::vector<float> found = model.floats(model.graph().initializer(0));
  ASSERT_EQ(found.size(), GetParam().values.size());
  for (std::size_t i = 0; i < found.size(); ++i) {
    if (std::isnan(GetParam().values[i])) {
      EXPECT_TRUE(std::isnan(found[i])) << i;
    } else {
      EXPECT_EQ(found[i], GetParam().values[i]) << i;
      EXPECT_EQ(std::signbit(found[i]), std::signbit(GetParam().values[i])) << i;
    }
  }
}

template <typename... Values>
std::function<void(onnx::TensorProto&)> in_int32(Values... values) {
  return [=](onnx::TensorProto& tensor) { (tensor.add_int32_data(values), ...); };
}
std::function<void(onnx::TensorProto&)> in_raw(const std::vector<unsigned char>& bytes) {
  return [=](onnx::TensorProto& tensor) { tensor.set_raw_data(bytes.data(), bytes.size()); };
}

const float kNan = std::nanf("");
const float kInfinity = INFINITY;

// NOLINTBEGIN(modernize-use-designated-initializers): the rows of a table
std::vector<StoredForm> stored_forms() {
  return {
      StoredForm{"float_data",
                 onnx::TensorProto::FLOAT,
                 {1.5F, -2},
                 [](auto& t) { t.add_float_data(1.5F), t.add_float_data(-2); }},
      StoredForm{"double_data",
                 onnx::TensorProto::DOUBLE,
                 {0.5F},
                 [](auto& t) { t.add_double_data(0.5); }},
      StoredForm{"int64_data",
                 onnx::TensorProto::INT64,
                 {-3, 4},
                 [](auto& t) { t.add_int64_data(-3), t.add_int64_data(4); }},
      StoredForm{"uint32_in_uint64_data",
                 onnx::TensorProto::UINT32,
                 {3000000000.0F, 1},
                 [](auto& t) { t.add_uint64_data(3000000000U), t.add_uint64_data(1); }},
      StoredForm{"uint64_data",
                 onnx::TensorProto::UINT64,
                 {18446744073709551615.0F},
                 [](auto& t) { t.add_uint64_data(18446744073709551615U); }},
      StoredForm{"int32_data", onnx::TensorProto::INT32, {-5, 6}, in_int32(-5, 6)},
      StoredForm{"int8_in_int32_data", onnx::TensorProto::INT8, {-128, 127}, in_int32(-128, 127)},
      StoredForm{"uint8_in_int32_data", onnx::TensorProto::UINT8, {0, 255}, in_int32(0, 255)},
      StoredForm{"int16_in_int32_data", onnx::TensorProto::INT16, {-300}, in_int32(-300)},
      StoredForm{"uint16_in_int32_data", onnx::TensorProto::UINT16, {65535}, in_int32(65535)},
      StoredForm{"bool_in_int32_data", onnx::TensorProto::BOOL, {1, 0}, in_int32(1, 0)},
      StoredForm{
          "float16_in_int32_data", onnx::TensorProto::FLOAT16, {1, -2}, in_int32(0x3C00, 0xC000)},
      StoredForm{"float16",
                 onnx::TensorProto::FLOAT16,
                 {65504, 5.9604645e-08F, kInfinity, -kInfinity, kNan, -0.0F},
                 in_raw({0xFF, 0x7B, 1, 0, 0, 0x7C, 0, 0xFC, 1, 0x7C, 0, 0x80})},
      StoredForm{"bfloat16",
                 onnx::TensorProto::BFLOAT16,
                 {1, -3.140625F, kInfinity},
                 in_raw({0x80, 0x3F, 0x49, 0xC0, 0x80, 0x7F})},
      StoredForm{"e4m3fn",
                 onnx::TensorProto::FLOAT8E4M3FN,
                 {448, 0.001953125F, kNan, -1},
                 in_raw({0x7E, 0x01, 0x7F, 0xB8})},
      StoredForm{"e4m3fnuz",
                 onnx::TensorProto::FLOAT8E4M3FNUZ,
                 {240, kNan, 1},
                 in_raw({0x7F, 0x80, 0x40})},
      StoredForm{"e5m2",
                 onnx::TensorProto::FLOAT8E5M2,
                 {57344, kInfinity, kNan, 1.52587890625e-05F},
                 in_raw({0x7B, 0x7C, 0x7D, 0x01})},
      StoredForm{
          "e5m2fnuz", onnx::TensorProto::FLOAT8E5M2FNUZ, {57344, kNan}, in_raw({0x7F, 0x80})},
      StoredForm{"e8m0",
                 onnx::TensorProto::FLOAT8E8M0,
                 {1, 2, kNan, 5.877471754111438e-39F},
                 in_raw({127, 128, 255, 0})},
      StoredForm{
          "float4", onnx::TensorProto::FLOAT4E2M1, {0.5F, 6, -1, 1.5F}, in_raw({0x71, 0x3A})},
      StoredForm{
          "float6e2m3", onnx::TensorProto::FLOAT6E2M3, {7.5F, -0.125F}, in_int32(0x1F, 0x21)},
      StoredForm{"float6e3m2",
                 onnx::TensorProto::FLOAT6E3M2,
                 {28, 0.0625F, -1},
                 in_int32(0x1F, 0x01, 0x2C)},
      StoredForm{"int4", onnx::TensorProto::INT4, {-8, 7, -1}, in_raw({0x78, 0x0F})},
      StoredForm{"uint4_in_int32_data", onnx::TensorProto::UINT4, {8, 7, 15}, in_int32(0x78, 0x0F)},
      StoredForm{"int2", onnx::TensorProto::INT2, {0, 1, -2, -1, 1}, in_raw({0xE4, 0x01})},
      StoredForm{"uint2", onnx::TensorProto::UINT2, {0, 1, 2, 3}, in_raw({0xE4})}};
}

// NOLINTEND(modernize-use-designated-initializers)
INSTANTIATE_TEST_SUITE_P(Forms, ModelValues, testing::ValuesIn(stored_forms()),
                         [](const auto& form) { return std::string(form.param.name); });

TEST(ModelValuesOfLargeTensors, AgreeWithSmallOnes) {
  onnx::ModelProto proto = large_model();
  onnx::TensorProto& tensor = *proto.mutable_graph()->mutable_initializer(0);
  std::string raw;
  for (unsigned i = 0; i < 70000; ++i) {
    raw += static_cast<char>(i & 255U);
    raw += static_cast<char>((i >> 8U) & 255U);
  }
  tensor.set_data_type(onnx::TensorProto::FLOAT16);
  tensor.clear_dims();
  tensor.add_dims(70000);
  tensor.set_raw_data(raw);
  proto.mutable_graph()->mutable_node(0)->set_op_type("Mul");
  const Model model = Model::from_proto(std::move(proto), "m");
  const std::vector<float> values = model.floats(model.graph().initializer(0));
  EXPECT_EQ(values[0x3C00], 1.0F);
  EXPECT_EQ(values[0xC000], -2.0F);
  EXPECT_EQ(values[65536 + 1], 5.9604645e-08F);
  EXPECT_TRUE(std::isinf(values[0x7C00]));
}

TEST(Model, SaysWhichTensorHasNoNumbers) {
  onnx::ModelProto proto = large_model();
  onnx::TensorProto& tensor = *proto.mutable_graph()->add_initializer();
  tensor.set_name("s");
  tensor.set_data_type(onnx::TensorProto::STRING);
  tensor.add_dims(1);
  tensor.add_string_data("text");
  const Model model = Model::from_proto(std::move(proto), "m");
  EXPECT_EQ(message_of([&] { (void)model.floats(initializer(model, "s")); }),
            "m: tensor 's' (string [1]): has no bytes of a fixed size that could be read");
}

}  // namespace
}  // namespace halfstep
