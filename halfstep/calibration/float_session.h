#pragma once

#include <memory>

#include "halfstep/engines/engine.h"
#include "halfstep/support/diagnostic.h"

namespace halfstep {

struct FloatSession {
  std::unique_ptr<Session> session{};
  bool widened = false;  ///< the engine runs the model in float32 in the place of its own types
};

/// Opens the float model. One that computes in float16, bfloat16 or float64, for which the engine
/// lacks kernels, is run in float32 instead (a warning says so); samples keep the types of the
/// model's inputs. Errors: those of Engine::open.
[[nodiscard]] FloatSession open_float_session(const Model& model, Engine& engine,
                                              const SessionOptions& options,
                                              Diagnostics& diagnostics);

}  // namespace halfstep
