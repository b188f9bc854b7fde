#include "cli/load.h"

#include <optional>

#include "cli/signals.h"

namespace halfstep::cli {

LoadOptions load_options(const ModelForm& form, const Environment& environment,
                         Progress* progress) {
  return {.signature = form.signature,
          .inputs = form.inputs,
          .outputs = form.outputs,
          .python = environment.python,
          .progress = progress};
}

Model load_for(const std::string& path, const ModelForm& form, const Environment& environment,
               Diagnostics& diagnostics) {
  SilentProgress progress;
  std::optional<SignalGuard> signals;
  if (needs_python(path)) {
    signals.emplace(progress);
  }
  return load_model(path, load_options(form, environment, &progress), diagnostics);
}

}  // namespace halfstep::cli
