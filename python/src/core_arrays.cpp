#include <span>

#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "arrays.h"
#include "codes.h"
#include "core.h"
#include "halfstep/core/quantize.h"
#include "halfstep/core/torch_ops.h"
#include "halfstep/support/error.h"
#include "json.h"

namespace halfstep::python {
namespace {

AnyArray quantize_array(nb::handle x, const Mapping& mapping, nb::handle out, int threads) {
  const FloatArray input = floats_of(x, "x");
  nb::object codes = codes_output(shape_of(input.view), mapping.spec->dtype, out);
  const std::span<std::byte> bytes = bytes_of(codes);
  unlocked([&] { quantize(input.view, mapping, bytes, threads); });
  return codes;
}

nb::tuple quantize_and_fake_quantize_array(nb::handle x, const Mapping& mapping, nb::handle codes,
                                           nb::handle out, int threads) {
  const FloatArray input = floats_of(x, "x");
  FloatOutput output = output_like(input, out);
  nb::object q = codes_output(shape_of(input.view), mapping.spec->dtype, codes);
  const std::span<std::byte> bytes = bytes_of(q);
  unlocked([&] { quantize_and_fake_quantize(input.view, mapping, bytes, output.span, threads); });
  return nb::make_tuple(q, output.array);
}

AnyArray dequantize_array(nb::handle q, const Mapping& mapping, const std::string& dtype,
                          nb::handle out, int threads) {
  Tensor keep;
  const std::span<const std::byte> codes = codes_of(q, mapping.spec->dtype, keep);
  FloatOutput output = output_of(keep.shape, dtype, out);
  unlocked([&] { dequantize(codes, mapping, output.span, threads); });
  return output.array;
}

AnyArray fake_quantize_array(nb::handle x, const Mapping& mapping, nb::handle out, int threads) {
  const FloatArray input = floats_of(x, "x");
  FloatOutput output = output_like(input, out);
  unlocked([&] { fake_quantize(input.view, mapping, output.span, threads); });
  return output.array;
}

AnyArray mask_array(nb::handle x, const Mapping& mapping) {
  const FloatArray input = floats_of(x, "x");
  nb::object mask = empty_array(shape_of(input.view), "bool");
  const std::span<std::byte> bytes = bytes_of(mask);
  unlocked([&] { gradient_mask(input.view, mapping, bytes); });
  return mask;
}

AnyArray pack_array(nb::handle q, const std::string& dtype) {
  const Dtype type = parse_dtype(dtype);
  Tensor keep;
  const std::span<const std::byte> codes = codes_of(q, type, keep);
  const auto count = static_cast<std::size_t>(element_count(keep.shape));
  nb::object packed = empty_array({static_cast<std::int64_t>(packed_size(count, type))}, "uint8");
  pack(codes, type, bytes_of(packed));
  return packed;
}

AnyArray unpack_array(nb::handle packed, const std::string& dtype, const Shape& shape) {
  const Dtype type = parse_dtype(dtype);
  Tensor keep;
  const std::span<const std::byte> bytes = codes_of(packed, Dtype::uint8, keep);
  const std::size_t expected = packed_size(static_cast<std::size_t>(element_count(shape)), type);
  require(bytes.size() == expected, "packed holds " + std::to_string(bytes.size()) + " bytes; " +
                                        to_text(shape) + " of " + dtype + " takes " +
                                        std::to_string(expected));
  nb::object codes = empty_array(shape, code_dtype(type));
  unpack(bytes, type, bytes_of(codes));
  return codes;
}

Mapping fit_array(nb::handle x, const QuantizationSpec& spec, const std::string& role,
                  int threads) {
  const FloatArray input = floats_of(x, "x");
  const ResolvedSpec resolved = resolve(spec, parse_role(role));
  const nb::gil_scoped_release unlocked;
  const UnitGrid grid = unit_grid(resolved, shape_of(input.view));
  const Ranges ranges = measure_range(input.view, grid, resolved->policy, threads);
  return {resolved, grid, choose_qparams(ranges, resolved, grid)};
}

Mapping make_mapping(const QuantizationSpec& spec, const std::string& role, const Shape& shape,
                     std::vector<float> scale, std::vector<std::int32_t> zero_point,
                     std::vector<float> minval) {
  const ResolvedSpec resolved = resolve(spec, parse_role(role));
  const UnitGrid grid = unit_grid(resolved, shape);
  const auto units = static_cast<std::size_t>(grid.units());
  if (zero_point.empty()) {
    zero_point.assign(units, 0);
  }
  if (minval.empty()) {
    minval.assign(units, 0);
  }
  require(scale.size() == units && zero_point.size() == units && minval.size() == units,
          "the tensor has " + std::to_string(units) + " units; got " +
              std::to_string(scale.size()) + " scales, " + std::to_string(zero_point.size()) +
              " zero points, " + std::to_string(minval.size()) + " minvals");
  return {resolved,
          grid,
          {.scale = std::move(scale),
           .zero_point = std::move(zero_point),
           .minval = std::move(minval),
           .block_scale = {},
           .channel_scale = {}}};
}

Ranges measure_array(nb::handle x, const UnitGrid& grid, const std::string& policy, int threads) {
  const FloatArray input = floats_of(x, "x");
  const nb::gil_scoped_release unlocked;
  return measure_range(input.view, grid, parse_policy(policy), threads);
}

void bind_ranges(nb::module_& module) {
  const auto flat = [](const std::vector<float>& values) {
    return array_of(values, {static_cast<std::int64_t>(values.size())});
  };
  nb::class_<Ranges>(module, "Ranges",
                     "Smallest and largest value of each unit, units in row-major order.")
      .def(
          "__init__",
          [](Ranges* self, nb::handle min, nb::handle max, const std::string& dtype) {
            const auto values = [](nb::handle array) {
              return nb::cast<std::vector<float>>(array.attr("tolist")());
            };
            new (self) Ranges{.min = values(min), .max = values(max), .dtype = parse_dtype(dtype)};
            require(self->min.size() == self->max.size(), "min and max differ in length");
          },
          nb::arg("min"), nb::arg("max"), nb::arg("dtype") = "float32")
      .def_prop_ro("min", [flat](const Ranges& r) { return flat(r.min); })
      .def_prop_ro("max", [flat](const Ranges& r) { return flat(r.max); })
      .def_ro("nan_count", &Ranges::nan_count, "NaN left out under the policy \"safe\".")
      .def_ro("infinity_count", &Ranges::infinity_count)
      .def_prop_ro(
          "dtype", [](const Ranges& r) { return std::string(name(r.dtype)); },
          "Type that arithmetic with the range rounds to.");
}

void bind_mapping(nb::module_& module) {
  nb::class_<UnitGrid>(module, "UnitGrid", "How a tensor of one shape splits into units.")
      .def(
          "__init__",
          [](UnitGrid* self, nb::handle granularity, const Shape& shape, const std::string& role,
             bool pad) {
            new (self) UnitGrid(unit_grid(granularity_from_json(json_of(granularity)), shape,
                                          parse_role(role), pad));
          },
          nb::arg("granularity"), nb::arg("shape"), nb::arg("role"), nb::arg("pad") = false)
      .def_prop_ro(
          "shape", [](const UnitGrid& g) { return tuple_of(g.shape); }, "Of the tensor.")
      .def_prop_ro(
          "counts", [](const UnitGrid& g) { return tuple_of(g.counts); },
          "Units along each axis: the shape of the parameters.")
      .def_prop_ro(
          "sizes", [](const UnitGrid& g) { return tuple_of(g.sizes); },
          "Values of one unit along each axis.");

  nb::class_<Mapping>(
      module, "Mapping",
      "Everything to turn one tensor into codes and back: spec, units, parameters.\n\n"
      "Shapes: scale, zero_point and minval have grid.counts; block_scale too; "
      "channel_scale has one value a channel.\n"
      "Units:  scale in units of x per step, zero_point in steps, minval in units "
      "of x")
      .def(
          "__init__",
          [](Mapping* self, const QuantizationSpec& spec, const std::string& role,
             const Shape& shape, std::vector<float> scale, std::vector<std::int32_t> zero_point,
             std::vector<float> minval) {
            new (self) Mapping(make_mapping(spec, role, shape, std::move(scale),
                                            std::move(zero_point), std::move(minval)));
          },
          nb::arg("spec"), nb::arg("role"), nb::arg("shape"), nb::arg("scale"),
          nb::arg("zero_point") = nb::list(), nb::arg("minval") = nb::list())
      .def_ro("grid", &Mapping::grid)
      .def_prop_ro("dtype", [](const Mapping& m) { return std::string(name(m.spec->dtype)); })
      .def_prop_ro("quant_min", [](const Mapping& m) { return m.spec.quant_min(); })
      .def_prop_ro("quant_max", [](const Mapping& m) { return m.spec.quant_max(); })
      .def_prop_ro("scale",
                   [](const Mapping& m) { return array_of(m.qparams.scale, m.grid.counts); })
      .def_prop_ro(
          "zero_point",
          [](const Mapping& m) { return array_or_none(m.qparams.zero_point, m.grid.counts); })
      .def_prop_ro("minval",
                   [](const Mapping& m) { return array_or_none(m.qparams.minval, m.grid.counts); })
      .def_prop_ro(
          "block_scale",
          [](const Mapping& m) { return array_or_none(m.qparams.block_scale, m.grid.counts); })
      .def_prop_ro("channel_scale", [](const Mapping& m) {
        const auto& values = m.qparams.channel_scale;
        return array_or_none(values, {static_cast<std::int64_t>(values.size())});
      });
}

}  // namespace

void bind_arrays(nb::module_& module) {
  bind_ranges(module);
  bind_mapping(module);
  const auto threads = nb::arg("threads") = 1;
  const auto out = nb::arg("out").none() = nb::none();
  module.def("fit", &fit_array, nb::arg("x").none(), nb::arg("spec"), nb::arg("role"), threads);
  module.def("measure_range", &measure_array, nb::arg("x").none(), nb::arg("grid"), nb::kw_only(),
             nb::arg("policy") = "reference", threads);
  module.def(
      "choose_qparams",
      [](const Ranges& ranges, const QuantizationSpec& spec, const std::string& role,
         const UnitGrid& grid) {
        const ResolvedSpec resolved = resolve(spec, parse_role(role));
        return Mapping{resolved, grid, choose_qparams(ranges, resolved, grid)};
      },
      nb::arg("ranges"), nb::arg("spec"), nb::arg("role"), nb::arg("grid"));
  module.def("quantize_array", &quantize_array, nb::arg("x").none(), nb::arg("mapping"), out,
             threads);
  module.def("quantize_and_fake_quantize_array", &quantize_and_fake_quantize_array,
             nb::arg("x").none(), nb::arg("mapping"), nb::arg("codes").none() = nb::none(), out,
             threads);
  module.def("dequantize_array", &dequantize_array, nb::arg("q").none(), nb::arg("mapping"),
             nb::arg("dtype") = "float32", out, threads);
  module.def("fake_quantize_array", &fake_quantize_array, nb::arg("x").none(), nb::arg("mapping"),
             out, threads);
  module.def("gradient_mask", &mask_array, nb::arg("x").none(), nb::arg("mapping"));
  module.def("pack", &pack_array, nb::arg("q").none(), nb::arg("dtype"));
  module.def("unpack", &unpack_array, nb::arg("packed"), nb::arg("dtype"), nb::arg("shape"));
}

}  // namespace halfstep::python
