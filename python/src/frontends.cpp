#include <cstddef>
#include <map>
#include <span>
#include <string>
#include <utility>

#include <nanobind/stl/filesystem.h>
#include <nanobind/stl/map.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "bindings.h"
#include "halfstep/encodings_files.h"
#include "halfstep/frontends/file_kind.h"
#include "halfstep/frontends/load.h"
#include "halfstep/frontends/tflite/tflite.h"
#include "halfstep/support/error.h"
#include "halfstep/support/file.h"
#include "progress.h"

namespace halfstep::python {
namespace {

/// EncodingsFile with the diagnostics of the same reading.
struct DiagnosedEncodings {
  EncodingsFile file{};
  Diagnostics diagnostics{};
};

/// The extents of an ONNX model are changed where its graph is fixed for a target.
void require_resizable(std::span<const std::byte> bytes,
                       const std::map<std::string, Shape>& extents) {
  require(extents.empty() || is_tflite(bytes) || kind_of_bytes(bytes) == FileKind::torch_script,
          "input_extents are for TFLite and TorchScript models, and this is none");
}

std::pair<Model, Diagnostics> load_bytes(const nb::bytes& content,
                                         const std::map<std::string, Shape>& extents) {
  Diagnostics diagnostics;
  const std::span bytes(static_cast<const std::byte*>(content.data()), content.size());
  require_resizable(bytes, extents);
  const nb::gil_scoped_release unlocked;
  Model model = model_from_bytes(bytes, "model", diagnostics, extents);
  return {std::move(model), std::move(diagnostics)};
}

std::pair<Model, Diagnostics> load(const std::filesystem::path& path, std::string python,
                                   std::string signature, std::vector<std::string> inputs,
                                   std::vector<std::string> outputs,
                                   std::map<std::string, Shape> extents) {
  if (!extents.empty()) {
    require_resizable(MappedFile(path).bytes(), extents);
  }
  PythonProgress reporter{nb::object(nb::none())};
  return run_unlocked(reporter, [&]() -> std::pair<Model, Diagnostics> {
    Diagnostics diagnostics;
    const LoadOptions options{.signature = std::move(signature),
                              .inputs = std::move(inputs),
                              .outputs = std::move(outputs),
                              .extents = std::move(extents),
                              .python = std::move(python),
                              .progress = &reporter};
    Model model = load_model(path, options, diagnostics);
    return {std::move(model), std::move(diagnostics)};
  });
}

DiagnosedEncodings read(const std::filesystem::path& path, const Model* model, bool lenient) {
  DiagnosedEncodings result;
  result.file =
      read_encodings(path, EncodingsSource{.model = model, .lenient = lenient}, result.diagnostics);
  return result;
}

std::map<std::string, std::string> precisions(const DiagnosedEncodings& read) {
  std::map<std::string, std::string> names;
  for (const auto& [tensor, dtype] : read.file.precisions) {
    names.emplace(tensor, name(dtype));
  }
  return names;
}

}  // namespace

void bind_frontends(nb::module_& module) {
  using unlocked = nb::call_guard<nb::gil_scoped_release>;
  nb::class_<DiagnosedEncodings>(module, "EncodingsFile", "An encodings file as it was understood.")
      .def_prop_ro(
          "version", [](const DiagnosedEncodings& d) { return d.file.version; },
          "As it stands in the file; empty if there is none.")
      .def_prop_ro(
          "encodings", [](const DiagnosedEncodings& d) { return d.file.table; }, "EncodingTable.")
      .def_prop_ro("precisions", &precisions,
                   "Dtype by tensor name, of entries that only name a type: to be measured.")
      .def_prop_ro(
          "names", [](const DiagnosedEncodings& d) { return d.file.names; },
          "Every entry, in the order of the file.")
      .def_ro("diagnostics", &DiagnosedEncodings::diagnostics);

  module.def("load_model", &load, nb::arg("path"), nb::kw_only(), nb::arg("python") = "",
             nb::arg("signature") = "", nb::arg("inputs") = std::vector<std::string>(),
             nb::arg("outputs") = std::vector<std::string>(),
             nb::arg("extents") = std::map<std::string, Shape>());
  module.def("model_from_bytes", &load_bytes, nb::arg("content"), nb::arg("extents"));
  module.def("read_encodings", &read, nb::arg("path"), nb::arg("model").none(), nb::kw_only(),
             nb::arg("lenient"), unlocked());
}

}  // namespace halfstep::python
