#include "halfstep/outputs/qnn_provider_form.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "halfstep/model/graph_index.h"
#include "tests/unit/support/onnx_text.h"

namespace halfstep {
namespace {

using ::testing::ElementsAre;

constexpr const char* kHead = "<ir_version: 10, opset_import: [\"\" : 21]>\n";

Encoding lpbq() {
  return {.dtype = Dtype::int4,
          .granularity = Lpbq{.axis = 1, .block_size = 2, .channel_axis = 0},
          .shape = {2, 2},
          .scale = {0.5F, 0.25F},
          .zero_point = {},
          .block_scale = {1, 2, 3, 16}};
}

std::vector<std::string> rules(const Diagnostics& diagnostics) {
  std::vector<std::string> names;
  for (const Diagnostic& diagnostic : diagnostics) {
    names.push_back(diagnostic.rule + " " + diagnostic.subject);
  }
  return names;
}

std::vector<float> floats_of(const Model& model, const std::string& name) {
  return model.floats(*GraphIndex(model).constant(name));
}

TEST(QnnProviderForm, IntegersBesideFloat16BecomeFloat16WithTheirRounding) {
  Model model = model_from_text(std::string(kHead) + R"(
    g (float[1,2] x) => (float[1,2] y) <float[2,2] w = {1, 0.26, -0.3, 0.9}>
    { y = MatMul (x, w) })");
  EncodingTable table;
  table.set("x", {.dtype = Dtype::float16});
  table.set("y", {.dtype = Dtype::float16});
  table.set("w", {.dtype = Dtype::int8, .scale = {0.5F}, .zero_point = {0}});
  Diagnostics diagnostics;
  shape_for_qnn_provider(model, table, diagnostics);
  EXPECT_THAT(rules(diagnostics), ElementsAre("write/float16-constant w"));
  EXPECT_EQ(table.find("w")->dtype, Dtype::float16);
  EXPECT_THAT(floats_of(model, "w"), ElementsAre(1.0F, 0.5F, -0.5F, 1.0F));
}

TEST(QnnProviderForm, LpbqOfAGemmBecomesInt8WithTheSameValues) {
  Model model = model_from_text(std::string(kHead) + R"(
    g (float[1,4] x) => (float[1,2] y) <float[2,4] w = {1, -3.2, 2, 3, 0.8, -1.4, 8, 12}>
    { y = Gemm <transB = 1> (x, w) })");
  EncodingTable table;
  table.set("x", {.dtype = Dtype::uint16, .scale = {0.1F}, .zero_point = {0}});
  table.set("w", lpbq());
  Diagnostics diagnostics;
  shape_for_qnn_provider(model, table, diagnostics);
  EXPECT_THAT(rules(diagnostics), ElementsAre("write/lpbq-as-int8 w"));
  const Encoding& wide = *table.find("w");
  EXPECT_EQ(wide.dtype, Dtype::int8);
  EXPECT_THAT(wide.scale, ElementsAre(0.5F, 0.25F));
  EXPECT_TRUE(wide.block_scale.empty());
  // Blocks of two values with steps 0.5, 1, 0.75 and 4.
  EXPECT_THAT(floats_of(model, "w"), ElementsAre(1.0F, -3.0F, 2.0F, 3.0F, 0.75F, -1.5F, 8, 12));
}

TEST(QnnProviderForm, LpbqStaysForTheMatMulThatAloneReadsIt) {
  const auto form = [](const std::string& nodes, const std::string& outputs) {
    Model model = model_from_text(std::string(kHead) + "g (float[1,4] x) => (" + outputs +
                                  ") <float[4,2] w = {1, 0, 0, 0, 0, 0, 0, 0}> { " + nodes + " }");
    EncodingTable table;
    table.set("x", {.dtype = Dtype::uint16, .scale = {0.1F}, .zero_point = {0}});
    Encoding encoding = lpbq();
    encoding.granularity = Lpbq{.axis = 0, .block_size = 2, .channel_axis = 1};
    table.set("w", encoding);
    Diagnostics diagnostics;
    shape_for_qnn_provider(model, table, diagnostics);
    return table.find("w")->dtype;
  };
  EXPECT_EQ(form("y = MatMul (x, w)", "float[1,2] y"), Dtype::int4);
  EXPECT_EQ(form("y = MatMul (x, w) z = MatMul (x, w)", "float[1,2] y, float[1,2] z"), Dtype::int8);
}

TEST(QnnProviderForm, ReadersThatDifferGetCopiesOfTheirOwn) {
  Model model = model_from_text(std::string(kHead) + R"(
    g (float[1,2] x, float[1,2] h) => (float[1,2] y, float[1,2] z)
    <float[2,2] w = {1, 0.26, -0.3, 0.9}> { y = MatMul (x, w) z = MatMul (h, w) })");
  EncodingTable table;
  table.set("x", {.dtype = Dtype::uint8, .scale = {0.5F}, .zero_point = {0}});
  table.set("h", {.dtype = Dtype::float16});
  table.set("w", {.dtype = Dtype::int8, .scale = {0.5F}, .zero_point = {0}});
  Diagnostics diagnostics;
  shape_for_qnn_provider(model, table, diagnostics);
  EXPECT_EQ(table.find("w")->dtype, Dtype::int8);
  EXPECT_EQ(model.graph().node(0).input(1), "w");
  EXPECT_EQ(model.graph().node(1).input(1), "w_float16");
  EXPECT_EQ(table.find("w_float16")->dtype, Dtype::float16);
}

TEST(QnnProviderForm, APairInsideAGroupCoversWhatItsEndShows) {
  const Model model = model_from_text(std::string(kHead) + R"(
    g (float[1,1,2,2] x) => (float[1,1,2,2] y)
    <float[1,1,1,1] w = {1}, float[1] b = {0}, float[1] slope = {0.5}>
    { c = Conv (x, w, b) y = PRelu (c, slope) })");
  EncodingTable table;
  table.set("w", {.dtype = Dtype::int8,
                  .granularity = PerChannel{.axis = 0},
                  .shape = {2},
                  .scale = {0.1F, 0.1F},
                  .zero_point = {0, 0}});
  table.set("y", {.dtype = Dtype::uint8, .scale = {0.1F}, .zero_point = {55}});
  Diagnostics diagnostics;
  EXPECT_THAT(pair_inner_tensors(model, {"c"}, table, diagnostics), ElementsAre("c"));
  const Encoding& inner = *table.find("c");
  EXPECT_EQ(inner.dtype, Dtype::uint8);
  EXPECT_NEAR(-static_cast<double>(inner.zero_point[0]) * inner.scale[0], -11.0, 0.1);
  EXPECT_NEAR((255.0 - static_cast<double>(inner.zero_point[0])) * inner.scale[0], 20.0, 0.1);
}

TEST(QnnProviderForm, NoPairWhereTheProviderFusesByItself) {
  const Model model = model_from_text(std::string(kHead) + R"(
    g (float[1,1,2,2] x) => (float[1,1,2,2] y) <float[1,1,1,1] w = {1}, float[1] b = {0}>
    { c = Conv (x, w, b) y = Relu (c) })");
  EncodingTable table;
  table.set("y", {.dtype = Dtype::uint8, .scale = {0.1F}, .zero_point = {0}});
  Diagnostics diagnostics;
  EXPECT_TRUE(pair_inner_tensors(model, {"c"}, table, diagnostics).empty());
  EXPECT_EQ(table.find("c"), nullptr);
}

}  // namespace
}  // namespace halfstep
