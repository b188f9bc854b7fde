// Parts of the adapter that need no library and no process.
#include <cstdint>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "halfstep/engines/qnn/check_graph.h"
#include "halfstep/engines/qnn/graph.h"
#include "halfstep/engines/qnn/log.h"
#include "halfstep/engines/qnn/wire.h"
#include "halfstep/support/error.h"
#include "tests/unit/engines_qnn/graphs.h"

namespace halfstep::qnn {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

Graph everything() {
  Graph graph = unary("Conv2d");
  const Quantization blocks{.kind = Quantization::Kind::block_expansion,
                            .scales = {0.5F, 0.25F},
                            .offsets = {0, 0},
                            .axis = 1,
                            .blocks_per_axis = 2,
                            .block_scale_bits = 4,
                            .block_scales = {1, 2, 3, 16}};
  graph.tensors.push_back(
      constant("w", DataType::sfixed8, {4, 2}, std::vector<std::int8_t>(8, -3), blocks));
  const Quantization block{.kind = Quantization::Kind::block, .scales = {1, 2}, .block = {2, 2}};
  graph.tensors.push_back(
      constant("v", DataType::sfixed8, {4, 2}, std::vector<std::int8_t>(8, 5), block));
  graph.ops[0].params = {
      {.name = "a", .value = true},
      {.name = "b", .value = std::uint32_t{7}},
      {.name = "c", .value = std::int32_t{-7}},
      {.name = "d", .value = 1.5F},
      {.name = "e",
       .value = constant("", DataType::uint32, {2}, std::vector<std::uint32_t>{1, 2})}};
  return graph;
}

TEST(QnnWire, AGraphComesBackAsItWas) {
  const Graph graph = everything();
  WireWriter out;
  write(out, graph);
  WireReader in(out.bytes());
  const Graph back = read_graph(in);
  WireWriter again;
  write(again, back);
  EXPECT_TRUE(std::ranges::equal(out.bytes(), again.bytes()));
  EXPECT_EQ(std::get<std::int32_t>(back.ops[0].params[2].value), -7);
  EXPECT_EQ(back.tensors[2].quantization.block_scales, (std::vector<std::uint8_t>{1, 2, 3, 16}));
}

TEST(QnnWire, EveryShorterFrameIsAnError) {
  WireWriter out;
  write(out, everything());
  for (std::size_t size = 0; size < out.bytes().size(); ++size) {
    WireReader in(out.bytes().first(size));
    EXPECT_THROW((void)read_graph(in), Error) << size;
  }
}

TEST(QnnCheckGraph, TakesWhatIsRight) { EXPECT_NO_THROW(check_graph(everything())); }

TEST(QnnCheckGraph, NamesWhatIsWrong) {
  const auto message = [](auto change) {
    Graph graph = everything();
    change(graph);
    try {
      check_graph(graph);
    } catch (const Error& error) {
      return std::string(error.what());
    }
    return std::string("nothing");
  };
  EXPECT_THAT(message([](Graph& g) { g.tensors[2].data.pop_back(); }),
              HasSubstr("tensor \"w\": bytes of data: found 7, expected 8"));
  EXPECT_THAT(message([](Graph& g) { g.tensors[2].quantization.scales.pop_back(); }),
              HasSubstr("tensor \"w\": scales: found 1, expected 2"));
  EXPECT_THAT(message([](Graph& g) { g.tensors[2].quantization.block_scales.pop_back(); }),
              HasSubstr("block scales: found 3, expected 4"));
  EXPECT_THAT(message([](Graph& g) { g.tensors[2].quantization.axis = 2; }),
              HasSubstr("axis 2 of a tensor of rank 2"));
  EXPECT_THAT(message([](Graph& g) { g.tensors[3].quantization.block = {3, 2}; }),
              HasSubstr("blocks of 3 do not divide 4"));
  EXPECT_THAT(message([](Graph& g) { g.tensors[0].quantization.scales.clear(); }),
              HasSubstr("tensor \"x\": scales: found 0, expected 1"));
  EXPECT_THAT(message([](Graph& g) { g.tensors[1].name = "x"; }), HasSubstr("is there twice"));
  EXPECT_THAT(message([](Graph& g) { g.tensors[0].dims = {65536, 65536}; }), HasSubstr("4 GiB"));
  EXPECT_THAT(message([](Graph& g) { std::get<Tensor>(g.ops[0].params[4].value).data.clear(); }),
              HasSubstr("param \"e\": bytes of data"));
}

TEST(QnnLog, IsShortenedToWhatItSays) {
  const std::string list =
      "<E> Supported I/O datatype sets for the configuration: INT16\n   1:\n"
      "   in[0]:QNN_DATATYPE_UFIXED_POINT_16\n   in[1]: QNN_DATATYPE_BFLOAT_16\n   2:\n"
      "   out[0]:QNN_DATATYPE_INT_32\n";
  const LogSummary summary = summarize({"<E> has incorrect Value 2, expected equal to 3.\n",
                                        "<E> has incorrect Value 2, expected equal to 3.", list,
                                        "<E> QnnBackend_validateOpConfig failed 3110",
                                        "<E> Failed to validate op op0 with error 0x1"});
  EXPECT_THAT(summary.messages, ElementsAre("has incorrect Value 2, expected equal to 3."));
  EXPECT_THAT(summary.kernels,
              ElementsAre("INT16: in[0] ufixed16, in[1] bfloat16", "INT16: out[0] int32"));
}

}  // namespace
}  // namespace halfstep::qnn
