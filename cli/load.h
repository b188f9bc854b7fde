#pragma once

#include <string>

#include "cli/arguments.h"
#include "cli/console.h"
#include "halfstep/frontends/load.h"
#include "halfstep/model/model.h"
#include "halfstep/support/diagnostic.h"
#include "halfstep/support/progress.h"

namespace halfstep::cli {

[[nodiscard]] LoadOptions load_options(const ModelForm& form, const Environment& environment,
                                       Progress* progress);

/// load_model for commands without progress. While a framework converts the model, Ctrl-C stops it
/// and removes what it wrote.
[[nodiscard]] Model load_for(const std::string& path, const ModelForm& form,
                             const Environment& environment, Diagnostics& diagnostics);

}  // namespace halfstep::cli
