#include "halfstep/pipeline.h"

#include <nanobind/stl/filesystem.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "bindings.h"
#include "halfstep/convert.h"
#include "halfstep/engines/lazy_engine.h"
#include "halfstep/explain.h"
#include "halfstep/frontends/safetensors.h"
#include "halfstep/inspect.h"
#include "halfstep/quantize_tensors.h"
#include "halfstep/rules.h"
#include "halfstep/targets/target.h"
#include "halfstep/targets/target_json.h"
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

const EncodingTable& encodings_of(QuantizeResult& result) {
  const nb::gil_scoped_release unlocked;
  complete_encodings(result);
  return result.encodings;
}

void bind_request(nb::module_& module) {
  nb::class_<QuantizeRequest>(module, "QuantizeRequest", "What quantize() is asked to do.")
      .def(nb::init<>())
      .def_rw("output", &QuantizeRequest::output)
      .def_rw("encodings_out", &QuantizeRequest::encodings_out)
      .def_rw("encodings", &QuantizeRequest::encodings)
      .def_rw("recipe", &QuantizeRequest::recipe)
      .def_rw("method", &QuantizeRequest::method)
      .def_rw("percentile", &QuantizeRequest::percentile)
      .def_prop_rw(
          "stats", [](const QuantizeRequest& r) { return r.statistics.from; },
          [](QuantizeRequest& r, std::filesystem::path path) {
            r.statistics.from = std::move(path);
          })
      .def_prop_rw(
          "resume", [](const QuantizeRequest& r) { return r.statistics.resume; },
          [](QuantizeRequest& r, std::filesystem::path path) {
            r.statistics.resume = std::move(path);
          })
      .def_prop_rw(
          "stats_out", [](const QuantizeRequest& r) { return r.statistics.to; },
          [](QuantizeRequest& r, std::filesystem::path path) { r.statistics.to = std::move(path); })
      .def_rw("set", &QuantizeRequest::set)
      .def_rw("exclude", &QuantizeRequest::exclude)
      .def_rw("target", &QuantizeRequest::target)
      .def_rw("threads", &QuantizeRequest::threads)
      .def_rw("dry_run", &QuantizeRequest::dry_run)
      .def_rw("check", &QuantizeRequest::check)
      .def_rw("strict", &QuantizeRequest::strict)
      .def_rw("lenient", &QuantizeRequest::lenient)
      .def_rw("fallback", &QuantizeRequest::fallback)
      .def_rw("skip", &QuantizeRequest::skip)
      .def_rw("force", &QuantizeRequest::force)
      .def_rw("defer_weights", &QuantizeRequest::defer_weights)
      .def_rw("check_samples", &QuantizeRequest::check_samples);
}

QuantizeResult convert_model(const Model& model, const std::string& library,
                             const ConvertRequest& request, const Diagnostics& loading,
                             nb::object progress) {
  LazyEngine engine([&library] { return make_onnxruntime_engine(library); });
  PythonProgress reporter(std::move(progress));
  QuantizeResult result =
      run_unlocked(reporter, [&] { return convert(model.clone(), &engine, request, reporter); });
  result.diagnostics.insert(result.diagnostics.begin(), loading.begin(), loading.end());
  return result;
}

TensorsResult quantize_files(const std::filesystem::path& path, const QuantizeRequest& request,
                             nb::object progress) {
  PythonProgress reporter(std::move(progress));
  return run_unlocked(reporter,
                      [&] { return quantize_tensors(read_safetensors(path), request, reporter); });
}

void bind_tensors(nb::module_& module) {
  nb::class_<TensorsResult>(module, "TensorsResult", "What quantize() made of safetensors files.")
      .def_ro("encodings", &TensorsResult::encodings,
              "EncodingTable of the weights, if `encodings_out` was given.")
      .def_prop_ro(
          "summary", [](const TensorsResult& r) { return dict_of(to_json(r.summary)); },
          "The closing summary as a dict.")
      .def_ro("diagnostics", &TensorsResult::diagnostics,
              "What was decided or noticed, as Diagnostic objects.");
  module.def("is_safetensors", &is_safetensors, nb::arg("path"));
  module.def("quantize_tensors", &quantize_files, nb::arg("path"), nb::arg("request"),
             nb::kw_only(), nb::arg("progress").none() = nb::none());
}

