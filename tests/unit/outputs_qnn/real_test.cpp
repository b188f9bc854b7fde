// With Qualcomm's own libraries, where they are installed: what is lowered is accepted and
// prepares.
#include <optional>
#include <string>
#include <utility>

#include <gtest/gtest.h>

#include "halfstep/engines/qnn/client.h"
#include "halfstep/support/error.h"
#include "tests/unit/outputs_qnn/lowered.h"

namespace halfstep {
namespace {

struct OpCase {
  const char* name;
  const char* text;  ///< a graph with the float input x and the float output y
};

// NOLINTBEGIN(cppcoreguidelines-avoid-c-arrays): a table
constexpr OpCase kCases[] = {
    {"conv",
     "(float[1,4,6,6] x) => (float[1,4,6,6] y) <float[4,4,1,1] w = {1,2,3,4,5,6,7,8,9,1,2,"
     "3,4,5,6,7}> { y = Conv(x, w) }"},
    {"depthwise",
     "(float[1,4,6,6] x) => (float[1,4,6,6] y) <float[4,1,1,1] w = {1,2,3,4}> "
     "{ y = Conv<group = 4>(x, w) }"},
    {"conv1d",
     "(float[1,2,8] x) => (float[1,2,8] y) <float[2,2,1] w = {1,2,3,4}> "
     "{ a = Conv(x, w) y = Relu(a) }"},
    {"conv_transpose",
     "(float[1,2,4,4] x) => (float[1,2,4,4] y) <float[2,2,1,1] w = {1,2,3,4}> "
     "{ y = ConvTranspose(x, w) }"},
    {"gemm",
     "(float[3,2] x) => (float[3,2] y) <float[2,2] w = {1,2,3,4}, float[2] b = {1,2}> "
     "{ y = Gemm(x, w, b) }"},
    {"matmul",
     "(float[1,3,2] x) => (float[1,3,2] y) <float[2,2] w = {1,2,3,4}> "
     "{ y = MatMul(x, w) }"},
    {"matmul_bias",
     "(float[1,3,2] x) => (float[1,3,2] y) <float[2,2] w = {1,2,3,4}, float[2] b = "
     "{1,2}> { m = MatMul(x, w) y = Add(m, b) }"},
    {"attention_scores",
     "(float[1,2,4,4] x) => (float[1,2,4,4] y) { t = Transpose<perm = [0, 1, "
     "3, 2]>(x) m = MatMul(x, t) y = Softmax<axis = -1>(m) }"},
    {"broadcast",
     "(float[1,4,6,6] x) => (float[1,4,6,6] y) <float[4,1,1] k = {1,2,3,4}> "
     "{ y = Mul(x, k) }"},
    {"clip",
     "(float[1,4,6,6] x) => (float[1,4,6,6] y) <float low = {0}, float high = {6}> "
     "{ y = Clip(x, low, high) }"},
    {"hard_swish", "(float[1,4,6,6] x) => (float[1,4,6,6] y) { y = HardSwish(x) }"},
    {"prelu",
     "(float[1,4,6,6] x) => (float[1,4,6,6] y) <float[4,1,1] s = {0.1,0.2,0.3,0.4}> "
     "{ y = PRelu(x, s) }"},
    {"softmax", "(float[1,4,6,6] x) => (float[1,4,6,6] y) { y = Softmax<axis = 1>(x) }"},
    {"max_pool",
     "(float[1,4,6,6] x) => (float[1,4,3,3] y) { y = MaxPool<kernel_shape = [2, 2], "
     "strides = [2, 2]>(x) }"},
    {"average_pool", "(float[1,4,6,6] x) => (float[1,4,1,1] y) { y = GlobalAveragePool(x) }"},
    {"reduce",
     "(float[1,4,6,6] x) => (float[1,4] y) { y = ReduceMean<axes = [2, 3], keepdims = "
     "0>(x) }"},
    {"layer_norm",
     "(float[1,3,4] x) => (float[1,3,4] y) <float[4] g = {1,2,3,4}, float[4] b = "
     "{1,2,3,4}> { y = LayerNormalization(x, g, b) }"},
    {"concat_split",
     "(float[1,4,6,6] x) => (float[1,4,6,6] y) { a, b = Split<axis = 1>(x) y = "
     "Concat<axis = 1>(b, a) }"},
    {"slice",
     "(float[1,4,6,6] x) => (float[1,4,3,6] y) <int64[1] s = {-1}, int64[1] e = {-7}, "
     "int64[1] a = {2}, int64[1] t = {-2}> { y = Slice(x, s, e, a, t) }"},
    {"pad",
     "(float[1,4,6,6] x) => (float[1,4,8,8] y) <int64[8] p = {0,0,1,1,0,0,1,1}> "
     "{ y = Pad(x, p) }"},
    {"gather",
     "(float[1,4,6,6] x) => (float[1,6,6] y) <int64 i = {-1}> "
     "{ y = Gather<axis = 1>(x, i) }"},
    {"resize",
     "(float[1,4,3,3] x) => (float[1,4,6,6] y) <float[4] s = {1,1,2,2}> "
     "{ y = Resize<mode = \"linear\">(x, , s) }"},
    {"depth_to_space",
     "(float[1,4,3,3] x) => (float[1,1,6,6] y) "
     "{ y = DepthToSpace<blocksize = 2>(x) }"},
    {"expand",
     "(float[1,4,1,6] x) => (float[1,4,6,6] y) <int64[4] s = {1,4,6,6}> "
     "{ y = Expand(x, s) }"},
};
// NOLINTEND(cppcoreguidelines-avoid-c-arrays)

class LoweredOps : public ::testing::TestWithParam<OpCase> {
 protected:
  void SetUp() override {
    try {
      client_.emplace(qnn::ClientOptions{.worker = HALFSTEP_COMMAND});
    } catch (const Error& error) {
      GTEST_SKIP() << error.what();
    }
  }

