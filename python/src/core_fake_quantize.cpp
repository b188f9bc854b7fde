#include <span>

#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "arrays.h"
#include "codes.h"
#include "core.h"
#include "halfstep/core/fake_quantizer.h"
#include "halfstep/support/error.h"
#include "json.h"

namespace halfstep::python {
namespace {

AnyArray forward(FakeQuantize& quantizer, nb::handle x, nb::handle out, int threads) {
  const FloatArray input = floats_of(x, "x");
  const FloatOutput output = output_like(input, out);
  unlocked([&] { quantizer.forward(input.view, output.span, threads); });
  return output.array;
}

nb::tuple forward_with_codes(FakeQuantize& quantizer, nb::handle x, nb::handle codes,
                             nb::handle out, int threads) {
  const FloatArray input = floats_of(x, "x");
  const FloatOutput output = output_like(input, out);
  nb::object q = codes_output(shape_of(input.view), quantizer.spec()->dtype, codes);
  const std::span<std::byte> bytes = bytes_of(q);
  unlocked([&] { quantizer.forward_with_codes(input.view, bytes, output.span, threads); });
  return nb::make_tuple(q, output.array);
}

void observe(FakeQuantize& quantizer, nb::handle x, int threads) {
  const FloatArray input = floats_of(x, "x");
  unlocked([&] { quantizer.observe(input.view, threads); });
}

AnyArray quantize_codes(const FakeQuantize& quantizer, nb::handle x, nb::handle out, int threads) {
  const FloatArray input = floats_of(x, "x");
  nb::object codes = codes_output(shape_of(input.view), quantizer.spec()->dtype, out);
  const std::span<std::byte> bytes = bytes_of(codes);
  unlocked([&] { quantizer.quantize(input.view, bytes, threads); });
  return codes;
}

AnyArray dequantize_codes(const FakeQuantize& quantizer, nb::handle q, const std::string& dtype,
                          nb::handle out, int threads) {
  Tensor keep;
  const std::span<const std::byte> codes = codes_of(q, quantizer.spec()->dtype, keep);
  const FloatOutput output = output_of(keep.shape, dtype, out);
  unlocked([&] { quantizer.dequantize(codes, output.span, threads); });
  return output.array;
}

AnyArray fake_quantize_only(const FakeQuantize& quantizer, nb::handle x, nb::handle out,
                            int threads) {
  const FloatArray input = floats_of(x, "x");
  const FloatOutput output = output_like(input, out);
  unlocked([&] { quantizer.fake_quantize(input.view, output.span, threads); });
  return output.array;
}

/// None where there are scales but no such values: for float formats.
template <typename T>
OptionalArray<T> beside_scale(const StoredQParams& params, const std::vector<T>& values) {
  if (values.size() != params.scale.size()) {
    return OptionalArray<T>(nb::none());
  }
  return OptionalArray<T>(array_of(values, params.shape));
}

void bind_parameters(nb::module_& module) {
  nb::class_<StoredQParams>(module, "StoredQParams",
                            "Parameters with the rank of the tensor, one of each per unit.")
      .def_prop_ro("scale", [](const StoredQParams& p) { return array_of(p.scale, p.shape); })
      .def_prop_ro("zero_point",
                   [](const StoredQParams& p) { return beside_scale(p, p.zero_point); })
      .def_prop_ro("minval", [](const StoredQParams& p) { return beside_scale(p, p.minval); })
      .def_ro("quant_offset", &StoredQParams::quant_offset);
}

}  // namespace

void bind_fake_quantize(nb::module_& module) {
  bind_parameters(module);
  const auto threads = nb::arg("threads") = 1;
  const auto out = nb::arg("out").none() = nb::none();
  nb::class_<FakeQuantize>(module, "FakeQuantizer", "The library's part of halfstep.FakeQuantize.")
      .def(
          "__init__",
          [](FakeQuantize* self, const QuantizationSpec& spec, const std::string& role) {
            new (self) FakeQuantize(spec, parse_role(role));
          },
          nb::arg("spec"), nb::arg("role"))
      .def("forward", &forward, nb::arg("x").none(), out, threads)
      .def("forward_with_codes", &forward_with_codes, nb::arg("x").none(),
           nb::arg("codes").none() = nb::none(), out, threads)
      .def("observe", &observe, nb::arg("x").none(), threads)
      .def("calculate_qparams", &FakeQuantize::calculate_qparams)
      .def("quantize", &quantize_codes, nb::arg("x").none(), out, threads)
      .def("dequantize", &dequantize_codes, nb::arg("q").none(), nb::arg("dtype"), out, threads)
      .def("fake_quantize", &fake_quantize_only, nb::arg("x").none(), out, threads)
      .def("mapping", &FakeQuantize::mapping, nb::arg("shape"))
      .def("enable_observer", &FakeQuantize::enable_observer)
      .def("disable_observer", &FakeQuantize::disable_observer)
      .def("enable_fake_quant", &FakeQuantize::enable_fake_quant)
      .def("disable_fake_quant", &FakeQuantize::disable_fake_quant)
      .def_prop_ro("observer_enabled", &FakeQuantize::observer_enabled)
      .def_prop_ro("fake_quant_enabled", &FakeQuantize::fake_quant_enabled)
      .def_prop_ro("disabled", &FakeQuantize::disabled)
      .def_prop_ro("observed", &FakeQuantize::observed)
      .def_prop_ro("quant_min", [](const FakeQuantize& q) { return q.spec().quant_min(); })
      .def_prop_ro("quant_max", [](const FakeQuantize& q) { return q.spec().quant_max(); })
      .def(
          "set_granularity",
          [](FakeQuantize& q, nb::handle granularity) {
            q.set_granularity(granularity_from_json(json_of(granularity)));
          },
          nb::arg("granularity"))
      .def("range", &FakeQuantize::range)
      .def("reset", &FakeQuantize::reset)
      .def("state", [](const FakeQuantize& q) { return dict_of(q.state()); })
      .def(
          "load_state", [](FakeQuantize& q, nb::handle state) { q.load_state(json_of(state)); },
          nb::arg("state"))
      .def("merge", &FakeQuantize::merge, nb::arg("other"));
}

}  // namespace halfstep::python
