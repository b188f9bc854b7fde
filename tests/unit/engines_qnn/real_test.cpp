// With Qualcomm's own libraries, where they are installed: what the adapter says must be what the
// libraries do.
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "halfstep/engines/qnn/client.h"
#include "halfstep/engines/qnn/dlc/compare.h"
#include "halfstep/engines/qnn/dlc/reader.h"
#include "halfstep/engines/qnn/graph.h"
#include "halfstep/engines/qnn/values.h"
#include "halfstep/support/error.h"
#include "halfstep/support/file.h"
#include "halfstep/support/json.h"
#include "tests/unit/engines_qnn/conv_relu.h"
#include "tests/unit/engines_qnn/graphs.h"

namespace halfstep::qnn {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using Outcome = OpVerdict::Outcome;

class QnnLibraries : public ::testing::Test {
 protected:
  void SetUp() override {
    try {
      client_.emplace(ClientOptions{.worker = HALFSTEP_COMMAND});
    } catch (const Error& error) {
      GTEST_SKIP() << error.what();
    }
  }
  Client& client() { return *client_; }

 private:
  std::optional<Client> client_{};
};

std::vector<std::uint8_t> some_codes(std::size_t count) {
  std::vector<std::uint8_t> codes(count);
  for (std::size_t i = 0; i < count; ++i) {
    codes[i] = static_cast<std::uint8_t>((i * 73 + 5) % 256);
  }
  return codes;
}

Values input_x(const std::vector<std::uint8_t>& codes) {
  return {{"x", {.type = DataType::ufixed8, .dims = {}, .data = bytes_of(codes)}}};
}

TEST_F(QnnLibraries, SayTheirVersions) {
  EXPECT_THAT(client().versions(),
              ElementsAre(HasSubstr("core API 2."), HasSubstr("IR"), HasSubstr("system API 1.")));
}

TEST_F(QnnLibraries, AcceptAndRefuseWithTheListOfTypes) {
  EXPECT_TRUE(client().validate(unary("Relu"))[0].accepted());
  const OpVerdict mixed = client().validate(unary("Relu", DataType::sfixed8))[0];
  EXPECT_EQ(mixed.outcome, Outcome::refused);
  EXPECT_THAT(mixed.messages, Contains(HasSubstr("mismatching datatypes")));
  EXPECT_THAT(mixed.kernels, Contains("INT8: in[0] ufixed8, out[0] ufixed8"));
  const OpVerdict unknown = client().validate(unary("NoSuchOp"))[0];
  EXPECT_EQ(unknown.outcome, Outcome::refused);
  EXPECT_TRUE(unknown.kernels.empty());
}

TEST_F(QnnLibraries, RunConvolutionAndRelu) {
  const ConvRelu net;
  for (const OpVerdict& verdict : client().validate(net.graph)) {
    EXPECT_TRUE(verdict.accepted()) << net.graph.ops[verdict.op].name;
  }
  const std::vector<std::uint8_t> x = some_codes(4 * kIn);
  const Values outputs = client().run(net.graph, input_x(x), {.keep = {"c"}});
  for (const char* name : {"c", "y"}) {
    const auto codes = values_of<std::uint8_t>(outputs.at(name).data);
    ASSERT_EQ(codes.size(), 4 * kOut);
    for (std::size_t i = 0; i < codes.size(); ++i) {
      EXPECT_NEAR(codes[i], net.expected(x, i / kOut, i % kOut), 1.0) << name << " " << i;
    }
  }
}

TEST_F(QnnLibraries, FloatTensorsAreComputedAsFloat16) {
  Graph graph = unary("Sigmoid");
  for (Tensor& each : graph.tensors) {
    each.type = DataType::float32;
    each.quantization = {};
  }
  std::vector<float> x(16);
  for (std::size_t i = 0; i < x.size(); ++i) {
    x[i] = static_cast<float>(i) / 4.0F - 2.0F;
  }
  const Values outputs =
      client().run(graph, {{"x", {.type = DataType::float32, .data = bytes_of(x)}}});
  const auto y = values_of<float>(outputs.at("y").data);
  double worst = 0.0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    const double exact = 1.0 / (1.0 + std::exp(-static_cast<double>(x[i])));
    worst = std::fmax(worst, std::abs(y[i] - exact));
  }
  EXPECT_LT(worst, 2e-3);
  EXPECT_GT(worst, 1e-7);  // float32 would be closer
}

