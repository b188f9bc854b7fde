#include "halfstep/frontends/encodings_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/frontends/encodings_files.h"
#include "tests/unit/support/onnx_text.h"

namespace halfstep {
namespace {

using testing::HasSubstr;

const std::filesystem::path kGolden =
    std::filesystem::path(HALFSTEP_TEST_DATA) / "golden/encodings";

constexpr const char* kModel = R"(
  <ir_version: 8, opset_import: ["" : 17]>
  g (float[1, 4] x) => (float[1, 3] z)
  <float[4, 3] w = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}>
  { [fc] y = MatMul(x, w) [relu] z = Relu(y) })";

EncodingsFile read(const std::string& text, Diagnostics& diagnostics, bool lenient = false) {
  const Model model = model_from_text(kModel);
  const GraphIndex graph(model);
  return read_encodings_text(text, "f.json", *tensor_names(graph), {.lenient = lenient},
                             diagnostics);
}

std::string failure(const std::string& text) {
  Diagnostics diagnostics;
  try {
    (void)read(text, diagnostics);
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::invalid_file);
    return error.what();
  }
  return "";
}

std::string v2(const std::string& entries) {
  return R"({"version": "2.0.0", "encodings": [)" + entries + "]}";
}

TEST(EncodingsFiles, VersionsOfOneRecipeMeanTheSame) {
  FilesReport report;
  FilesCheck check(report);
  check.model_folder(kGolden / "mixed_ops");
  check.model_folder(kGolden / "mlp_square");
  EXPECT_THAT(report.faults, testing::IsEmpty());
  EXPECT_EQ(report.files, 16);
  EXPECT_EQ(report.refused, 2) << "files of version 0.6.1 with blocks";
  EXPECT_GT(report.entries, 100);
  EXPECT_EQ(report.equal, 22);
  EXPECT_EQ(report.rejected, 21);
  EXPECT_EQ(report.accepted, 1);
}

TEST(ReadEncodings, TakesTheExamplesOfTheSpecification) {
  Diagnostics diagnostics;
  const EncodingsFile file = read(v2(R"(
    {"name": "x", "output_dtype": "uint8", "y_scale": 1.0, "y_zero_point": 128},
    {"name": "w", "output_dtype": "int4", "per_channel_float_scale": [0.01, 0.02, 0.03],
     "per_block_int_scale": [[1, 2, 16], [2, 16, 7]], "offset": 0, "block_size": [2, 1]})"),
                                  diagnostics);
  EXPECT_TRUE(diagnostics.empty());
  EXPECT_EQ(file.version, "2.0.0");
  const Encoding& w = *file.table.find("w");
  EXPECT_EQ(w.granularity, Granularity(Lpbq{.axis = 0, .block_size = 2, .channel_axis = 1}));
  EXPECT_EQ(w.block_scale, (std::vector<std::int32_t>{1, 2, 16, 2, 16, 7}));
  EXPECT_EQ(w.scale.size(), 3U);
  EXPECT_EQ(file.table.find("x")->zero_point[0], 128);
  EXPECT_EQ(file.table.find("x")->origin, Origin::override_file);
}

TEST(ReadEncodings, ChannelAxisComesFromTheGraphInOldVersions) {
  Diagnostics diagnostics;
  const EncodingsFile file = read(R"({"activation_encodings": {}, "param_encodings": {"w": [
      {"bitwidth": 8, "is_symmetric": "True", "scale": 0.1, "offset": -128},
      {"bitwidth": 8, "is_symmetric": "True", "scale": 0.2, "offset": -128},
      {"bitwidth": 8, "is_symmetric": "True", "scale": 0.3, "offset": -128}]}})",
                                  diagnostics);
  const Encoding& w = *file.table.find("w");
  EXPECT_EQ(w.granularity, Granularity(PerChannel{.axis = 1}));
  EXPECT_EQ(w.dtype, Dtype::int8);
  EXPECT_EQ(w.zero_point, (std::vector<std::int64_t>{0, 0, 0}));
}

