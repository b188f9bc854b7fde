#include "bindings.h"

NB_MODULE(_core, module) {
  using namespace halfstep::python;
  module.doc() = "The native part of halfstep. Use it through the package `halfstep`.";
  bind_support(module);
  bind_core(module);
  bind_model(module);
  bind_encodings(module);
  bind_encodings_files(module);
  bind_frontends(module);
  bind_engines(module);
  bind_outputs(module);
  bind_calibration(module);
  bind_pipeline(module);
  bind_verify(module);
}
