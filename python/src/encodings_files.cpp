#include "halfstep/encodings_files.h"

#include <filesystem>
#include <string>
#include <tuple>
#include <vector>

#include <nanobind/stl/filesystem.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include "bindings.h"

namespace halfstep::python {
namespace {

using Path = std::filesystem::path;
using Diagnosed = std::tuple<std::string, Diagnostics>;

Diagnostics lint(const Path& path, const Model* model, bool lenient) {
  return lint_encodings(path, {.model = model, .lenient = lenient}).diagnostics;
}

std::vector<EncodingDifference> diff(const Path& first, const Path& second, const Model* model,
                                     bool lenient, double tolerance, bool common) {
  Diagnostics diagnostics;
  return diff_encodings(first, second, {.model = model, .lenient = lenient},
                        {.tolerance = tolerance, .common = common}, diagnostics);
}

Diagnosed merge(const std::vector<Path>& paths, const std::string& version, const Model* model,
                bool lenient) {
  Diagnostics diagnostics;
  std::string text = merge_encodings(paths, parse_encodings_version(version),
                                     {.model = model, .lenient = lenient}, diagnostics);
  return {std::move(text), std::move(diagnostics)};
}

std::tuple<Model, EncodingTable, Diagnostics> extract(const Model& model) {
  Diagnostics diagnostics;
  auto [folded, table] = extract_encodings(model, diagnostics);
  return {std::move(folded), std::move(table), std::move(diagnostics)};
}

std::string kind_name(const EncodingDifference& difference) {
  using Kind = EncodingDifference::Kind;
  return difference.kind == Kind::only_in_first    ? "only_in_first"
         : difference.kind == Kind::only_in_second ? "only_in_second"
                                                   : "different";
}

}  // namespace

void bind_encodings_files(nb::module_& module) {
  using unlocked = nb::call_guard<nb::gil_scoped_release>;
  nb::class_<EncodingDifference>(module, "EncodingDifference",
                                 "A tensor on which two encodings files disagree.")
      .def_ro("name", &EncodingDifference::name, "Tensor, or node:slot of a single use.")
      .def_prop_ro("kind", &kind_name, "'only_in_first', 'only_in_second' or 'different'.")
      .def_ro("text", &EncodingDifference::text,
              "What differs: 'scale 0.1 against 0.2'; empty for the other kinds.")
      .def("__repr__", [](const EncodingDifference& d) {
        return "<halfstep.EncodingDifference " + d.name + ": " +
               (d.text.empty() ? kind_name(d) : d.text) + ">";
      });
  module.def("lint_encodings", &lint, nb::arg("path"), nb::arg("model").none(), nb::arg("lenient"),
             unlocked());
  module.def("diff_encodings", &diff, nb::arg("first"), nb::arg("second"), nb::arg("model").none(),
             nb::arg("lenient"), nb::arg("tolerance"), nb::arg("common"), unlocked());
  module.def("merge_encodings", &merge, nb::arg("paths"), nb::arg("version"),
             nb::arg("model").none(), nb::arg("lenient"), unlocked());
  module.def("extract_encodings", &extract, nb::arg("model"), unlocked());
}

}  // namespace halfstep::python
