#include "core.h"

#include "bindings.h"

namespace halfstep::python {

void bind_core(nb::module_& module) {
  bind_specs(module);
  bind_arrays(module);
  bind_families(module);
  bind_fake_quantize(module);
  bind_observers(module);
  bind_kernels(module);
}

}  // namespace halfstep::python