TEST(ReadEncodings, AUseGoesByTensorAndNode) {
  Diagnostics diagnostics;
  const EncodingsFile file =
      read(v2(R"({"name": "y_relu", "output_dtype": "uint8", "y_scale": 1.0})"), diagnostics);
  EXPECT_TRUE(file.table.uses().contains({.node = "relu", .slot = 0}));
}

TEST(ReadEncodings, UnknownNamesAreErrorsOrWarnings) {
  const std::string text = v2(R"({"name": "Y", "output_dtype": "uint8", "y_scale": 1.0})");
  EXPECT_THAT(failure(text),
              HasSubstr("f.json: encodings[0] \"Y\": the model has no such tensor; did you mean"));
  Diagnostics diagnostics;
  EXPECT_TRUE(read(text, diagnostics, true).table.empty());
  ASSERT_EQ(diagnostics.size(), 1U);
  EXPECT_EQ(diagnostics[0].severity, Severity::warning);
  EXPECT_EQ(diagnostics[0].rule, "encodings/unknown-tensor");
}

TEST(ReadEncodings, TypesAloneAskForCalibration) {
  Diagnostics diagnostics;
  const EncodingsFile file =
      read(R"({"version": "0.5.0", "activation_encodings": {"x": [{"bitwidth": 16, "dtype": "int"}],
               "y": [{"bitwidth": 16, "dtype": "float"}]}})",
           diagnostics);
  EXPECT_EQ(file.precisions.at("x"), Dtype::uint16);
  EXPECT_EQ(file.table.find("y")->dtype, Dtype::float16);
  EXPECT_EQ(file.table.find("x"), nullptr);
}

TEST(ReadEncodings, SaysWhereAndWhy) {
  EXPECT_THAT(
      failure(v2(R"({"name": "x", "output_dtype": "uint9", "y_scale": 1.0})")),
      HasSubstr("f.json: encodings[0] \"x\": output_dtype \"uint9\" is unknown; did you mean"));
  EXPECT_THAT(failure(v2(R"({"name": "x", "output_dtype": "uint8", "y_scale": "a"})")),
              HasSubstr("y_scale must be a number or a list of numbers (got \"a\")"));
  EXPECT_THAT(
      failure(v2(R"({"name": "w", "output_dtype": "int8", "y_scale": [[1, 2], [3]], "axis": 0,
                             "block_size": 2})")),
      HasSubstr("y_scale: lists of different length"));
  EXPECT_THAT(failure(v2(R"({"name": "w", "output_dtype": "int8", "y_scale": [1, 2], "axis": 1})")),
              HasSubstr("has 2 scales for 3 channels along axis 1 of shape [4, 3]"));
  EXPECT_THAT(failure("{\n  \"version\": ,\n}"), HasSubstr("f.json"));
  EXPECT_THAT(failure(R"({"version": "3.0.0", "encodings": []})"),
              HasSubstr("version \"3.0.0\" is unknown"));
}

TEST(LintEncodings, CollectsEveryFault) {
  const auto names = any_tensor_names();
  const Diagnostics diagnostics =
      lint_encodings_text(v2(R"({"name": "a", "output_dtype": "uint8", "y_scale": 0},
            {"name": "b", "output_dtype": "uint8", "y_scale": 1.0},
            {"name": "b", "output_dtype": "uint8", "y_scale": 1.0},
            {"name": "c", "output_dtype": "float32"})"),
                          "f.json", *names);
  ASSERT_EQ(diagnostics.size(), 3U);
  EXPECT_EQ(diagnostics[0].subject, "a");
  EXPECT_EQ(diagnostics[1].message, "encodings[2]: is encoded twice, first in encodings[1]");
  EXPECT_EQ(diagnostics[2].rule, "encodings/float32");
  EXPECT_EQ(lint_encodings_text("[1]", "f.json", *names).at(0).severity, Severity::error);
}

}  // namespace
}  // namespace halfstep
