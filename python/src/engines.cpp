#include <nanobind/stl/filesystem.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/unique_ptr.h>
#include <nanobind/stl/vector.h>

#include "arrays.h"
#include "bindings.h"
#include "halfstep/engines/engine.h"
#include "json.h"
#include "samples.h"

namespace halfstep::python {
namespace {

PlainDict run(Session& session, nb::handle feeds) {
  const Sample sample = sample_of(feeds, session.inputs());
  std::vector<Tensor> outputs;
  {
    const nb::gil_scoped_release unlocked;
    outputs = session.run(sample);
  }
  nb::dict result;
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    result[session.outputs()[i].name.c_str()] = array_of(outputs[i]);
  }
  return PlainDict(std::move(result));
}

template <typename Source>
std::unique_ptr<Session> open(Engine& engine, const Source& source, int threads, bool optimize) {
  const nb::gil_scoped_release unlocked;
  return engine.open(source, {.threads = threads, .optimize = optimize});
}

std::string text_of(const TensorInfo& info) {
  return "<halfstep.TensorInfo '" + info.name + "' " + std::string(name(info.dtype)) +
         to_text(info.shape) + ">";
}

}  // namespace

void bind_engines(nb::module_& module) {
  nb::class_<TensorInfo>(module, "TensorInfo", "Name, type and shape of a model's input or output.")
      .def_ro("name", &TensorInfo::name)
      .def_prop_ro("dtype", [](const TensorInfo& info) { return std::string(name(info.dtype)); })
      .def_prop_ro(
          "shape", [](const TensorInfo& info) { return tuple_of(info.shape); }, "-1 is any extent.")
      .def("__repr__", &text_of);

  nb::class_<Session>(module, "Session", "A model ready to run.")
      .def_prop_ro("inputs", &Session::inputs)
      .def_prop_ro("outputs", &Session::outputs)
      .def("run", &run, nb::arg("feeds"),
           "The outputs by name for `feeds`, arrays by input name (or one array for one input).\n\n"
           "Errors: InvalidFile if a feed is missing, unknown or of the wrong type or shape; "
           "Unsupported with the engine's message.");

  nb::class_<Engine>(module, "Engine", "How models are run.")
      .def_prop_ro("name", &Engine::name, "Such as 'ONNX Runtime 1.32.0'.")
      .def("open", &open<Model>, nb::arg("model"), nb::kw_only(), nb::arg("threads") = 1,
           nb::arg("optimize") = true, nb::keep_alive<0, 1>(),
           "A session of `model`; `optimize`: all graph optimizations of the engine, or none.\n\n"
           "Errors: Unsupported with the engine's message.")
      .def("open", &open<std::filesystem::path>, nb::arg("path"), nb::kw_only(),
           nb::arg("threads") = 1, nb::arg("optimize") = true, nb::keep_alive<0, 1>(),
           "The same for a model file.");

  module.def("make_onnxruntime_engine", &make_onnxruntime_engine, nb::arg("library") = "",
             nb::call_guard<nb::gil_scoped_release>(),
             "ONNX Runtime as the engine. `library` is the path of its shared library; the package "
             "halfstep fills in that of the installed onnxruntime.\n\n"
             "Errors: Unsupported with every place looked at.");
}

}  // namespace halfstep::python
