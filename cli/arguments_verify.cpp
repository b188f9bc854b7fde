// The options of `halfstep verify`.
#include <filesystem>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include "cli/argument_parts.h"
#include "cli/command_error.h"

namespace halfstep::cli {
namespace {

constexpr const char* kUsage = "usage: halfstep verify MODEL --on htp --data SAMPLES";

void require_complete(const VerifyArguments& a) {
  if (a.model.empty()) {
    throw UsageError("no model given", kUsage);
  }
  if (a.data.empty()) {
    throw UsageError("no samples given", "add --data SAMPLES, as --calibration of quantize");
  }
  if (a.on.empty() && a.dumps.empty()) {
    throw UsageError("--on is not given: where the model runs",
                     "add --on htp for the emulator, or --dumps FOLDER");
  }
  const bool dlc = std::filesystem::path(a.model).extension() == ".dlc";
  if (dlc && a.simulation.empty()) {
    throw UsageError("a DLC can't be simulated by itself",
                     "add --simulation FILE, the Q/DQ model of the same conversion");
  }
  if (!dlc && !a.simulation.empty()) {
    throw UsageError("--simulation is for a DLC; " + a.model + " is its own simulation",
                     "leave it out");
  }
}

void add_runs(CLI::App& app, VerifyArguments& a) {
  const std::string group = "What runs";
  app.add_option("--on", a.on, "htp: the emulator of Qualcomm's libraries")
      ->type_name("NAME")
      ->group(group);
  app.add_option("--arch,--htp_arch,--htp-arch", a.arch,
                 "v68 to v81; if not given that of the DLC, else v75")
      ->type_name("VERSION")
      ->group(group);
  app.add_option("--dumps", a.dumps,
                 "tensors that a device wrote (Result_0/NAME.raw or .npy, ...), in place of the "
                 "emulator")
      ->type_name("FOLDER")
      ->group(group);
  app.add_option("--threads", a.threads,
                 "threads of the simulation; the result does not depend on it")
      ->type_name("N")
      ->check(CLI::Range(1, 1024).description(""))
      ->group(group);
  app.add_option("--qnn-libs", a.qnn_libs,
                 "folder of Qualcomm's libraries or root of an SDK; else QAIRT_SDK_ROOT, the "
                 "package onnxruntime-qnn")
      ->type_name("FOLDER")
      ->group(group);
  app.add_option("--onnxruntime", a.onnxruntime, "the library libonnxruntime.so")
      ->type_name("FILE")
      ->group(group);
}

}  // namespace

void add_verify_command(CLI::App& root, VerifyArguments& a, std::vector<Subcommand>& commands) {
  CLI::App* app = root.add_subcommand(
      "verify", "Run a model on its target's emulator; compare with simulation and float model");
  app->add_option("MODEL", a.model,
                  "a model with encodings, such as Q/DQ that halfstep wrote, or a DLC (.dlc)")
      ->group("Input");
  app->add_option("--data", a.data, "samples, as --calibration of quantize takes them")
      ->type_name("DATA")
      ->group("Input");
  app->add_flag("--cast-inputs", a.cast_inputs,
                "convert samples of another type to the type of the model's input")
      ->group("Input");
  app->add_option("--samples", a.samples, "only the first N samples")
      ->type_name("N")
      ->check(CLI::Range(1, 1000000).description(""))
      ->group("Input");
  app->add_option("--simulation", a.simulation, "of a DLC: the Q/DQ model of the same conversion")
      ->type_name("FILE")
      ->group("Input");
  app->add_option("--arithmetic", a.arithmetic,
                  "of the simulation: the target's integers where they are known, or plain Q/DQ")
      ->type_name("target|qdq")
      ->check(CLI::IsMember({"target", "qdq"}).description(""))
      ->default_str("target")
      ->group("Input");
  app->add_option("--float", a.float_model, "the float model, to compare with as well")
      ->type_name("FILE")
      ->group("Input");
  add_runs(*app, a);
  app->add_option("--tensors", a.tensors,
                  "outputs (if not given), all that operators write, or a pattern on names")
      ->type_name("GLOB")
      ->group("Result");
  app->add_option("--fail-on", a.fail_on,
                  "exit 1 if a tensor's SQNR to the simulation is below 30dB, or 2steps apart (any "
                  "numbers)")
      ->type_name("BOUND")
      ->group("Result");
  add_model_form(*app, a.form);
  add_common(*app, a.common);
  add_talk(*app, a.common);
  commands.push_back({.app = app, .common = &a.common, .result = [&a] {
                        require_complete(a);
                        return Command(a);
                      }});
}

}  // namespace halfstep::cli
