#include <array>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/unique_ptr.h>
#include <nanobind/stl/vector.h>

#include "arrays.h"
#include "codes.h"
#include "core.h"
#include "halfstep/core/observers/histogram_observer.h"
#include "halfstep/core/observers/observer.h"
#include "halfstep/core/torch_ops.h"
#include "halfstep/support/error.h"
#include "json.h"

namespace halfstep::python {
namespace {

/// Errors: invalid_argument naming the argument.
template <typename T>
T read(const std::string& name, nb::handle value, const char* expected) {
  T result{};
  if (!nb::try_cast<T>(value, result)) {
    throw Error(ErrorKind::invalid_argument,
                name + " is " + nb::repr(value).c_str() + "; expected " + expected);
  }
  return result;
}

/// Reads the keyword arguments of torch's constructors, by their names in Python.
ObserverOptions options_from(const nb::dict& arguments) {
  const char* const kWhole = "a whole number";
  ObserverOptions options;
  for (const auto& [key, value] : arguments) {
    const auto name = nb::cast<std::string>(key);
    if (name == "dtype") {
      options.dtype = parse_observer_dtype(read<std::string>(name, value, "the name of a dtype"));
    } else if (name == "qscheme") {
      options.qscheme =
          parse_observer_scheme(read<std::string>(name, value, "the name of a scheme"));
    } else if (name == "reduce_range") {
      options.reduce_range = read<bool>(name, value, "True or False");
    } else if (name == "quant_min") {
      options.quant_min = read<std::int64_t>(name, value, kWhole);
    } else if (name == "quant_max") {
      options.quant_max = read<std::int64_t>(name, value, kWhole);
    } else if (name == "eps") {
      options.eps = read<double>(name, value, "a number");
    } else if (name == "ch_axis") {
      options.ch_axis = read<std::int64_t>(name, value, kWhole);
    } else if (name == "averaging_constant") {
      options.averaging_constant = read<double>(name, value, "a number");
    } else if (name == "is_dynamic") {
      options.is_dynamic = read<bool>(name, value, "True or False");
    } else if (name == "bins") {
      options.bins = read<int>(name, value, kWhole);
    } else if (name == "policy") {
      options.policy = parse_policy(read<std::string>(name, value, "the name of a policy"));
    } else {
      throw Error(ErrorKind::invalid_argument, "an observer has no argument \"" + name + "\"");
    }
  }
  return options;
}

void observe(Observer& observer, nb::handle x, int threads) {
  const FloatArray input = floats_of(x, "x");
  unlocked([&] { observer.observe(input.view, threads); });
}

Array<float> vector_of(std::span<const float> values) {
  return array_of(std::vector<float>(values.begin(), values.end()),
                  {static_cast<std::int64_t>(values.size())});
}

nb::tuple qparams(const Observer& observer) {
  const ObserverQParams found = observer.calculate_qparams();
  const Shape shape = {static_cast<std::int64_t>(found.scale.size())};
  if (found.zero_point_float.empty()) {
    return nb::make_tuple(array_of(found.scale, shape), array_of(found.zero_point, shape));
  }
  return nb::make_tuple(array_of(found.scale, shape), array_of(found.zero_point_float, shape));
}

Array<double> histogram_of(const Observer& observer) {
  const auto* histogram = dynamic_cast<const HistogramObserver*>(&observer);
  require(histogram != nullptr, "only a HistogramObserver has a histogram");
  const std::span<const double> values = histogram->histogram();
  return array_of(std::vector<double>(values.begin(), values.end()),
                  {static_cast<std::int64_t>(values.size())});
}

std::pair<float, float> chosen_range(const Observer& observer) {
  const auto* histogram = dynamic_cast<const HistogramObserver*>(&observer);
  require(histogram != nullptr, "only a HistogramObserver chooses a range");
  return histogram->chosen_range();
}

Rounding parse_rounding(const std::string& name) {
  constexpr std::array<std::pair<const char*, Rounding>, 4> kRoundings = {{
      {"division", Rounding::division},
      {"reciprocal", Rounding::reciprocal},
      {"reciprocal_then_add", Rounding::reciprocal_then_add},
      {"reciprocal_fused", Rounding::reciprocal_fused},
  }};
  for (const auto& [text, rounding] : kRoundings) {
    if (name == text) {
      return rounding;
    }
  }
  throw Error(ErrorKind::invalid_argument,
              "rounding is \"" + name +
                  "\"; expected division, reciprocal, reciprocal_then_add or reciprocal_fused");
}

struct AffineArguments {
  std::vector<float> scale;
  std::vector<std::int64_t> zero_point;
  std::optional<std::int64_t> axis;
  std::int64_t quant_min, quant_max;
  Rounding rounding;

