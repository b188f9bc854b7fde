#include "cli/arguments.h"

#include <string>
#include <variant>
#include <vector>

#include <gtest/gtest.h>

#include "cli/command_error.h"
#include "halfstep/version.h"

namespace halfstep::cli {
namespace {

std::string text_of(const std::vector<std::string>& arguments) {
  return std::get<PrintText>(parse_arguments(arguments)).text;
}

/// "message | help" of the usage error.
std::string refusal(const std::vector<std::string>& arguments) {
  try {
    (void)parse_arguments(arguments);
  } catch (const UsageError& error) {
    EXPECT_EQ(error.kind(), ErrorKind::invalid_argument);
    return std::string(error.what()) + " | " + error.help();
  }
  return "accepted";
}

TEST(Arguments, QuantizeTakesAllOptions) {
  const auto a = std::get<QuantizeArguments>(parse_arguments({"quantize",
                                                              "m.onnx",
                                                              "--calibration",
                                                              "data",
                                                              "-o",
                                                              "q.onnx",
                                                              "--encodings-out",
                                                              "e.json",
                                                              "--recipe",
                                                              "a16w8",
                                                              "--set",
                                                              "op:A act=int8",
                                                              "--set",
                                                              "op:B act=float",
                                                              "--exclude",
                                                              "head/*",
                                                              "--exclude",
                                                              "Softmax",
                                                              "--target",
                                                              "t.json",
                                                              "--input-spec",
                                                              "size=2x2",
                                                              "--threads",
                                                              "3",
                                                              "--no-check",
                                                              "--strict",
                                                              "--force",
                                                              "--json",
                                                              "--debug",
                                                              "-q",
                                                              "-q",
                                                              "--no-progress",
                                                              "--onnxruntime",
                                                              "libort.so",
                                                              "--dry-run"}));
  EXPECT_EQ(a.model, "m.onnx");
  EXPECT_EQ(a.calibration, "data");
  EXPECT_EQ(a.output, "q.onnx");
  EXPECT_EQ(a.encodings_out, "e.json");
  EXPECT_EQ(a.recipe, "a16w8");
  EXPECT_EQ(a.set, (std::vector<std::string>{"op:A act=int8", "op:B act=float"}));
  EXPECT_EQ(a.exclude, (std::vector<std::string>{"head/*", "Softmax"}));
  EXPECT_EQ(a.target, "t.json");
  EXPECT_EQ(a.input_spec, "size=2x2");
  EXPECT_EQ(a.threads, 3);
  EXPECT_FALSE(a.check);
  EXPECT_TRUE(a.strict && a.force && a.dry_run);
  EXPECT_TRUE(a.common.json && a.common.debug);
  EXPECT_FALSE(a.common.progress);
  EXPECT_EQ(a.common.quiet, 2);
  EXPECT_EQ(a.onnxruntime, "libort.so");
}

TEST(Arguments, QuantizeDefaults) {
  const auto a = std::get<QuantizeArguments>(parse_arguments({"quantize", "--", "-m"}));
  EXPECT_EQ(a.model, "-m");
  EXPECT_EQ(a.recipe, "") << "a8w8, or nothing beside encodings";
  EXPECT_EQ(a.target, "cpu");
  EXPECT_EQ(a.threads, 0);
  EXPECT_EQ(a.check_samples, 4);
  EXPECT_TRUE(a.check);
  EXPECT_TRUE(a.common.progress);
  EXPECT_FALSE(a.common.verbose || a.common.json || a.common.debug || a.cast_inputs);
}

TEST(Arguments, OtherCommands) {
  EXPECT_EQ(std::get<InspectArguments>(parse_arguments({"inspect", "m", "-v"})).model, "m");
  EXPECT_EQ(std::get<RuleArguments>(parse_arguments({"rule", "a/b"})).id, "a/b");
  EXPECT_EQ(std::get<RuleArguments>(parse_arguments({"rule"})).id, "");
  EXPECT_EQ(std::get<TargetsArguments>(parse_arguments({"targets", "cpu"})).name, "cpu");
  EXPECT_TRUE(std::get<RecipesArguments>(parse_arguments({"recipes", "--json"})).common.json);
  EXPECT_EQ(text_of({"--version"}), "halfstep " + std::string(kVersion) + "\n");
}

TEST(Arguments, HelpNamesEveryOption) {
  const std::string text = text_of({"quantize", "--help"});
  for (const char* name : {"MODEL",          "--calibration DATA", "--input-spec SPEC",
                           "--cast-inputs",  "-o, --output FILE",  "--encodings-out FILE",
                           "--force",        "--dry-run",          "--recipe NAME|FILE",
                           "--set RULE",     "--exclude GLOB",     "--target NAME|FILE",
                           "--threads N ",   "--no-check ",        "--check-samples N ",
                           "--strict",       "--onnxruntime FILE", "--json",
                           "-q, --quiet",    "-v, --verbose",      "--debug",
                           "--no-progress ", "-h, --help",         "exit codes:"}) {
    EXPECT_NE(text.find(name), std::string::npos) << name << "\n" << text;
  }
  EXPECT_EQ(text.find("--no-check{"), std::string::npos);
  const std::string root = text_of({"-h"});
  for (const char* name : {"quantize", "inspect", "rule", "targets", "recipes", "--version"}) {
    EXPECT_NE(root.find(name), std::string::npos) << name;
  }
}

TEST(Arguments, RefusesWithTheClosestName) {
  EXPECT_EQ(refusal({"quantize", "--calibraton", "d", "m"}),
            "unknown option '--calibraton' | a similar one exists: '--calibration'");
  EXPECT_EQ(refusal({"quantise", "m"}),
            "unknown command 'quantise' | a similar one exists: 'quantize'");
  EXPECT_EQ(refusal({"--jsn"}), "unknown option '--jsn' | 'halfstep --help' lists the commands");
  EXPECT_EQ(refusal({"quantize", "m", "n"}),
            "unexpected argument 'n' | 'halfstep quantize --help' lists what it takes");
  EXPECT_EQ(refusal({"--json", "quantize", "m"}),
            "unknown option '--json' before the command | options come after the command: halfstep "
            "COMMAND --json");
}

TEST(Arguments, RefusesWhatIsMissingOrWrong) {
  EXPECT_EQ(refusal({}), "no command given | 'halfstep --help' lists the commands");
  EXPECT_EQ(refusal({"quantize"}), "no model given | usage: halfstep quantize MODEL ...");
  EXPECT_EQ(refusal({"inspect"}), "no model given | usage: halfstep inspect MODEL ...");
  for (const char* threads : {"0", "-1", "x", "1.5", "100000", ""}) {
    EXPECT_NE(refusal({"quantize", "m", "--threads", threads}), "accepted") << threads;
  }
  EXPECT_NE(refusal({"quantize", "m", "--recipe"}), "accepted");
  EXPECT_NE(refusal({"quantize", "m", "-o", "a", "-o", "b"}), "accepted");
  EXPECT_NE(refusal({"quantize", "m", "-q", "-v"}), "accepted");
  EXPECT_NE(refusal({"quantize", "m", "--no-check", "--check-samples", "3"}), "accepted");
}

TEST(Arguments, EncodingsActions) {
  const auto merge = std::get<EncodingsArguments>(
      parse_arguments({"encodings", "merge", "a", "b", "c", "--to", "1.0.0", "--json"}));
  EXPECT_EQ(merge.action, "merge");
  EXPECT_EQ(merge.files, (std::vector<std::string>{"a", "b", "c"}));
  EXPECT_EQ(merge.to, "1.0.0");
  EXPECT_TRUE(merge.common.json);
  const auto apply = std::get<QuantizeArguments>(
      parse_arguments({"encodings", "apply", "m.onnx", "e.json", "-o", "q.onnx"}));
  EXPECT_EQ(apply.command, "encodings apply");
  EXPECT_EQ(apply.encodings, "e.json");
  EXPECT_FALSE(apply.check);
  EXPECT_NE(refusal({"encodings", "diff", "a"}), "accepted");
  EXPECT_NE(refusal({"encodings", "show", "a", "b"}), "accepted");
  EXPECT_NE(refusal({"encodings", "lint", "a", "--fail-on", "sometimes"}), "accepted");
}

TEST(Arguments, LaterOptionsAreRefusedByName) {
  EXPECT_EQ(refusal({"quantize", "m", "--report=x"}).find("the option '--report' is not available"),
            0U);
  EXPECT_EQ(refusal({"compare", "m"}).find("the command 'compare' is not available yet"), 0U);
}

TEST(Arguments, Statistics) {
  const auto calibrate = std::get<QuantizeArguments>(
      parse_arguments({"calibrate", "m.onnx", "--calibration", "d", "-o", "s", "--method",
                       "percentile", "--percentile", "99.5", "--resume", "r"}));
  EXPECT_EQ(calibrate.command, "calibrate");
  EXPECT_EQ(calibrate.stats_out, "s");
  EXPECT_EQ(calibrate.output, "");
  EXPECT_EQ(calibrate.method, "percentile");
  EXPECT_EQ(calibrate.percentile, 99.5);
  EXPECT_EQ(calibrate.resume, "r");
  const auto merge =
      std::get<StatsArguments>(parse_arguments({"stats", "merge", "a", "b", "-o", "c"}));
  EXPECT_EQ(merge.action, "merge");
  EXPECT_EQ(merge.files.size(), 2U);
  EXPECT_NE(refusal({"stats", "show", "a", "b"}), "accepted");
  EXPECT_NE(refusal({"stats", "merge", "a"}), "accepted");
  const auto quantize = std::get<QuantizeArguments>(
      parse_arguments({"quantize", "m.onnx", "--stats", "s", "-o", "q.onnx"}));
  EXPECT_EQ(quantize.stats, "s");
}

}  // namespace
}  // namespace halfstep::cli
