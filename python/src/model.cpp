#include "halfstep/model/model.h"

#include <span>

#include <nanobind/stl/filesystem.h>
#include <nanobind/stl/string.h>

#include "bindings.h"

namespace halfstep::python {
namespace {

Model model_from_bytes(const nb::bytes& bytes, std::string name) {
  const std::span content(static_cast<const std::byte*>(bytes.data()), bytes.size());
  const nb::gil_scoped_release unlocked;
  return Model::from_bytes(content, std::move(name));
}

nb::bytes serialize(const Model& model) {
  std::string bytes;
  {
    const nb::gil_scoped_release unlocked;
    bytes = model.serialize();
  }
  return nb::bytes(bytes.data(), bytes.size());
}

std::string text_of(const Model& model) {
  return "<halfstep.Model '" + model.name() + "', " + std::to_string(model.graph().node_size()) +
         " nodes, opset " + std::to_string(model.opset()) + ">";
}

}  // namespace

void bind_model(nb::module_& module) {
  using unlocked = nb::call_guard<nb::gil_scoped_release>;
  nb::class_<Model>(
      module, "Model",
      "An ONNX model whose large weights stay in the mapped file until they are asked "
      "for.\n\nEverything not understood is kept: custom domains, functions, "
      "subgraphs, metadata. Names never change.")
      .def_static("load", &Model::load, nb::arg("path"), unlocked(),
                  "The model in the file `path`.\n\nErrors: InvalidFile (missing, a directory, not "
                  "an ONNX model, truncated, external data missing, refused by the ONNX checker).")
      .def_static("from_bytes", &model_from_bytes, nb::arg("content"),
                  nb::arg("name") = "model from memory",
                  "The model in `content`, a serialized ModelProto. `name` stands in messages.\n\n"
                  "Errors: InvalidFile.")
      .def_prop_ro("name", &Model::name, "What messages call the model: its path as given.")
      .def_prop_ro("opset", &Model::opset, "Version of the domain ai.onnx.")
      .def_prop_ro("serialized_size", &Model::serialized_size,
                   "Size in bytes of what serialize() returns.")
      .def("clone", &Model::clone, unlocked(), "A copy that shares the mapped weights.")
      .def("save", &Model::save, nb::arg("path"), unlocked(),
           "Writes the model to `path`; the file appears only when it is complete. Above 2 GB the "
           "weights go to external data beside it.\n\nErrors: IoError.")
      .def("serialize", &serialize,
           "The whole model as bytes, for onnx.load_from_string or an InferenceSession.")
      .def("raise_opset", &Model::raise_opset, nb::arg("version"), unlocked(),
           "Raises the version of the domain ai.onnx with ONNX's version converter.\n\n"
           "Errors: Unsupported with the converter's reason and the op.")
      .def("__repr__", &text_of);
}

}  // namespace halfstep::python
