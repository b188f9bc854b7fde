#include <memory>
#include <string>
#include <vector>

#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "core.h"
#include "halfstep/core/kernels/isa.h"
#include "halfstep/support/error.h"

namespace halfstep::python {
namespace {

using kernels::Isa;

std::vector<std::string> kernel_names() {
  std::vector<std::string> names;
  for (const Isa isa : {Isa::reference, Isa::neon, Isa::avx2, Isa::avx512}) {
    if (kernels::available(isa)) {
      names.emplace_back(kernels::name(isa));
    }
  }
  return names;
}

/// Forces an instruction set from its making to `release`.
class ForcedKernels {
 public:
  explicit ForcedKernels(const std::string& name) {
    for (const Isa isa : {Isa::reference, Isa::neon, Isa::avx2, Isa::avx512}) {
      if (name == kernels::name(isa) && kernels::available(isa)) {
        forced_ = std::make_unique<kernels::ForcedIsa>(isa);
        return;
      }
    }
    std::string known;
    for (const std::string& other : kernel_names()) {
      known += ' ' + other;
    }
    throw Error(ErrorKind::invalid_argument,
                "no kernels named \"" + name + "\" run on this machine; there are:" + known);
  }
  void release() { forced_.reset(); }

 private:
  std::unique_ptr<kernels::ForcedIsa> forced_{};
};

}  // namespace

void bind_kernels(nb::module_& module) {
  module.def("kernel_names", &kernel_names);
  module.def("active_kernels", [] { return std::string(kernels::name(kernels::active_isa())); });
  nb::class_<ForcedKernels>(module, "ForcedKernels",
                            "The library's part of halfstep.core.forced_kernels.")
      .def(nb::init<const std::string&>(), nb::arg("name"))
      .def("release", &ForcedKernels::release);
}

}  // namespace halfstep::python
