#include <nanobind/stl/map.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "arrays.h"
#include "bindings.h"
#include "halfstep/encodings/encoding_table.h"
#include "halfstep/support/error.h"
#include "json.h"

namespace halfstep::python {
namespace {

using UseKey = std::pair<std::string, std::size_t>;

/// LPBQ has one scale a channel, beside the integer scales of the blocks.
Shape scale_shape(const Encoding& encoding) {
  if (encoding.block_scale.empty()) {
    return encoding.shape;
  }
  return {static_cast<std::int64_t>(encoding.scale.size())};
}

Array<std::int64_t> zero_points(const Encoding& encoding) {
  const std::vector<std::int64_t> zeros(encoding.scale.size(), 0);
  return array_of(encoding.zero_point.empty() ? zeros : encoding.zero_point, scale_shape(encoding));
}

Encoding make_encoding(const std::string& dtype, std::vector<float> scale,
                       std::vector<std::int64_t> zero_point, nb::object granularity,
                       const Shape& shape, std::vector<float> minval,
                       std::vector<std::int32_t> block_scale) {
  return {.dtype = parse_dtype(dtype),
          .granularity = granularity.is_none() ? Granularity(PerTensor{})
                                               : granularity_from_json(json_of(granularity)),
          .shape = shape,
          .scale = std::move(scale),
          .zero_point = std::move(zero_point),
          .minval = std::move(minval),
          .block_scale = std::move(block_scale),
          .origin = Origin::override_file};
}

std::string text_of(const Encoding& encoding) {
  std::string text = "<halfstep.Encoding " + std::string(name(encoding.dtype));
  if (encoding.scale.size() == 1) {
    text += ", scale " + Json(encoding.scale[0]).dump();
  } else if (!encoding.is_float()) {
    text += ", " + std::to_string(encoding.scale.size()) + " scales";
  }
  return text + ", " + std::string(name(encoding.origin)) + ">";
}

void bind_encoding(nb::module_& module) {
  nb::class_<Encoding>(module, "Encoding",
                       "How one tensor is stored: the result of quantization.\n\n"
                       "Formula: value = (q - zero_point) * scale, q in the dtype's own range;\n"
                       "         with minval: value = (q - quant_min) * scale + minval\n"
                       "Shapes:  scale and zero_point are () per tensor, (channels,) per channel, "
                       "one value a block\n"
                       "         per block; with block_scale one value a channel\n"
                       "Units:   scale is in units of the tensor per step, zero_point in steps")
      .def(
          "__init__",
          [](Encoding* self, const std::string& dtype, std::vector<float> scale,
             std::vector<std::int64_t> zero_point, nb::object granularity, const Shape& shape,
             std::vector<float> minval, std::vector<std::int32_t> block_scale) {
            new (self)
                Encoding(make_encoding(dtype, std::move(scale), std::move(zero_point), granularity,
                                       shape, std::move(minval), std::move(block_scale)));
          },
          nb::arg("dtype"), nb::arg("scale") = nb::list(), nb::arg("zero_point") = nb::list(),
          nb::kw_only(), nb::arg("granularity").none() = nb::none(), nb::arg("shape") = nb::tuple(),
          nb::arg("minval") = nb::list(), nb::arg("block_scale") = nb::list(),
          "Values row-major as flat lists, `shape` as above; no scale: a float type.")
      .def_prop_ro("dtype", [](const Encoding& e) { return std::string(name(e.dtype)); })
      .def_prop_ro(
          "granularity", [](const Encoding& e) { return dict_of(to_json(e.granularity)); },
          "As in a QuantizationSpec: {'type': 'per_channel', 'axis': 0}.")
      .def_prop_ro(
          "shape", [](const Encoding& e) { return tuple_of(e.shape); }, "Shape of the parameters.")
      .def_prop_ro(
          "scale", [](const Encoding& e) { return array_of(e.scale, scale_shape(e)); },
          "float32 array; empty for float types.")
      .def_prop_ro("zero_point", &zero_points, "int64 array of the shape of scale.")
      .def_prop_ro(
          "minval", [](const Encoding& e) { return array_or_none(e.minval, scale_shape(e)); },
          "float32 array, or None without the minval formulation.")
      .def_prop_ro(
          "block_scale", [](const Encoding& e) { return array_or_none(e.block_scale, e.shape); },
          "int32 array: integer scale of each block, or None without LPBQ.")
      .def_ro("half_step", &Encoding::half_step, "Subtract another 0.5 from q.")
      .def_prop_ro(
          "origin", [](const Encoding& e) { return std::string(name(e.origin)); },
          "Where the encoding came from.")
      .def_prop_ro("is_float", &Encoding::is_float)
      .def_prop_ro("symmetric", &Encoding::symmetric,
                   "All zero points 0 in a signed type, 2^(bits-1) in an unsigned one.")
      .def(
          "__eq__", [](const Encoding& a, const Encoding& b) { return a == b; }, nb::is_operator(),
          nb::sig("def __eq__(self, other: object, /) -> bool"))
      .def("__repr__", &text_of);
}

const Encoding& item(const EncodingTable& table, const std::string& tensor) {
  const Encoding* encoding = table.find(tensor);
  if (encoding == nullptr) {
    throw nb::key_error(tensor.c_str());
  }
  return *encoding;
}

std::vector<std::string> keys(const EncodingTable& table) {
  std::vector<std::string> names;
  for (const auto& [tensor, encoding] : table) {
    names.push_back(tensor);
  }
  return names;
}

std::vector<std::pair<std::string, Encoding>> items(const EncodingTable& table) {
  return {table.begin(), table.end()};
}

std::map<UseKey, Encoding> uses(const EncodingTable& table) {
  std::map<UseKey, Encoding> result;
  for (const auto& [use, encoding] : table.uses()) {
    result.emplace(UseKey{use.node, use.slot}, encoding);
  }
  return result;
}

void bind_table(nb::module_& module) {
  nb::class_<EncodingTable>(
      module, "EncodingTable",
      "Everything known about the tensors of one model: a mapping from tensor name to Encoding, in "
      "name order, plus encodings of single uses.")
      .def(nb::init<>())
      .def("__len__", &EncodingTable::size)
      .def("__contains__", [](const EncodingTable& t,
                              const std::string& tensor) { return t.find(tensor) != nullptr; })
      .def("__getitem__", &item, nb::rv_policy::copy)
      .def("__setitem__", [](EncodingTable& t, std::string tensor,
                             const Encoding& encoding) { t.set(std::move(tensor), encoding); })
      .def("__delitem__",
           [](EncodingTable& t, const std::string& tensor) {
             static_cast<void>(item(t, tensor));
             t.erase(tensor);
           })
      .def("__iter__", [](const EncodingTable& t) { return nb::iter(nb::cast(keys(t))); })
      .def("keys", &keys, "Tensor names.")
      .def("items", &items, "Pairs of tensor name and Encoding.")
      .def(
          "get",
          [](const EncodingTable& t, const std::string& tensor) {
            const Encoding* found = t.find(tensor);
            return found == nullptr ? std::optional<Encoding>() : *found;
          },
          nb::arg("tensor"), "The tensor's Encoding, or None.")
      .def_prop_ro("uses", &uses,
                   "Encodings of single uses, by (node name, input slot), where a consumer needs "
                   "another one than the tensor's.")
      .def(
          "set_use",
          [](EncodingTable& t, std::string node, std::size_t slot, const Encoding& encoding) {
            t.set_use({.node = std::move(node), .slot = slot}, encoding);
          },
          nb::arg("node"), nb::arg("slot"), nb::arg("encoding"))
      .def("overridden_by", &EncodingTable::overridden_by, nb::arg("overrides"),
           "This table with every entry of `overrides` laid over it.\n\n"
           "Source: QAIRT quantization specification, \"Quantization processing\".")
      .def(
          "__eq__", [](const EncodingTable& a, const EncodingTable& b) { return a == b; },
          nb::is_operator(), nb::sig("def __eq__(self, other: object, /) -> bool"))
      .def("__repr__", [](const EncodingTable& t) {
        return "<halfstep.EncodingTable of " + std::to_string(t.size()) + " tensors>";
      });
}

}  // namespace

void bind_encodings(nb::module_& module) {
  bind_encoding(module);
  bind_table(module);
}

}  // namespace halfstep::python
