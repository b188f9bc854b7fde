#include "halfstep/adaptation/prepare/unique_node_names.h"

#include <gtest/gtest.h>

#include "tests/unit/support/onnx_text.h"

namespace halfstep {
namespace {

TEST(UniqueNodeNames, FirstBearerKeepsTheName) {
  onnx::ModelProto proto = proto_from_text(R"(<ir_version: 8, opset_import: ["" : 17]>
    g (float[2] x) => (float[2] y) {
      a = Relu (x)
      b = Relu (a)
      c = Relu (b)
      y = Relu (c)
    })");
  const char* names[] = {"n", "n", "n_1", ""};
  for (int i = 0; i < 4; ++i) {
    proto.mutable_graph()->mutable_node(i)->set_name(names[i]);
  }
  Model model = Model::from_proto(std::move(proto), "test");
  Diagnostics diagnostics;
  make_node_names_unique(model, diagnostics);
  EXPECT_EQ(model.graph().node(0).name(), "n");
  EXPECT_EQ(model.graph().node(1).name(), "n_2");
  EXPECT_EQ(model.graph().node(2).name(), "n_1");
  EXPECT_EQ(model.graph().node(3).name(), "");
  ASSERT_EQ(diagnostics.size(), 1U);
  EXPECT_EQ(diagnostics[0].rule, "prepare/unique-node-names");
}

}  // namespace
}  // namespace halfstep
