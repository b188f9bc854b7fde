#pragma once

#include "cli/arguments.h"
#include "cli/console.h"

namespace halfstep::cli {

/// `halfstep inspect FILE.dlc`. Errors: halfstep::Error.
[[nodiscard]] int run_inspect_dlc(const InspectArguments& arguments, Console& console);

}  // namespace halfstep::cli
