#include <nanobind/stl/map.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "bindings.h"
#include "halfstep/calibration/calibrate.h"
#include "halfstep/support/error.h"
#include "json.h"
#include "progress.h"
#include "samples.h"

namespace halfstep::python {
namespace {

/// CalibrationResult with the diagnostics of the same run.
struct DiagnosedCalibration {
  CalibrationResult result{};
  Diagnostics diagnostics{};
};

std::vector<ObservedTensor> observed(const nb::dict& tensors) {
  std::vector<ObservedTensor> list;
  for (const auto& [key, value] : tensors) {
    const std::string tensor = nb::cast<std::string>(key);
    try {
      list.push_back({tensor, resolve(spec_from_json(json_of(value)), Role::activation)});
    } catch (const Error& error) {
      throw error.within("tensor '" + tensor + "'");
    }
  }
  return list;
}

DiagnosedCalibration calibrate_model(const Model& model, Engine& engine, nb::object calibration,
                                     const nb::dict& tensors, int threads, bool cast_inputs,
                                     nb::object progress) {
  const std::vector<ObservedTensor> list = observed(tensors);
  const auto samples = samples_of(calibration, sample_inputs(model), {.cast_inputs = cast_inputs});
  require(samples != nullptr, "calibration is None; expected a path or an iterable of samples");
  PythonProgress reporter(std::move(progress));
  DiagnosedCalibration done;
  run_unlocked(reporter, [&] {
    done.result =
        calibrate(model, engine, *samples, list, {.threads = threads}, reporter, done.diagnostics);
  });
  return done;
}

float only(const std::vector<float>& values) { return values.empty() ? 0.0F : values.front(); }

void bind_statistics(nb::module_& module) {
  nb::class_<TensorStatistics>(module, "TensorStatistics", "What a tensor showed over all samples.")
      .def_prop_ro("min", [](const TensorStatistics& s) { return only(s.range.min); })
      .def_prop_ro("max", [](const TensorStatistics& s) { return only(s.range.max); })
      .def_ro("values", &TensorStatistics::values, "Number of values seen.")
      .def_ro("nan_count", &TensorStatistics::nan_count,
              "NaN that arose inside the network: left out of min and max.")
      .def_ro("infinity_count", &TensorStatistics::infinity_count)
      .def("__repr__", [](const TensorStatistics& s) {
        return "<halfstep.TensorStatistics " + Json(only(s.range.min)).dump() + " to " +
               Json(only(s.range.max)).dump() + " of " + std::to_string(s.values) + " values>";
      });
  nb::class_<DiagnosedCalibration>(module, "CalibrationResult", "What calibrate() found.")
      .def_prop_ro(
          "statistics", [](const DiagnosedCalibration& d) { return d.result.statistics; },
          "TensorStatistics by tensor name.")
      .def_prop_ro(
          "samples", [](const DiagnosedCalibration& d) { return d.result.samples; },
          "Number of samples that ran.")
      .def_ro("diagnostics", &DiagnosedCalibration::diagnostics);
}

}  // namespace

void bind_calibration(nb::module_& module) {
  bind_statistics(module);
  module.def("sample_inputs", &sample_inputs, nb::arg("model"),
             "The inputs that a sample must give: graph inputs without a default.");
  module.def("calibrate", &calibrate_model, nb::arg("model"), nb::arg("engine"),
             nb::arg("calibration").none(), nb::arg("tensors"), nb::kw_only(),
             nb::arg("threads") = 1, nb::arg("cast_inputs") = false,
             nb::arg("progress").none() = nb::none());
}

}  // namespace halfstep::python
