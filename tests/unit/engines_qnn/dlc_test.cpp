// The reader and writer of DLC files that need no library of Qualcomm's.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "halfstep/engines/qnn/dlc/archive.h"
#include "halfstep/engines/qnn/dlc/compare.h"
#include "halfstep/engines/qnn/dlc/reader.h"
#include "halfstep/engines/qnn/dlc/writer.h"
#include "halfstep/engines/qnn/graph.h"
#include "halfstep/support/error.h"
#include "halfstep/support/file.h"
#include "tests/unit/engines_qnn/conv_relu.h"
#include "tests/unit/engines_qnn/graphs.h"

namespace halfstep::qnn::dlc {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

/// Written by the adapter from the graph of ConvRelu with QNN 2.51.
constexpr const char* kFile = HALFSTEP_TEST_DATA "/unit/engines_qnn/data/conv_relu.dlc";
/// The same as the IR library left it, and one with a block encoding.
constexpr const char* kRaw = HALFSTEP_TEST_DATA "/unit/engines_qnn/data/raw.dlc";
constexpr const char* kBlocks = HALFSTEP_TEST_DATA "/unit/engines_qnn/data/blocks.dlc";

std::vector<std::byte> content(const std::filesystem::path& file) {
  const MappedFile mapped(file);
  return {mapped.bytes().begin(), mapped.bytes().end()};
}

std::string error_of(const std::vector<std::byte>& bytes) {
  try {
    (void)read(bytes, "x.dlc");
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::invalid_file) << error.what();
    return error.what();
  }
  return "no error";
}

TEST(Dlc, IsReadAsItWasMeant) {
  const Contents contents = read(kFile);
  EXPECT_THAT(compare(ConvRelu().graph, contents), IsEmpty());
  ASSERT_EQ(contents.graphs.size(), 1U);
  EXPECT_EQ(contents.graphs[0].ops[1].type, "Neuron");
  EXPECT_EQ(contents.major, 4U);
  EXPECT_EQ(contents.tool, "halfstep");
  EXPECT_EQ(contents.metadata.at("super_groups").at("conv"), 0);
}

TEST(Dlc, WithoutDataNothingElseIsMissing) {
  const Contents contents = read(kFile, {.params = false, .constants = false});
  Graph meant = ConvRelu().graph;
  for (Tensor& each : meant.tensors) {
    each.data.clear();
  }
  meant.ops[0].params.clear();
  EXPECT_THAT(compare(meant, contents), IsEmpty());
}

TEST(Dlc, ComparisonNamesEachDifference) {
  const Contents contents = read(kFile);
  const auto differences = [&](auto change) {
    Graph graph = ConvRelu().graph;
    change(graph);
    return compare(graph, contents);
  };
  EXPECT_THAT(differences([](Graph& g) { g.tensors[0].quantization.offsets[0] = 5; }),
              ElementsAre("tensor \"x\": offsets: found [-128], expected [5]"));
  EXPECT_THAT(differences([](Graph& g) { g.tensors[1].data[3] = std::byte{1}; }),
              ElementsAre(HasSubstr("tensor \"w\": data")));
  EXPECT_THAT(differences([](Graph& g) { g.tensors[1].quantization.scales[3] += 1e-6F; }),
              ElementsAre(HasSubstr("tensor \"w\": scales")));
  EXPECT_THAT(differences([](Graph& g) { g.tensors[3].name = "z"; }),
              ElementsAre("tensor \"z\": missing"));
  EXPECT_THAT(differences([](Graph& g) { g.tensors[3].kind = TensorKind::app_read; }),
              ElementsAre("tensor \"c\": kind native, expected app_read"));
  EXPECT_THAT(differences([](Graph& g) { g.ops[1].type = "Tanh"; }),
              ElementsAre(HasSubstr("operation\": another value")));
  EXPECT_THAT(differences([](Graph& g) { g.ops[1].type = "Softmax"; }),
              ElementsAre("Softmax \"relu\": stored as Neuron"));
  EXPECT_THAT(differences([](Graph& g) { g.ops[0].params[3].value = std::uint32_t{2}; }),
              ElementsAre("Conv2d \"conv\": param \"group\": another value"));
  EXPECT_THAT(differences([](Graph& g) { g.ops[0].params[0].name = "strides"; }),
              ElementsAre("Conv2d \"conv\": param \"strides\": missing"));
  EXPECT_THAT(differences([](Graph& g) { g.ops.pop_back(); }),
              ElementsAre("found 2 operators, expected 1"));
}