  void expect_runnable(EncodingTable encodings) {
    const std::string head = "<ir_version: 8, opset_import: [\"\" : 17]>\ng ";
    const qnn::LoweredGraph result = lowered(head + GetParam().text, std::move(encodings));
    const std::string text = qnn::graph_text(result);
    for (const qnn::OpVerdict& verdict : client_->validate(result.graph)) {
      EXPECT_TRUE(verdict.accepted())
          << text << (verdict.messages.empty() ? "" : verdict.messages.front());
    }
    EXPECT_NO_THROW(client_->prepare(result.graph)) << text;
  }

 private:
  std::optional<qnn::Client> client_{};
};

TEST_P(LoweredOps, RunInFloat16) { expect_runnable({}); }

TEST_P(LoweredOps, RunInUint8) {
  EncodingTable table;
  for (const char* tensor : {"x", "y", "a", "b", "m", "t", "k", "s"}) {
    table.set(tensor, uint8_of(0.02F, 128));
  }
  // What is no activation of this graph is left out.
  EncodingTable known;
  const Model model = model_from_text("<ir_version: 8, opset_import: [\"\" : 17]>\ng " +
                                      std::string(GetParam().text));
  const GraphIndex graph(model);
  for (const auto& [tensor, encoding] : table) {
    const int type = graph.type(tensor).elem_type;
    if (type == onnx::TensorProto::FLOAT && graph.constant(tensor) == nullptr) {
      known.set(tensor, encoding);
    }
  }
  if (graph.constant("w") != nullptr) {
    known.set("w", {.dtype = Dtype::int8, .scale = {0.1F}, .zero_point = {0}});
  }
  expect_runnable(std::move(known));
}

INSTANTIATE_TEST_SUITE_P(Table, LoweredOps, ::testing::ValuesIn(kCases),
                         [](const auto& each) { return std::string(each.param.name); });

}  // namespace
}  // namespace halfstep
