// libFuzzer target: whatever the model reader takes, the way to a plan leads to a plan or an Error.
#include <cstddef>
#include <cstdint>
#include <span>

#include "halfstep/adaptation/prepare/fold_batch_norm.h"
#include "halfstep/adaptation/prepare/fold_constants.h"
#include "halfstep/adaptation/prepare/hoist_weights.h"
#include "halfstep/adaptation/prepare/inline_functions.h"
#include "halfstep/adaptation/prepare/unique_node_names.h"
#include "halfstep/inspect.h"
#include "halfstep/plan.h"
#include "halfstep/support/error.h"

// NOLINTNEXTLINE(readability-identifier-naming): libFuzzer's name
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace halfstep;
  static const Target target = Target::load("cpu");
  static const Recipe recipe = load_recipe("a8w8");
  try {
    Model model = Model::from_bytes(std::as_bytes(std::span(data, size)), "fuzz");
    Diagnostics diagnostics;
    (void)inspect(model);
    inline_functions(model, diagnostics);
    fold_constants(model, diagnostics);
    hoist_weights(model, diagnostics);
    fold_batch_norm(model, diagnostics);
    make_node_names_unique(model, diagnostics);
    const GraphIndex index(model);
    (void)make_plan(model, index, recipe, target, diagnostics);
  } catch (const Error& error) {
    if (error.kind() == ErrorKind::internal) {
      __builtin_trap();
    }
  }
  return 0;
}