TEST(Dlc, FinishingTakesTimesOutAndNamesUs) {
  const Contents raw = read(kRaw);
  EXPECT_EQ(raw.tool, "qnn-net-run");
  EXPECT_TRUE(raw.metadata.is_null());
  const TemporaryDirectory folder;
  finish(kRaw, ConvRelu().graph, {{"super_groups", {{"conv", 0}, {"relu", 0}}}},
         folder.path() / "a.dlc");
  const std::string text = read_text(folder.path() / "a.dlc");
  EXPECT_TRUE(text == read_text(kFile));
  EXPECT_EQ(text.find("timestamp"), std::string::npos);
  EXPECT_THROW(finish(kRaw, ConvRelu().graph, Json::array(), folder.path() / "b.dlc"), Error);
  EXPECT_FALSE(std::filesystem::exists(folder.path() / "b.dlc"));
}

TEST(Dlc, BlockEncodingsComeWithTheirScalesAndOurRecordOfTheirExtents) {
  const Contents contents = read(kBlocks);
  const auto& tensors = contents.graphs.at(0).tensors;
  const auto weight = std::ranges::find(tensors, "w", &Tensor::name);
  ASSERT_NE(weight, tensors.end());
  EXPECT_EQ(weight->quantization.kind, Quantization::Kind::block);
  EXPECT_EQ(weight->quantization.block, (std::vector<std::uint32_t>{1, 1, 16, 1}));
  ASSERT_EQ(weight->quantization.scales.size(), 8U);
  EXPECT_EQ(weight->quantization.scales[5], 0.0625F);
}

TEST(Dlc, StorableFormsOfOperators) {
  Graph graph = unary("HardSwish");
  EXPECT_EQ(storable(graph).ops[0].type, "ElementWiseNeuron");
  graph = unary("Relu6");
  EXPECT_EQ(storable(graph).ops[0].type, "ReluMinMax");
  EXPECT_EQ(std::get<float>(storable(graph).ops[0].params[1].value), 6.0F);
  EXPECT_EQ(storable(unary("Relu")).ops[0].type, "Relu");
}

TEST(Dlc, ScalesOfBlocksAreRefusedBecauseTheFileWouldNotLoad) {
  Graph graph = unary("Relu");
  graph.tensors[0].quantization = {
      .kind = Quantization::Kind::block, .scales = {0.1F}, .block = {1, 2, 2, 4}};
  try {
    (void)storable(graph);
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::unsupported);
    EXPECT_THAT(error.what(), AllOf(HasSubstr("tensor \"x\""), HasSubstr("LPBQ")));
  }
}

TEST(DlcArchive, WritesWhatItReads) {
  const TemporaryDirectory folder;
  const std::vector<std::byte> a = bytes_of(std::vector<std::uint8_t>{1, 2, 3});
  write_archive({{.name = "a", .content = a}, {.name = "empty"}}, folder.path() / "x.zip");
  const std::vector<std::byte> bytes = content(folder.path() / "x.zip");
  const std::vector<Member> members = read_archive(bytes);
  ASSERT_EQ(members.size(), 2U);
  EXPECT_TRUE(std::ranges::equal(members[0].content, a));
  EXPECT_EQ(members[0].offset % 8, 0U);
  EXPECT_EQ(find_member(members, "empty")->content.size(), 0U);
  EXPECT_EQ(find_member(members, "b"), nullptr);
}

TEST(Dlc, MessagesSayWhatIsWrong) {
  EXPECT_THAT(error_of({}), AllOf(HasSubstr("x.dlc"), HasSubstr("not a DLC")));
  EXPECT_THAT(error_of(bytes_of(std::vector<std::uint8_t>(100, 'x'))),
              HasSubstr("no zip directory"));
  const TemporaryDirectory folder;
  write_archive({{.name = "readme"}}, folder.path() / "x.dlc");
  EXPECT_THAT(error_of(content(folder.path() / "x.dlc")), HasSubstr("no member \"model\""));
  const auto head = bytes_of(std::vector<std::uint8_t>{0xd5, 0x0a, 3, 0, 1, 0, 0, 0});
  write_archive({{.name = "model", .content = head}}, folder.path() / "x.dlc");
  EXPECT_THAT(error_of(content(folder.path() / "x.dlc")), HasSubstr("container version 3"));
}

TEST(Dlc, EveryShorterFileIsAnError) {
  const std::vector<std::byte> bytes = content(kFile);
  for (std::size_t size = 0; size < bytes.size(); ++size) {
    const std::vector<std::byte> part(bytes.begin(), bytes.begin() + static_cast<long>(size));
    EXPECT_NE(error_of(part), "no error") << size;
  }
}

TEST(Dlc, NoChangedByteDoesHarm) {
  for (const auto& file : {kFile, kBlocks}) {
    const std::vector<std::byte> bytes = content(file);
    for (std::size_t at = 0; at < bytes.size(); ++at) {
      for (const unsigned value : {0x00U, 0x7fU, 0xffU}) {
        std::vector<std::byte> changed = bytes;
        changed[at] = static_cast<std::byte>(value);
        (void)error_of(changed);  // an error or not, but of the right kind
      }
    }
  }
}

}  // namespace
}  // namespace halfstep::qnn::dlc
