#include <exception>
#include <filesystem>

#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "bindings.h"
#include "halfstep/support/diagnostic.h"
#include "halfstep/support/diagnostic_text.h"
#include "halfstep/support/error.h"
#include "halfstep/version.h"

namespace halfstep::python {
namespace {

const char* class_name(ErrorKind kind) {
  switch (kind) {
    case ErrorKind::invalid_argument:
      return "InvalidArgument";
    case ErrorKind::nothing_to_do:
      return "NothingToDo";
    case ErrorKind::invalid_file:
      return "InvalidFile";
    case ErrorKind::io:
      return "IoError";
    case ErrorKind::unsupported:
      return "Unsupported";
    case ErrorKind::interrupted:
      return "Interrupted";
    case ErrorKind::internal:
      break;
  }
  return "InternalError";
}

/// The classes are written in Python, where a class may also be a built-in exception.
void raise_in_python(const Error& error) {
  const nb::object value =
      nb::module_::import_("halfstep._errors")
          .attr("make_error")(class_name(error.kind()), error.what(), nb::cast(error.context()));
  PyErr_SetObject(value.type().ptr(), value.ptr());
}

void translate(const std::exception_ptr& exception, void*) {
  try {
    std::rethrow_exception(exception);
  } catch (const Error& error) {
    raise_in_python(error);
  } catch (const std::filesystem::filesystem_error& error) {
    raise_in_python(Error(ErrorKind::io, error.code().message()).within(error.path1().string()));
  }
}

const char* name_of(Severity severity) {
  switch (severity) {
    case Severity::note:
      return "note";
    case Severity::warning:
      return "warning";
    case Severity::error:
      break;
  }
  return "error";
}

std::string text_of(const Diagnostic& diagnostic) {
  return std::string(name_of(diagnostic.severity)) + "[" + diagnostic.rule +
         "]: " + full_message(diagnostic);
}

}  // namespace

void bind_support(nb::module_& module) {
  nb::register_exception_translator(translate, nullptr);
  module.def("version", [] { return std::string(kVersion); });

  nb::class_<Diagnostic>(module, "Diagnostic",
                         "One thing halfstep decided or noticed, and why.\n\n"
                         "str() gives the line that the command prints.")
      .def_prop_ro(
          "severity", [](const Diagnostic& d) { return name_of(d.severity); },
          "'note', 'warning' or 'error'.")
      .def_ro("rule", &Diagnostic::rule, "Stable id; `halfstep rule ID` explains it.")
      .def_ro("subject", &Diagnostic::subject, "Name of the tensor or node.")
      .def_ro("message", &Diagnostic::message, "What was found, what was done, what would help.")
      .def("__str__", text_of)
      .def("__repr__",
           [](const Diagnostic& d) { return "<halfstep.Diagnostic " + text_of(d) + ">"; })
      .def(
          "__eq__", [](const Diagnostic& a, const Diagnostic& b) { return a == b; },
          nb::is_operator(), nb::sig("def __eq__(self, other: object, /) -> bool"));
}

}  // namespace halfstep::python
