#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "halfstep/support/error.h"
#include "halfstep/verify_subject.h"
#include "halfstep/verify_values.h"

namespace halfstep {
namespace {

qnn::Tensor stored(qnn::DataType type, std::vector<std::uint32_t> dims, float scale = 0,
                   std::int32_t offset = 0) {
  qnn::Tensor tensor{.name = "t", .type = type, .dims = std::move(dims)};
  if (scale > 0) {
    tensor.quantization = {
        .kind = qnn::Quantization::Kind::per_tensor, .scales = {scale}, .offsets = {offset}};
  }
  return tensor;
}

Tensor floats(const std::vector<float>& values) {
  std::vector<std::byte> bytes(values.size() * sizeof(float));
  std::memcpy(bytes.data(), values.data(), bytes.size());
  return make_tensor(Dtype::float32, {static_cast<std::int64_t>(values.size())}, std::move(bytes));
}

TEST(VerifyValues, CodesRoundHalfToEvenAndSaturate) {
  const qnn::Tensor tensor = stored(qnn::DataType::ufixed8, {5}, 0.5F, -10);
  const qnn::Value value = encoded(tensor, floats({0, 0.25F, 0.75F, -100, 1000}));
  const std::vector<std::byte> expected = {std::byte{10}, std::byte{10}, std::byte{12},
                                           std::byte{0}, std::byte{255}};
  EXPECT_EQ(value.data, expected);
  EXPECT_EQ(decoded(tensor, value.data), (std::vector<float>{0, 0, 1, -5, 122.5F}));
}

TEST(VerifyValues, WideIntegersMustFit) {
  const std::int64_t large = 1'099'511'627'776;
  std::vector<std::byte> bytes(sizeof(large));
  std::memcpy(bytes.data(), &large, sizeof(large));
  const Tensor sample = make_tensor(Dtype::int64, {1}, bytes);
  EXPECT_THROW((void)encoded(stored(qnn::DataType::int32, {1}), sample), Error);
}

TEST(VerifyValues, AnInputOfAnotherSizeIsNamed) {
  try {
    (void)encoded(stored(qnn::DataType::float32, {2}), floats({1, 2, 3}));
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::invalid_file);
    EXPECT_NE(std::string(error.what()).find("\"t\""), std::string::npos) << error.what();
  }
}

TEST(VerifyValues, ChannelsLastIsUndone) {
  // [1, H, W, C] = [1, 1, 2, 3] holds the pixels one after the other.
  const std::vector<float> pixels = {1, 2, 3, 10, 20, 30};
  EXPECT_EQ(in_model_order(pixels, {1, 1, 2, 3}, {0, 2, 3, 1}),
            (std::vector<float>{1, 10, 2, 20, 3, 30}));
  EXPECT_EQ(model_shape({1, 1, 2, 3}, {0, 2, 3, 1}), (Shape{1, 3, 1, 2}));
  // One axis of pixels: [N, 1, W, C] of a tensor [N, C, W].
  EXPECT_EQ(in_model_order(pixels, {1, 1, 2, 3}, {0, -1, 2, 1}),
            (std::vector<float>{1, 10, 2, 20, 3, 30}));
  EXPECT_THROW((void)in_model_order(pixels, {1, 2, 3}, {0, 2, 3, 1}), Error);
}

/// a -> A -> b -> B -> c, and a -> C -> d.
qnn::LoweredGraph chain() {
  qnn::LoweredGraph lowered;
  for (const char* name : {"a", "b", "c", "d"}) {
    lowered.graph.tensors.push_back(stored(qnn::DataType::ufixed8, {1}, 1));
    lowered.graph.tensors.back().name = name;
    lowered.places.emplace(name, qnn::TensorPlace{.name = name});
  }
  lowered.graph.tensors[2].kind = qnn::TensorKind::app_read;
  lowered.graph.ops = {{.name = "A", .type = "Conv2d", .inputs = {"a"}, .outputs = {"b"}},
                       {.name = "B", .type = "Relu", .inputs = {"b"}, .outputs = {"c"}},
                       {.name = "C", .type = "Reshape", .inputs = {"a"}, .outputs = {"d"}}};
  lowered.groups = {0, 0, -1};
  return lowered;
}

std::vector<std::string> names(const std::vector<VerifiedTensor>& tensors) {
  std::vector<std::string> list;
  list.reserve(tensors.size());
  for (const VerifiedTensor& tensor : tensors) {
    list.push_back(tensor.name);
  }
  return list;
}

TEST(VerifySubject, AllLeavesOutWhatIsInsideASuperGroup) {
  EXPECT_EQ(names(verified_tensors(chain(), "all")), (std::vector<std::string>{"c", "d"}));
  EXPECT_EQ(names(verified_tensors(chain(), "outputs")), (std::vector<std::string>{"c"}));
  EXPECT_EQ(names(verified_tensors(chain(), "[bd]")), (std::vector<std::string>{"b", "d"}));
  EXPECT_THROW((void)verified_tensors(chain(), "e"), Error);
}

TEST(VerifySubject, AnUnnamedMoveIsNotWhatComputesATensor) {
  qnn::LoweredGraph lowered = chain();
  lowered.graph.ops[1].type = "Transpose";
  EXPECT_EQ(verified_tensors(lowered, "c").front().op_type, "Transpose");  // of b, a tensor itself
  lowered.places.erase("b");
  EXPECT_EQ(verified_tensors(lowered, "c").front().op_type, "Conv2d");
}

TEST(VerifySubject, TheFirstDepartureHasInputsThatAgree) {
  const qnn::LoweredGraph lowered = chain();
  const std::vector<VerifiedTensor> tensors = verified_tensors(lowered, "*");
  ASSERT_EQ(names(tensors), (std::vector<std::string>{"b", "c", "d"}));
  EXPECT_EQ(first_departure(lowered.graph, tensors, {false, false, false}), -1);
  EXPECT_EQ(first_departure(lowered.graph, tensors, {true, true, true}), 0);
  EXPECT_EQ(first_departure(lowered.graph, tensors, {false, true, true}), 1);
  EXPECT_EQ(first_departure(lowered.graph, tensors, {false, false, true}), 2);
  const std::vector<VerifiedTensor> outputs = verified_tensors(lowered, "outputs");
  EXPECT_EQ(first_departure(lowered.graph, outputs, {true}), 0);
}

}  // namespace
}  // namespace halfstep