void bind_convert(nb::module_& module) {
  nb::class_<ConvertRequest>(module, "ConvertRequest", "What convert() is asked to do.")
      .def(nb::init<>())
      .def_rw("quantization_overrides", &ConvertRequest::quantization_overrides)
      .def_prop_rw(
          "target", [](const ConvertRequest& r) { return r.target.target; },
          [](ConvertRequest& r, std::string target) { r.target.target = std::move(target); })
      .def_prop_rw(
          "target_backend", [](const ConvertRequest& r) { return r.target.backend; },
          [](ConvertRequest& r, std::string backend) { r.target.backend = std::move(backend); })
      .def_prop_rw(
          "htp_arch", [](const ConvertRequest& r) { return r.target.arch; },
          [](ConvertRequest& r, std::string arch) { r.target.arch = std::move(arch); })
      .def_rw("output", &ConvertRequest::output)
      .def_rw("encodings_out", &ConvertRequest::encodings_out)
      .def_rw("fallback", &ConvertRequest::fallback)
      .def_rw("skip", &ConvertRequest::skip)
      .def_rw("threads", &ConvertRequest::threads)
      .def_rw("dry_run", &ConvertRequest::dry_run)
      .def_rw("strict", &ConvertRequest::strict)
      .def_rw("lenient", &ConvertRequest::lenient)
      .def_rw("force", &ConvertRequest::force);
  module.def("convert", &convert_model, nb::arg("model"), nb::arg("library"), nb::arg("request"),
             nb::arg("loading"), nb::kw_only(), nb::arg("progress").none() = nb::none());
}

PlainDict report_on(const Model& model) {
  ModelReport report;
  {
    const nb::gil_scoped_release unlocked;
    report = inspect(model);
  }
  return dict_of(to_json(report));
}

PlainDict explanation_of(const Model& model, const std::string& name) {
  Explanation explanation;
  {
    const nb::gil_scoped_release unlocked;
    explanation = explain(model, name);
  }
  return dict_of(to_json(explanation));
}

PlainDict shipped_targets() {
  Json list = Json::object();
  for (const std::string& name : Target::shipped()) {
    list[name] = Target::load(name).summary();
  }
  return dict_of(list);
}

void bind_reports(nb::module_& module) {
  module.def("inspect", &report_on, nb::arg("model"));
  module.def("explain", &explanation_of, nb::arg("model"), nb::arg("name"));
  module.def("rule", [](const std::string& id) { return rule(id).text; }, nb::arg("id"));
  module.def("targets", &shipped_targets);
  module.def(
      "target", [](const std::string& name) { return dict_of(to_json(Target::load(name))); },
      nb::arg("name"));
}

}  // namespace

void bind_pipeline(nb::module_& module) {
  bind_request(module);
  nb::class_<QuantizeResult>(module, "QuantizeResult", "What quantize() made.")
      .def_ro("model", &QuantizeResult::model, "The quantized Model; of a dry run the float one.")
      .def_prop_ro("encodings", &encodings_of, nb::rv_policy::reference_internal,
                   "EncodingTable of the model. Those of large weights are measured when it is "
                   "first asked for.")
      .def_prop_ro(
          "summary", [](const QuantizeResult& r) { return dict_of(to_json(r.summary)); },
          "The closing summary as a dict: sizes in bytes, types by op, what stayed float "
          "and why, SQNR in dB, seconds by phase, peak memory in bytes.")
      .def_ro("diagnostics", &QuantizeResult::diagnostics,
              "What was decided or noticed, as Diagnostic objects.");
  bind_tensors(module);
  bind_convert(module);
  bind_reports(module);
  module.def("quantize", &quantize_model, nb::arg("model"), nb::arg("engine").none(),
             nb::arg("calibration").none(), nb::arg("request"), nb::arg("loading"), nb::kw_only(),
             nb::arg("cast_inputs") = false, nb::arg("progress").none() = nb::none());
}

}  // namespace halfstep::python
