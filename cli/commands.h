#pragma once

#include <string>
#include <vector>

#include "cli/arguments.h"
#include "cli/console.h"

namespace halfstep::cli {

/// Runs what the command line asks for and returns the exit code. Results are in `console.out`.
[[nodiscard]] int run(const std::vector<std::string>& arguments, Console& console,
                      const Environment& environment);

// One function per subcommand: text or, with --json, a document to console.out; the exit code back.
// Errors: halfstep::Error.
[[nodiscard]] int run_quantize(const QuantizeArguments& arguments, Console& console,
                               const Environment& environment);
[[nodiscard]] int run_inspect(const InspectArguments& arguments, Console& console,
                              const Environment& environment);
[[nodiscard]] int run_explain(const ExplainArguments& arguments, Console& console,
                              const Environment& environment);
[[nodiscard]] int run_verify(const VerifyArguments& arguments, Console& console,
                             const Environment& environment);
[[nodiscard]] int run_rule(const RuleArguments& arguments, Console& console);
[[nodiscard]] int run_targets(const TargetsArguments& arguments, Console& console);
[[nodiscard]] int run_stats(const StatsArguments& arguments, Console& console);
[[nodiscard]] int run_encodings(const EncodingsArguments& arguments, Console& console,
                                const Environment& environment);
[[nodiscard]] int run_recipes(const RecipesArguments& arguments, Console& console);

}  // namespace halfstep::cli
