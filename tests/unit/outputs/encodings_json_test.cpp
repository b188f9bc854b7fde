#include "halfstep/outputs/encodings_json.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "halfstep/support/error.h"
#include "halfstep/support/json.h"
#include "tests/unit/outputs/graphs.h"
#include "tests/unit/support/onnx_text.h"

namespace halfstep {
namespace {

using testing::ElementsAre;

constexpr const char* kModel = R"(
  <ir_version: 8, opset_import: ["" : 17]>
  g (float[1, 2, 4, 4] x) => (float[1, 3, 4, 4] z)
  <float[3, 2, 1, 1] w = {1, 2, 3, 4, 5, 6}, float[3] b = {1, 2, 3}, float[3] unused = {1, 2, 3}>
  { [conv] y = Conv(x, w, b) [relu] z = Relu(y) })";

EncodingTable table() {
  EncodingTable result;
  result.set("z", uint8_encoding());
  result.set("b", {.dtype = Dtype::int32,
                   .granularity = PerChannel{.axis = 0},
                   .shape = {3},
                   .scale = {1, 2, 3}});
  result.set("w", int8_channels(0, {1, 2, 3}));
  result.set("x", uint8_encoding());
  result.set("unused", int8_channels(0, {1, 2, 3}));
  result.set_use({.node = "relu", .slot = 0}, uint8_encoding(0.3F));
  return result;
}

std::vector<std::string> names_in(const Json& list) {
  std::vector<std::string> names;
  for (const Json& entry : list) {
    names.push_back(entry.at("name"));
  }
  return names;
}

TEST(WriteEncodings, FollowsTheGraph) {
  const Model model = model_from_text(kModel);
  const Json file = parse_json(write_encodings(table(), GraphIndex(model)), "test");
  EXPECT_EQ(file.at("version"), "2.0.0");
  EXPECT_EQ(file.at("producer").at("package"), "halfstep");
  EXPECT_THAT(names_in(file.at("encodings")), ElementsAre("x", "w", "b", "y_relu", "z", "unused"));
}

TEST(WriteEncodings, TheGraphSaysWhatAParameterIs) {
  const Model model = model_from_text(kModel);
  const Json file =
      parse_json(write_encodings(table(), GraphIndex(model), EncodingsVersion::v1_0_0), "test");
  EXPECT_THAT(names_in(file.at("param_encodings")), ElementsAre("w", "b"));
  EXPECT_THAT(names_in(file.at("activation_encodings")), ElementsAre("x", "y_relu", "z", "unused"));
}

TEST(WriteEncodings, NamesTensorsThatTheGraphLacks) {
  const Model model = model_from_text(kModel);
  EncodingTable wrong;
  wrong.set("zz", uint8_encoding());
  try {
    (void)write_encodings(wrong, GraphIndex(model));
    FAIL();
  } catch (const Error& error) {
    EXPECT_STREQ(error.what(), "no tensor \"zz\" in the model; did you mean \"z\"?");
  }
}

}  // namespace
}  // namespace halfstep
