#include "halfstep/verify.h"

#include <optional>
#include <string>
#include <utility>

#include <nanobind/stl/filesystem.h>
#include <nanobind/stl/string.h>

#include "bindings.h"
#include "halfstep/engines/lazy_engine.h"
#include "halfstep/support/diagnostic.h"
#include "json.h"
#include "progress.h"
#include "samples.h"

namespace halfstep::python {
namespace {

PlainDict verify_model(const Model& simulation, const Model* float_model, nb::object data,
                       const std::string& library, const VerifyRequest& request, bool cast_inputs,
                       nb::object progress) {
  const auto samples = samples_of(data, sample_inputs(simulation), {.cast_inputs = cast_inputs});
  require(samples != nullptr, "data is None; expected a path or an iterable of samples");
  LazyEngine engine([&library] { return make_onnxruntime_engine(library); });
  PythonProgress reporter(std::move(progress));
  const VerifyResult result = run_unlocked(reporter, [&] {
    return verify(simulation, float_model, *samples, engine, request, reporter);
  });
  Json document = to_json(result);
  document["failed"] = result.failed;
  Json diagnostics = Json::array();
  for (const Diagnostic& diagnostic : result.diagnostics) {
    diagnostics.push_back({{"rule", diagnostic.rule},
                           {"subject", diagnostic.subject},
                           {"message", diagnostic.message}});
  }
  document["diagnostics"] = std::move(diagnostics);
  return dict_of(document);
}

}  // namespace

void bind_verify(nb::module_& module) {
  nb::class_<VerifyRequest>(module, "VerifyRequest", "What verify() is asked to do.")
      .def(nb::init<>())
      .def_rw("backend", &VerifyRequest::backend)
      .def_rw("arch", &VerifyRequest::arch)
      .def_rw("dlc", &VerifyRequest::dlc)
      .def_rw("dumps", &VerifyRequest::dumps)
      .def_rw("tensors", &VerifyRequest::tensors)
      .def_rw("samples", &VerifyRequest::samples)
      .def_rw("arithmetic", &VerifyRequest::arithmetic)
      .def_rw("qnn_libraries", &VerifyRequest::qnn_libraries)
      .def_prop_rw(
          "fail_on", [](const VerifyRequest& r) { return r.bound ? r.bound->text() : ""; },
          [](VerifyRequest& r, const std::string& text) { r.bound = parse_agreement_bound(text); })
      .def_rw("threads", &VerifyRequest::threads);
  module.def("verify", &verify_model, nb::arg("simulation"), nb::arg("float_model").none(),
             nb::arg("data").none(), nb::arg("library"), nb::arg("request"), nb::kw_only(),
             nb::arg("cast_inputs") = false, nb::arg("progress").none() = nb::none());
}

}  // namespace halfstep::python
