#include "halfstep/frontends/onnx.h"

#include <fstream>
#include <string>

#include <gtest/gtest.h>

#include "halfstep/support/error.h"
#include "halfstep/support/file.h"
#include "tests/unit/support/onnx_text.h"

namespace halfstep {
namespace {

class LoadOnnx : public testing::Test {
 protected:
  Diagnostics load(const onnx::ModelProto& proto) {
    std::ofstream(path(), std::ios::binary) << proto.SerializeAsString();
    Diagnostics diagnostics;
    const Model model = load_onnx(path(), diagnostics);
    EXPECT_EQ(model.graph().node_size(), 1);
    return diagnostics;
  }
  [[nodiscard]] std::filesystem::path path() const { return directory_.path() / "m.onnx"; }

  TemporaryDirectory directory_{};
};

TEST_F(LoadOnnx, IsSilentAboutAGoodModel) {
  EXPECT_TRUE(load(proto_from_text(R"(<ir_version: 8, opset_import: ["" : 17]>
    g (float[2] x) => (float[2] y) { y = Relu (x) })"))
                  .empty());
}

TEST_F(LoadOnnx, WarnsOfOldOpsets) {
  const Diagnostics found = load(proto_from_text(R"(<ir_version: 6, opset_import: ["" : 12]>
    g (float[2] x) => (float[2] y) { y = Relu (x) })"));
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].rule, "onnx/old-opset");
  EXPECT_EQ(found[0].severity, Severity::warning);
  EXPECT_EQ(found[0].subject, path().string());
  EXPECT_TRUE(found[0].message.starts_with("opset 12 is older than 13")) << found[0].message;
}

TEST_F(LoadOnnx, WarnsOfTrainingGraphs) {
  onnx::ModelProto proto = proto_from_text(R"(<ir_version: 8, opset_import: ["" : 17]>
    g (float[2] x) => (float[2] y) { y = Relu (x) })");
  *proto.add_training_info()->mutable_algorithm() = proto.graph();
  const Diagnostics found = load(proto);
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].rule, "onnx/training-graph");
}

TEST_F(LoadOnnx, NamesAMissingFile) {
  Diagnostics diagnostics;
  try {
    (void)load_onnx(path(), diagnostics);
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::invalid_file);
    EXPECT_EQ(error.context().front(), path().string());
  }
}

}  // namespace
}  // namespace halfstep
