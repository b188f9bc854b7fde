#include "halfstep/engines/ort/messages.h"

#include <gtest/gtest.h>

namespace halfstep::ort {
namespace {

TEST(OrtMessages, LoseTemporaryPathsAndSourceCode) {
  EXPECT_EQ(clean_message("Load model from /tmp/a b/model.onnx failed:/onnxruntime_src/onnxruntime/"
                          "core/graph/model_load_utils.h:46 void onnxruntime::Validate(const "
                          "std::map<int, int>&, void (*)(int), bool) Opset 29 is too new.\n"),
            "Opset 29 is too new.");
  EXPECT_EQ(clean_message("Load model from /tmp/m.onnx failed:Fatal error: a:B(-1) is not a "
                          "registered function/op"),
            "Fatal error: a:B(-1) is not a registered function/op");
  EXPECT_EQ(
      clean_message("running Reshape node. Name:'n' Status Message: /onnxruntime_src/a.h:91 "
                    "onnxruntime::Helper::Helper(const S&, bool) const [with T = float; U = int] "
                    "size was false. Input shape:{2}"),
      "running Reshape node. Name:'n' Status Message: size was false. Input shape:{2}");
  EXPECT_EQ(clean_message("/onnxruntime of no place"), "/onnxruntime of no place");
  EXPECT_EQ(clean_message("/onnxruntime/a.cc:12 cut off (here"), "cut off (here");
  EXPECT_EQ(clean_message(""), "");
}

TEST(OrtMessages, Advice) {
  EXPECT_NE(advice_for("a:B(-1) is not a registered function/op").find("--onnxruntime"),
            std::string::npos);
  EXPECT_NE(advice_for("indices element out of data bounds, idx=7").find("sample"),
            std::string::npos);
  EXPECT_EQ(advice_for("something else"), "");
}

}  // namespace
}  // namespace halfstep::ort
