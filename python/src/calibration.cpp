#include <nanobind/stl/filesystem.h>
#include <nanobind/stl/map.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "bindings.h"
#include "halfstep/calibration/calibrate.h"
#include "halfstep/calibration/stats_file.h"
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
      list.push_back(
          {.name = tensor, .spec = resolve(spec_from_json(json_of(value)), Role::activation)});
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
      .def_ro("mask_count", &TensorStatistics::mask_count,
              "Finite values beyond 1e30, as attention masks hold: left out of min and max.")
      .def_prop_ro(
          "moved",
          [](const TensorStatistics& s) { return s.moved ? *s.moved : expected_movement(s); },
          "How far the range moved in the last tenth of the samples, as a share of its width; of "
          "saved statistics on average over all orders of the samples.")
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

StatisticsFile statistics_of(const nb::bytes& bytes, const std::string& name) {
  return statistics_from_bytes({static_cast<const std::byte*>(bytes.data()), bytes.size()}, name);
}

void bind_statistics_files(nb::module_& module) {
  nb::class_<StatisticsFile>(module, "Statistics", "What `halfstep calibrate` saves.")
      .def_ro("samples", &StatisticsFile::samples)
      .def_prop_ro("method", [](const StatisticsFile& f) { return f.source.method; })
      .def_prop_ro("engine", [](const StatisticsFile& f) { return f.source.engine; })
      .def_prop_ro(
          "tensors",
          [](const StatisticsFile& f) {
            std::map<std::string, TensorStatistics> tensors = f.tensors;
            for (auto& [name, s] : tensors) {
              if (s.has_finite()) {
                s.range.min = {s.min};
                s.range.max = {s.max};
              }
            }
            return tensors;
          },
          "TensorStatistics by tensor name; min and max are the smallest and largest value.")
      .def(
          "to_bytes",
          [](const StatisticsFile& f) {
            const std::string bytes = to_bytes(f);
            return nb::bytes(bytes.data(), bytes.size());
          },
          "The bytes of the file; equal statistics have equal bytes.")
      .def(
          "save",
          [](const StatisticsFile& f, const std::filesystem::path& path) {
            write_statistics(path, f);
          },
          nb::arg("path"), "Writes the file; it appears only when it is complete.")
      .def("__repr__", [](const StatisticsFile& f) {
        return "<halfstep.Statistics of " + std::to_string(f.tensors.size()) + " tensors, " +
               std::to_string(f.samples) + " samples>";
      });
  module.def("read_statistics", &read_statistics, nb::arg("path"));
  module.def("statistics_from_bytes", &statistics_of, nb::arg("data"), nb::arg("name"));
  module.def(
      "merge_statistics",
      [](const std::vector<StatisticsFile>& parts, const std::vector<std::string>& names) {
        return merge_statistics(parts, names);
      },
      nb::arg("parts"), nb::arg("names"));
}

}  // namespace

void bind_calibration(nb::module_& module) {
  bind_statistics(module);
  bind_statistics_files(module);
  module.def("sample_inputs", &sample_inputs, nb::arg("model"),
             "The inputs that a sample must give: graph inputs without a default.");
  module.def("calibrate", &calibrate_model, nb::arg("model"), nb::arg("engine"),
             nb::arg("calibration").none(), nb::arg("tensors"), nb::kw_only(),
             nb::arg("threads") = 1, nb::arg("cast_inputs") = false,
             nb::arg("progress").none() = nb::none());
}

}  // namespace halfstep::python
