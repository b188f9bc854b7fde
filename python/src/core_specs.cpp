#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "core.h"
#include "halfstep/core/spec_names.h"
#include "halfstep/support/config_file.h"
#include "halfstep/support/error.h"
#include "json.h"

namespace halfstep::python {
namespace {

template <typename Table>
auto parse_name(const Table& table, std::string_view what, std::string_view name) {
  const auto found = internal::find_in(table, name);
  if (!found) {
    throw Error(ErrorKind::invalid_argument, std::string(what) + " is \"" + std::string(name) +
                                                 "\"; expected " + internal::choices(table));
  }
  return *found;
}

QuantizationSpec make_spec(const nb::dict& fields, const std::vector<std::string>& extra_fields) {
  const QuantizationSpec spec = spec_from_json(json_of(fields), extra_fields);
  // What a legal spec leaves open, such as the scale_dtype of FP4, does not depend on the role.
  QuantizationSpec checked = spec;
  if (spec.dtype == Dtype::float4_e2m1fn_x2) {
    checked.scale_dtype = Dtype::float8_e8m0fnu;
  }
  return checked;
}

/// With the fields of a subclass beside the others.
PlainDict fields_of(const QuantizationSpec& spec) {
  Json json = to_json(spec);
  const Json extra = json.value("extra", Json::object());
  json.erase("extra");
  json.update(extra);
  return dict_of(json);
}

}  // namespace

Role parse_role(std::string_view name) { return parse_name(internal::kRoles, "role", name); }
Scheme parse_scheme(std::string_view name) {
  return parse_name(internal::kSchemes, "qscheme", name);
}
Policy parse_policy(std::string_view name) {
  return parse_name(internal::kPolicies, "policy", name);
}
Backend parse_backend(std::string_view name) {
  return parse_name(internal::kBackends, "backend", name);
}

void bind_specs(nb::module_& module) {
  nb::class_<QuantizationSpec>(module, "Spec",
                               "The checked fields behind a halfstep.QuantizationSpec.")
      .def(
          "__init__",
          [](QuantizationSpec* self, const nb::dict& fields,
             const std::vector<std::string>& extra_fields) {
            new (self) QuantizationSpec(make_spec(fields, extra_fields));
          },
          nb::arg("fields"), nb::arg("extra_fields"))
      .def("to_dict", &fields_of)
      .def(
          "check_export",
          [](const QuantizationSpec& spec, const std::string& backend, const std::string& role) {
            check_export(spec, parse_backend(backend), parse_role(role));
          },
          nb::arg("backend"), nb::arg("role"));

  module.def(
      "check_granularity",
      [](nb::handle granularity) {
        return dict_of(to_json(granularity_from_json(json_of(granularity))));
      },
      nb::arg("granularity"), "The same granularity with every key.");
  module.def(
      "parse_config",
      [](const std::string& text, const std::string& file) {
        return nb::typed<nb::object, nb::any>(python_of(parse_config(text, file)));
      },
      nb::arg("text"), nb::arg("file"),
      "The content of a configuration file; the ending of `file` says whether it is YAML, "
      "TOML or JSON.");
  module.def(
      "canonical_dtype",
      [](const std::string& dtype) { return std::string(name(parse_dtype(dtype))); },
      nb::arg("dtype"));
  module.def(
      "get_n_bits_from_dtype",
      [](const std::string& dtype) { return get_n_bits_from_dtype(parse_dtype(dtype)); },
      nb::arg("dtype"));
  module.def(
      "get_target_dtype",
      [](const std::string& dtype) {
        return std::string(name(get_target_dtype(parse_dtype(dtype))));
      },
      nb::arg("dtype"));
  module.def(
      "get_quant_range",
      [](const std::string& dtype, const std::string& qscheme) {
        const QuantRange range = get_quant_range(parse_dtype(dtype), parse_scheme(qscheme));
        return std::pair(range.min, range.max);
      },
      nb::arg("dtype"), nb::arg("qscheme"));
}

}  // namespace halfstep::python
