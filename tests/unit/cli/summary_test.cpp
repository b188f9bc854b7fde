#include "cli/summary.h"

#include <limits>
#include <string>

#include <gtest/gtest.h>

namespace halfstep::cli {
namespace {

QuantizeSummary small_summary() {
  return {
      .model = "net.onnx",
      .recipe = "a8w8",
      .target = "cpu",
      .engine = "ONNX Runtime 1.32.0",
      .size_before = 13'400'000,
      .size_after = 3'600'000,
      .weights_before = 13'300'000,
      .weights_after = 3'400'000,
      .samples = 64,
      .types =
          {{.op_type = "Conv",
            .activation = "uint8",
            .weight = "int8 per channel",
            .bias = "int32",
            .nodes = 52},
           {.op_type = "Softmax", .activation = "float32", .weight = "-", .bias = "-", .nodes = 1}},
      .stayed_float = {{.reason = "excluded by --exclude 'head/*'",
                        .count = 3,
                        .examples = {"head/a", "head/b", "head/c"}}},
      .outputs = {{.output = "logits", .sqnr_db = 32.14}},
      .worst = {{.tensor = "conv1.out", .op_type = "Conv", .sqnr_db = 18.2, .hint = "outliers"}},
      .quantized_activations = 105,
      .quantized_weights = 53,
      .quantized_biases = 1,
      .seconds = {{"calibrate", 2.9}, {"load", 0.1}, {"write", 0.004}},
      .peak_memory = 130'000'000};
}

TEST(Summary, AllLines) {
  const Diagnostics diagnostics = {{.severity = Severity::warning, .rule = "a/b"},
                                   {.severity = Severity::warning, .rule = "a/b"},
                                   {.severity = Severity::warning, .rule = "c/d"},
                                   {.severity = Severity::note, .rule = "recipe/block-fallback"}};
  EXPECT_EQ(summary_text(small_summary(), diagnostics, {.written = {"q.onnx", "e.json"}}),
            "model      net.onnx\n"
            "run        recipe a8w8, target cpu, 64 samples, ONNX Runtime 1.32.0\n"
            "size       13.4 MB -> 3.6 MB (3.72x smaller)\n"
            "weights    13.3 MB -> 3.4 MB (3.91x smaller)\n"
            "quantized  105 activations, 53 weights, 1 bias\n"
            "\n"
            "op type  nodes  activation  weight            bias\n"
            "Conv        52  uint8       int8 per channel  int32\n"
            "Softmax      1  float32     -                 -\n"
            "\n"
            "stayed float because            count  such as\n"
            "excluded by --exclude 'head/*'      3  head/a, head/b, head/c\n"
            "\n"
            "output     SQNR\n"
            "logits  32.1 dB\n"
            "\n"
            "worst tensors  op       SQNR  likely cause\n"
            "conv1.out      Conv  18.2 dB  outliers\n"
            "\n"
            "warnings  3: a/b 2, c/d 1\n"
            "notes     1: recipe/block-fallback 1 (-v shows them)\n"
            "time      3.00 s (calibrate 2.90 s, load 100 ms), peak memory 130.0 MB\n"
            "written   q.onnx\n"
            "          e.json\n");
}

TEST(Summary, DryRunSaysSo) {
  QuantizeSummary summary = small_summary();
  summary.outputs.clear();
  summary.worst.clear();
  summary.samples = 0;
  const std::string text = summary_text(summary, {}, {.dry_run = true});
  EXPECT_NE(text.find("written   nothing (dry run)"), std::string::npos) << text;
  EXPECT_NE(text.find("warnings  none\n"), std::string::npos) << text;
  EXPECT_NE(text.find("no samples"), std::string::npos) << text;
  EXPECT_EQ(text.find("SQNR"), std::string::npos) << text;
}

TEST(Summary, LongTablesAreCutUnlessVerbose) {
  QuantizeSummary summary = small_summary();
  for (int i = 0; i < 40; ++i) {
    summary.types.push_back({.op_type = "Op" + std::to_string(i)});
    summary.outputs.push_back(
        {.output = "out" + std::to_string(i), .sqnr_db = std::numeric_limits<double>::infinity()});
    summary.stayed_float.push_back({.reason = "why" + std::to_string(i), .count = 1});
  }
  const std::string text = summary_text(summary, {}, {});
  EXPECT_NE(text.find("+ 30 more (-v shows all)"), std::string::npos)
      << text;                                                   // 42 types, 12 shown
  EXPECT_NE(text.find("+ 37 more"), std::string::npos) << text;  // 41 outputs, 4 shown
  EXPECT_NE(text.find("+ 36 more"), std::string::npos) << text;  // 41 reasons, 5 shown
  const std::string all = summary_text(summary, {}, {.verbose = true});
  EXPECT_EQ(all.find("more (-v"), std::string::npos) << all;
  EXPECT_NE(all.find("Op39"), std::string::npos);
  EXPECT_NE(all.find("exact"), std::string::npos);
}

TEST(Summary, ManyExamplesAreCut) {
  QuantizeSummary summary = small_summary();
  summary.stayed_float[0].examples = {std::string(40, 'a'), std::string(40, 'b')};
  EXPECT_EQ(summary_text(summary, {}, {}).find("bbbb"), std::string::npos);
  EXPECT_NE(summary_text(summary, {}, {.verbose = true}).find("bbbb"), std::string::npos);
}

}  // namespace
}  // namespace halfstep::cli