/// Convolutions with weights of every kind of encoding, activations of the kinds of the IR library.
Graph weights_of_every_kind() {
  const std::uint32_t in = 32;
  const std::uint32_t out = 16;
  Graph graph{.name = "kinds"};
  std::vector<std::int8_t> codes;
  for (std::uint32_t i = 0; i < in * out; ++i) {
    codes.push_back(static_cast<std::int8_t>(static_cast<int>(i * 5 % 15) - 7));
  }
  using Kind = Quantization::Kind;
  std::vector<float> scales(out, 0.01F);
  const std::vector<Quantization> kinds = {
      {.kind = Kind::per_tensor, .scales = {0.01F}, .offsets = {0}},
      {.kind = Kind::per_axis,
       .scales = scales,
       .offsets = std::vector<std::int32_t>(out),
       .axis = 3},
      {.kind = Kind::per_axis_bits, .scales = scales, .axis = 3, .bits = 4},
      {.kind = Kind::per_tensor_bits, .scales = {0.01F}, .offsets = {0}, .bits = 4},
      {.kind = Kind::block_expansion,
       .scales = scales,
       .axis = 3,
       .blocks_per_axis = 2,
       .block_scale_bits = 4,
       .block_scales = std::vector<std::uint8_t>(2 * std::size_t{out}, 3)}};
  graph.tensors.push_back(tensor("x", TensorKind::app_write, DataType::ufixed8, {1, 2, 2, in},
                                 per_tensor(0.01F, -128)));
  for (std::size_t i = 0; i < kinds.size(); ++i) {
    const std::string n = std::to_string(i);
    graph.tensors.push_back(constant("w" + n, DataType::sfixed8, {1, 1, in, out}, codes, kinds[i]));
    graph.tensors.push_back(tensor("y" + n, TensorKind::app_read, DataType::ufixed8, {1, 2, 2, out},
                                   per_tensor(0.02F, -128)));
    graph.ops.push_back(
        {.name = "conv" + n,
         .type = "Conv2d",
         .inputs = {"x", "w" + n},
         .outputs = {"y" + n},
         .params = {
             {.name = "stride",
              .value = constant("", DataType::uint32, {2}, std::vector<std::uint32_t>{1, 1})},
             {.name = "pad_amount",
              .value = constant("", DataType::uint32, {2, 2}, std::vector<std::uint32_t>(4))}}});
  }
  return graph;
}

std::string text_of(const std::filesystem::path& file) { return read_text(file); }

TEST_F(QnnLibraries, ADlcIsWrittenReadBackLoadedAndRun) {
  const ConvRelu net;
  const TemporaryDirectory folder;
  const auto file = folder.path() / "net.dlc";
  client().write_dlc(net.graph, file, {{"super_groups", {{"conv", 0}, {"relu", 0}}}});
  const dlc::Contents contents = dlc::read(file);
  EXPECT_THAT(dlc::compare(net.graph, contents), ::testing::IsEmpty());
  EXPECT_EQ(contents.tool, "halfstep");
  EXPECT_EQ(contents.metadata.at("super_groups").at("relu"), 0);
  const std::vector<std::uint8_t> x = some_codes(4 * kIn);
  const Values direct = client().run(net.graph, input_x(x));
  const Values loaded = client().run_dlc(file, input_x(x));
  EXPECT_EQ(loaded.at("y").data, direct.at("y").data);
  client().write_dlc(net.graph, folder.path() / "again.dlc",
                     {{"super_groups", {{"conv", 0}, {"relu", 0}}}});
  EXPECT_TRUE(text_of(file) == text_of(folder.path() / "again.dlc"));
}

TEST_F(QnnLibraries, EveryKindOfWeightsComesBackFromADlc) {
  const Graph graph = weights_of_every_kind();
  const TemporaryDirectory folder;
  const auto file = folder.path() / "kinds.dlc";
  client().write_dlc(graph, file);  // compares by itself
  const std::vector<std::uint8_t> x = some_codes(std::size_t{4} * 32);
  const Values direct = client().run(graph, input_x(x));
  const Values loaded = client().run_dlc(file, input_x(x));
  for (const auto& [name, value] : direct) {
    EXPECT_EQ(loaded.at(name).data, value.data) << name;
  }
}

TEST_F(QnnLibraries, OperatorsThatTheWriterStoresWronglyAreWrittenInAnotherForm) {
  for (const char* type : {"HardSwish", "Relu6"}) {
    const Graph graph = unary(type);
    const TemporaryDirectory folder;
    const auto file = folder.path() / "one.dlc";
    client().write_dlc(graph, file);
    const std::vector<std::uint8_t> x = some_codes(16);
    const Values loaded = client().run_dlc(file, input_x(x));
    const auto y = values_of<std::uint8_t>(loaded.at("y").data);
    for (std::size_t i = 0; i < x.size(); ++i) {
      const double value = 0.01 * (x[i] - 128.0);
      const double exact = std::string(type) == "HardSwish"
                               ? value * std::fmin(std::fmax(value + 3.0, 0.0), 6.0) / 6.0
                               : std::fmin(std::fmax(value, 0.0), 6.0);
      EXPECT_NEAR(y[i], std::fmin(std::round(exact / 0.01) + 128.0, 255.0), 1.0) << type << x[i];
    }
  }
}

TEST_F(QnnLibraries, FloatsOfADlcAreComputedAsFloat16) {
  Graph graph = unary("Sigmoid");
  for (Tensor& each : graph.tensors) {
    each.type = DataType::float32;
    each.quantization = {};
  }
  const TemporaryDirectory folder;
  client().write_dlc(graph, folder.path() / "float.dlc");
  const Values inputs = {
      {"x", {.type = DataType::float32, .data = bytes_of(std::vector<float>(16, 0.3F))}}};
  const Values loaded = client().run_dlc(folder.path() / "float.dlc", inputs);
  EXPECT_EQ(loaded.at("y").data, client().run(graph, inputs).at("y").data);
}

}  // namespace
}  // namespace halfstep::qnn