  [[nodiscard]] AffineParams params() const {
    return {.scale = scale,
            .zero_point = zero_point,
            .axis = axis,
            .quant_min = quant_min,
            .quant_max = quant_max,
            .rounding = rounding};
  }
};

AnyArray fake_affine(nb::handle x, std::vector<float> scale, std::vector<std::int64_t> zero_point,
                     std::int64_t quant_min, std::int64_t quant_max,
                     std::optional<std::int64_t> axis, const std::string& rounding,
                     nb::handle out) {
  const FloatArray input = floats_of(x, "x");
  const AffineArguments arguments{std::move(scale), std::move(zero_point),   axis, quant_min,
                                  quant_max,        parse_rounding(rounding)};
  const FloatOutput output = output_like(input, out);
  unlocked([&] { fake_quantize_affine(input.view, arguments.params(), output.span); });
  return output.array;
}

Array<std::int64_t> codes_affine(nb::handle x, std::vector<float> scale,
                                 std::vector<std::int64_t> zero_point, std::int64_t quant_min,
                                 std::int64_t quant_max, std::optional<std::int64_t> axis,
                                 const std::string& rounding) {
  const FloatArray input = floats_of(x, "x");
  const AffineArguments arguments{std::move(scale), std::move(zero_point),   axis, quant_min,
                                  quant_max,        parse_rounding(rounding)};
  const Shape shape = shape_of(input.view);
  std::vector<std::int64_t> codes(static_cast<std::size_t>(element_count(shape)));
  unlocked([&] { quantize_affine(input.view, arguments.params(), codes); });
  return array_of(codes, shape);
}

}  // namespace

void bind_observers(nb::module_& module) {
  nb::class_<Observer>(module, "Observer", "The library's part of the torch-like observers.")
      .def(nb::new_([](const std::string& class_name, const nb::dict& arguments) {
             return make_observer(class_name, options_from(arguments));
           }),
           nb::arg("class_name"), nb::arg("arguments"))
      .def("observe", &observe, nb::arg("x").none(), nb::arg("threads") = 1)
      .def("calculate_qparams", &qparams)
      .def("reset_min_max_vals", &Observer::reset_min_max_vals)
      .def_prop_ro("min_val", [](const Observer& o) { return vector_of(o.min_val()); })
      .def_prop_ro("max_val", [](const Observer& o) { return vector_of(o.max_val()); })
      .def_prop_ro("quant_min", &Observer::quant_min)
      .def_prop_ro("quant_max", &Observer::quant_max)
      .def_prop_ro("nan_count", &Observer::nan_count)
      .def_prop_ro("infinity_count", &Observer::infinity_count)
      .def_prop_ro("dtype", [](const Observer& o) { return std::string(name(o.options().dtype)); })
      .def_prop_ro("qscheme",
                   [](const Observer& o) { return std::string(name(*o.options().qscheme)); })
      .def_prop_ro("histogram", &histogram_of)
      .def_prop_ro("chosen_range", &chosen_range)
      .def("state", [](const Observer& o) { return dict_of(o.state()); })
      .def(
          "load_state", [](Observer& o, nb::handle state) { o.load_state(json_of(state)); },
          nb::arg("state"))
      .def("merge", &Observer::merge, nb::arg("other"));

  const auto axis = nb::arg("axis").none() = nb::none();
  module.def("fake_quantize_affine", &fake_affine, nb::arg("x").none(), nb::arg("scale"),
             nb::arg("zero_point"), nb::arg("quant_min"), nb::arg("quant_max"), axis,
             nb::arg("rounding") = "reciprocal", nb::arg("out").none() = nb::none());
  module.def("quantize_affine", &codes_affine, nb::arg("x").none(), nb::arg("scale"),
             nb::arg("zero_point"), nb::arg("quant_min"), nb::arg("quant_max"), axis,
             nb::arg("rounding") = "reciprocal");
}

}  // namespace halfstep::python
