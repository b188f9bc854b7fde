#include "halfstep/model/strip.h"

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "halfstep/model/blob.h"
#include "halfstep/model/expand.h"
#include "tests/unit/model/model_fixtures.h"

namespace halfstep {
namespace {

std::string expanded(const StrippedModel& stripped) {
  std::vector<Blob> blobs;
  blobs.reserve(stripped.blobs.size());
  for (const auto part : stripped.blobs) {
    blobs.push_back({.bytes = part});
  }
  const Expander expander(bytes_of(stripped.proto), blobs);
  std::string text;
  expander.write([&text](std::span<const std::byte> bytes) {
    text.append(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  });
  EXPECT_EQ(text.size(), expander.size());
  return text;
}

TEST(StripWeights, TakesOnlyLargeData) {
  const std::string bytes = large_model().SerializeAsString();
  std::size_t passed = 0;
  const StrippedModel stripped =
      strip_weights(bytes_of(bytes), [&passed](auto part) { passed += part.size(); });
  ASSERT_EQ(stripped.blobs.size(), 1U);
  EXPECT_EQ(stripped.blobs[0].size(), 16384U);
  onnx::ModelProto proto;
  ASSERT_TRUE(proto.ParseFromString(stripped.proto));
  const auto token = token_of(proto.graph().initializer(0));
  ASSERT_TRUE(token.has_value());
  EXPECT_EQ(token->index, 0U);
  EXPECT_EQ(token->field, 9U);
  EXPECT_EQ(proto.graph().initializer(1).raw_data().size(), 256U);
  EXPECT_EQ(passed, 0U);  // too little to be worth it
  proto.SerializeToString(&const_cast<std::string&>(stripped.proto));
  EXPECT_TRUE(expanded(stripped) == bytes);
}

TEST(StripWeights, LetsGoWhatItPassed) {
  onnx::ModelProto proto = large_model();
  fill(*proto.mutable_graph()->mutable_initializer(0), {1024, 1024});
  const std::string bytes = proto.SerializeAsString();
  std::size_t passed = 0;
  (void)strip_weights(bytes_of(bytes), [&passed](auto part) { passed += part.size(); });
  EXPECT_GT(passed, std::size_t{4} << 20U);
}

TEST(StripWeights, LeavesUnusualTensorsAlone) {
  onnx::ModelProto twice = large_model();
  const std::string more(5000, 'x');
  twice.mutable_graph()->mutable_initializer(0)->mutable_unknown_fields()->AddLengthDelimited(9,
                                                                                              more);
  EXPECT_TRUE(strip_weights(bytes_of(twice.SerializeAsString())).blobs.empty());

  onnx::ModelProto both = large_model();
  both.mutable_graph()->mutable_initializer(0)->add_float_data(1);
  EXPECT_TRUE(strip_weights(bytes_of(both.SerializeAsString())).blobs.empty());

  onnx::ModelProto sparse = large_model();
  auto* tensor = sparse.mutable_graph()->add_sparse_initializer();
  fill(*tensor->mutable_values(), {2000});
  EXPECT_EQ(strip_weights(bytes_of(sparse.SerializeAsString())).blobs.size(), 1U);

  onnx::ModelProto integers = large_model();
  auto* weight = integers.mutable_graph()->mutable_initializer(0);
  weight->clear_raw_data();
  weight->set_data_type(onnx::TensorProto::INT64);
  for (int i = 0; i < 64 * 64; ++i) {
    weight->add_int64_data(i);
  }
  EXPECT_TRUE(strip_weights(bytes_of(integers.SerializeAsString())).blobs.empty());
}

TEST(StripWeights, NamesThePlaceOfDamage) {
  std::string bytes = large_model().SerializeAsString();
  const std::size_t at = bytes.find("MatMul") - 1;
  bytes[at] = '\x7f';  // the length of op_type
  const std::string message = message_of([&] { (void)strip_weights(bytes_of(bytes)); });
  EXPECT_TRUE(message.starts_with("graph[0]: node[0]: damaged at byte ")) << message;
  EXPECT_NE(message.find("127 bytes should follow"), std::string::npos) << message;
}

TEST(Expander, NoticesATokenWithoutBlob) {
  const std::string bytes = large_model().SerializeAsString();
  const StrippedModel stripped = strip_weights(bytes_of(bytes));
  EXPECT_NE(message_of([&] {
              const Expander expander(bytes_of(stripped.proto), {});
            }).find("another model"),
            std::string::npos);
}

TEST(Token, IsReadBackAndNothingElse) {
  onnx::TensorProto tensor;
  tensor.set_raw_data("abc");
  EXPECT_FALSE(token_of(tensor).has_value());
  set_token(tensor, {.index = 123, .field = 4});
  EXPECT_TRUE(tensor.raw_data().empty());
  ASSERT_TRUE(token_of(tensor).has_value());
  EXPECT_EQ(token_of(tensor)->index, 123U);
  EXPECT_EQ(token_of(tensor)->field, 4U);
  for (const char* text : {"weights.bin", "halfstep:blob:", "halfstep:blob:1",
                           "halfstep:blob:1:", "halfstep:blob:x:9", "halfstep:blob:1:9x"}) {
    EXPECT_FALSE(parse_token(text).has_value()) << text;
  }
}

}  // namespace
}  // namespace halfstep
