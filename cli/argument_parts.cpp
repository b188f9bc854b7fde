#include "cli/argument_parts.h"

namespace halfstep::cli {

void add_common(CLI::App& app, OutputOptions& common) {
  app.set_help_flag("-h,--help", "show this text")->group(kHelpGroup);
  app.add_flag("--json", common.json, "one JSON document on standard output instead of text")
      ->group(kHelpGroup);
  app.add_flag("--debug", common.debug,
               "on an error print where in the program it arose (addresses for addr2line)")
      ->group(kHelpGroup);
}

CLI::Option* add_verbose(CLI::App& app, OutputOptions& common, const char* text) {
  return app.add_flag("-v,--verbose", common.verbose, text)->group(kHelpGroup);
}

void add_talk(CLI::App& app, OutputOptions& common) {
  auto* quiet = app.add_flag("-q,--quiet", common.quiet,
                             "no progress and no warnings; twice: no summary either")
                    ->group(kHelpGroup);
  add_verbose(app, common, "every warning, note and row instead of the first ones")
      ->excludes(quiet);
  app.add_flag("!--no-progress", common.progress, "no progress on standard error")
      ->group(kHelpGroup);
}

void add_model_form(CLI::App& app, ModelForm& form) {
  const std::string group = "Of TensorFlow models";
  app.add_option("--signature", form.signature,
                 "which signature of a SavedModel; serving_default if not given")
      ->type_name("NAME")
      ->group(group);
  app.add_option("--inputs", form.inputs,
                 "inputs of a frozen graph, such as 'x:0'; its placeholders if not given; "
                 "repeatable, or names between commas")
      ->delimiter(',')
      ->type_name("NAMES")
      ->allow_extra_args(false)
      ->group(group);
  app.add_option("--outputs", form.outputs,
                 "outputs of a frozen graph; what nothing reads if not given; repeatable")
      ->delimiter(',')
      ->type_name("NAMES")
      ->allow_extra_args(false)
      ->group(group);
}

void add_skip(CLI::App& app, QuantizeArguments& a, const std::string& group) {
  app.add_option("--skip", a.skip,
                 "leave out a step that prepares or adapts the model, such as fold-batch-norm or "
                 "super-groups; repeatable")
      ->type_name("STEP")
      ->allow_extra_args(false)
      ->group(group);
}

void add_adaptation(CLI::App& app, QuantizeArguments& a, const std::string& group) {
  app.add_flag("--fallback", a.fallback,
               "ops whose symmetry or granularity no kernel of the target takes move to the "
               "nearest precision that does, instead of being errors")
      ->group(group);
  add_skip(app, a, group);
}

void add_wishes(CLI::App& app, QuantizeArguments& a, const std::string& group) {
  app.add_option("--recipe", a.recipe,
                 "a shipped recipe ('halfstep recipes' lists them) or a file; a8w8 if not given, "
                 "none for --encodings without --calibration")
      ->type_name("NAME|FILE")
      ->group(group);
  app.add_option("--set", a.set,
                 "one rule more, such as 'op:Softmax act=uint16' or 'tensor:head/* weight=float'; "
                 "repeatable, later rules win")
      ->type_name("RULE")
      ->allow_extra_args(false)
      ->group(group);
  app.add_option("--exclude", a.exclude,
                 "keep in float what matches: node name, tensor name or op type; repeatable")
      ->type_name("GLOB")
      ->allow_extra_args(false)
      ->group(group);
  app.add_option("--target", a.target,
                 "a shipped target ('halfstep targets' lists them) or a file; cpu if not given")
      ->type_name("NAME|FILE")
      ->group(group);
}

void add_run(CLI::App& app, QuantizeArguments& a, const std::string& group) {
  app.add_option("--threads", a.threads, "threads; the result does not depend on it")
      ->type_name("N")
      ->check(CLI::Range(1, 1024).description(""))
      ->group(group);
  app.add_option("--onnxruntime", a.onnxruntime,
                 "the library libonnxruntime.so; else HALFSTEP_ORT, the onnxruntime package of "
                 "this environment, the system's")
      ->type_name("FILE")
      ->group(group);
}

void add_own_libraries(CLI::App& app, QuantizeArguments& a, const std::string& group) {
  app.add_flag("--validate", a.validate,
               "ask the target's own validator about every operator of the result")
      ->group(group);
  app.add_option("--qnn-libs", a.qnn_libs,
                 "the folder of Qualcomm's libraries; else QAIRT_SDK_ROOT, the package "
                 "onnxruntime-qnn of this environment")
      ->type_name("DIR")
      ->group(group);
  add_input_extents(app, a, group);
}

void add_input_extents(CLI::App& app, QuantizeArguments& a, const std::string& group) {
  app.add_option("-d,--input_dim,--source_model_input_shape", a.input_dims,
                 "extents of an input that the model leaves free, such as 'x 1,3,224,224', for the "
                 "graph of the target; a free batch is 1 if not given; of a TFLite model, any "
                 "extents in place of those in the file; repeatable")
      ->type_name("NAME DIMS")
      ->group(group);
}

std::vector<const CLI::App*> all_commands(const CLI::App& root) {
  return root.get_subcommands([](const CLI::App*) { return true; });
}

std::string full_name(const CLI::App& app) {
  const CLI::App* parent = app.get_parent();
  const bool nested = parent != nullptr && parent->get_parent() != nullptr;
  return (nested ? parent->get_name() + " " : "") + app.get_name();
}

}  // namespace halfstep::cli
