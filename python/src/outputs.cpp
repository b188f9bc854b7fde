#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "bindings.h"
#include "halfstep/encodings/schema/format.h"
#include "halfstep/outputs/encodings_json.h"
#include "halfstep/outputs/qdq_onnx.h"

namespace halfstep::python {
namespace {

Diagnostics write_qdq_diagnosed(Model& model, const EncodingTable& encodings, int threads) {
  Diagnostics diagnostics;
  write_qdq(model, encodings, {.threads = threads}, diagnostics);
  return diagnostics;
}

std::string encodings_text(const EncodingTable& encodings, const Model& model,
                           const std::string& version) {
  return write_encodings(encodings, GraphIndex(model), parse_encodings_version(version));
}

}  // namespace

void bind_outputs(nb::module_& module) {
  using unlocked = nb::call_guard<nb::gil_scoped_release>;
  module.def(
      "write_qdq", &write_qdq_diagnosed, nb::arg("model"), nb::arg("encodings"), nb::kw_only(),
      nb::arg("threads") = 1, unlocked(),
      "Rewrites the float `model` in place so that every tensor with an integer or float8 encoding "
      "passes through QuantizeLinear and DequantizeLinear; constants are stored as integers.\n\n"
      "Returns what was decided. Names the user gave never change; the opset is raised when the "
      "types need it.\n\n"
      "Errors: Unsupported naming the tensor if ONNX cannot say an encoding; InvalidArgument if an "
      "encoding does not fit its tensor.");
  module.def(
      "write_encodings", &encodings_text, nb::arg("encodings"), nb::arg("model"), nb::kw_only(),
      nb::arg("version") = "2.0.0", unlocked(),
      "The text of the encodings file, entries in the order of the graph of `model`, which is "
      "the one without Q/DQ.\n\n"
      "`version`: 2.0.0, 2.1.0, 1.0.0 or 0.6.1.\n\n"
      "Errors: Unsupported naming the tensors that the version cannot express.\n\n"
      "Source: QAIRT quantization specification, appendix C.");
}

}  // namespace halfstep::python
