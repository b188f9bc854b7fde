#include "halfstep/pipeline.h"

#include <nanobind/stl/filesystem.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "bindings.h"
#include "halfstep/inspect.h"
#include "json.h"
#include "progress.h"
#include "samples.h"

namespace halfstep::python {
namespace {

QuantizeResult quantize_model(const Model& model, Engine* engine, nb::object calibration,
                              const QuantizeRequest& request, const Diagnostics& loading,
                              bool cast_inputs, nb::object progress) {
  const auto samples = samples_of(calibration, sample_inputs(model), {.cast_inputs = cast_inputs});
  PythonProgress reporter(std::move(progress));
  QuantizeResult result = run_unlocked(
      reporter, [&] { return quantize(model.clone(), samples.get(), engine, request, reporter); });
  result.diagnostics.insert(result.diagnostics.begin(), loading.begin(), loading.end());
  return result;
}

void bind_request(nb::module_& module) {
  nb::class_<QuantizeRequest>(module, "QuantizeRequest", "What quantize() is asked to do.")
      .def(nb::init<>())
      .def_rw("output", &QuantizeRequest::output)
      .def_rw("encodings_out", &QuantizeRequest::encodings_out)
      .def_rw("encodings", &QuantizeRequest::encodings)
      .def_rw("recipe", &QuantizeRequest::recipe)
      .def_rw("set", &QuantizeRequest::set)
      .def_rw("exclude", &QuantizeRequest::exclude)
      .def_rw("target", &QuantizeRequest::target)
      .def_rw("threads", &QuantizeRequest::threads)
      .def_rw("dry_run", &QuantizeRequest::dry_run)
      .def_rw("check", &QuantizeRequest::check)
      .def_rw("strict", &QuantizeRequest::strict)
      .def_rw("lenient", &QuantizeRequest::lenient)
      .def_rw("force", &QuantizeRequest::force)
      .def_rw("check_samples", &QuantizeRequest::check_samples);
}

PlainDict report_on(const Model& model) {
  ModelReport report;
  {
    const nb::gil_scoped_release unlocked;
    report = inspect(model);
  }
  return dict_of(to_json(report));
}

}  // namespace

void bind_pipeline(nb::module_& module) {
  bind_request(module);
  nb::class_<QuantizeResult>(module, "QuantizeResult", "What quantize() made.")
      .def_ro("model", &QuantizeResult::model, "The quantized Model; of a dry run the float one.")
      .def_ro("encodings", &QuantizeResult::encodings, "EncodingTable of the model.")
      .def_prop_ro(
          "summary", [](const QuantizeResult& r) { return dict_of(to_json(r.summary)); },
          "The closing summary as a dict: sizes in bytes, types by op, what stayed float "
          "and why, SQNR in dB, seconds by phase, peak memory in bytes.")
      .def_ro("diagnostics", &QuantizeResult::diagnostics,
              "What was decided or noticed, as Diagnostic objects.");
  module.def("inspect", &report_on, nb::arg("model"));
  module.def("quantize", &quantize_model, nb::arg("model"), nb::arg("engine").none(),
             nb::arg("calibration").none(), nb::arg("request"), nb::arg("loading"), nb::kw_only(),
             nb::arg("cast_inputs") = false, nb::arg("progress").none() = nb::none());
}

}  // namespace halfstep::python
