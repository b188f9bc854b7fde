// The options of `halfstep convert`.
#include <filesystem>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <CLI/CLI.hpp>

#include "cli/argument_parts.h"
#include "cli/command_error.h"
#include "halfstep/target_output.h"
#include "halfstep/targets/backend.h"
#include "halfstep/targets/target.h"

namespace halfstep::cli {
namespace {

namespace fs = std::filesystem;

/// Without -o the result stands beside the model: as a DLC where the target is an HTP and there are
/// the libraries that write one.
void choose_output(QuantizeArguments& a) {
  const fs::path model(a.model);
  const std::string stem = (model.parent_path() / model.stem()).string();
  std::string why;
  if (Target::load(a.target).arch() > 0) {
    if (can_write_dlc(a.qnn_libs)) {
      a.dlc = stem + ".dlc";
    } else {
      why = " (a DLC needs Qualcomm's libraries: pip install onnxruntime-qnn==2.7.0)";
    }
  }
  if (a.dlc.empty()) {
    a.output = stem + "_" + fs::path(a.target).stem().string() + ".onnx";  // of a file its name
  }
  a.target_remark += (a.target_remark.empty() ? "" : "; ") + std::string("-o not given: ") +
                     (a.dlc.empty() ? a.output : a.dlc) + why;
}

void require_one_dlc(const QuantizeArguments& a) {
  if (!a.dlc.empty()) {
    throw UsageError("-o " + a.output + " and --dlc " + a.dlc + " both name a DLC",
                     "give one of them");
  }
}

void finish(QuantizeArguments& a, const TargetChoice& choice) {
  if (a.model.empty()) {
    throw UsageError("no model given", "usage: halfstep convert -i MODEL -o OUT.onnx");
  }
  const ChosenTarget chosen = choose_target(choice);
  a.target = chosen.name;
  a.target_remark = chosen.remark;
  if (fs::path(a.output).extension() == ".dlc") {
    require_one_dlc(a);
    a.dlc = std::exchange(a.output, {});
  }
  if (a.output.empty() && a.dlc.empty() && !a.dry_run) {
    choose_output(a);
  }
}

}  // namespace

void add_convert_command(CLI::App& root, QuantizeArguments& a, std::vector<Subcommand>& commands) {
  a.command = "convert";
  a.convert = true;
  a.check = false;
  const auto choice = std::make_shared<TargetChoice>();
  CLI::App* app = root.add_subcommand(
      "convert", "Make a model with encodings run on a target: adapt it, write it");
  app->add_option("-i,--input_network,--input-network", a.model,
                  "a model of ONNX, TFLite, TensorFlow or PyTorch, float or with encodings")
      ->type_name("FILE")
      ->group("Input");
  app->add_option("--quantization_overrides,--quantization-overrides,--encodings", a.encodings,
                  "an encodings file of any version; it wins over the model")
      ->type_name("FILE")
      ->group("Input");
  CLI::Option* strict = app->add_flag("--strict", a.strict, "warnings are errors")->group("Input");
  app->add_flag("--lenient", a.lenient, "entries for tensors that the model lacks are warnings")
      ->excludes(strict)
      ->group("Input");
  app->add_option("--target_backend,--target-backend", choice->backend,
                  "HTP, LPAI or CPU; none if not given: encodings are applied as they are")
      ->type_name("NAME")
      ->group("Target");
  app->add_option("--htp_arch,--htp-arch", choice->arch, "v68 to v81; v75 if not given")
      ->type_name("VERSION")
      ->group("Target");
  app->add_option("--target", choice->target, "a shipped target or a target file")
      ->type_name("NAME")
      ->group("Target");
  add_adaptation(*app, a, "Target");
  add_own_libraries(*app, a, "Target");
  app->add_option("-o,--output_path,--output-path,--output", a.output,
                  "the adapted model: ONNX with Q/DQ, or, of a name that ends in .dlc, a DLC")
      ->check([](const std::string& path) {
        return path.empty() ? std::string("an empty name; leave -o out to have one chosen") : "";
      })
      ->type_name("FILE")
      ->group("Result");
  app->add_option("--dlc", a.dlc, "the same as a DLC, beside an ONNX file")
      ->type_name("FILE")
      ->group("Result");
  app->add_option("--encodings-out", a.encodings_out, "also write its encodings (2.0.0)")
      ->type_name("FILE")
      ->group("Result");
  app->add_flag("--force", a.force, "overwrite existing files")->group("Result");
  app->add_flag("--dry-run", a.dry_run, "decide everything, write nothing")->group("Result");
  add_model_form(*app, a.form);
  add_common(*app, a.common);
  add_talk(*app, a.common);
  commands.push_back({.app = app, .common = &a.common, .result = [&a, choice] {
                        finish(a, *choice);
                        return Command(a);
                      }});
}

}  // namespace halfstep::cli
