#include "codes.h"

#include <nanobind/stl/string.h>

#include "halfstep/support/error.h"

namespace halfstep::python {

std::string code_dtype(Dtype dtype) {
  return is_floating(dtype) && bits(dtype) <= 8 ? "uint8"
                                                : std::string(name(get_target_dtype(dtype)));
}

std::span<const std::byte> codes_of(nanobind::handle value, Dtype dtype, Tensor& keep) {
  keep = tensor_of(value);
  const std::string expected = code_dtype(dtype);
  require(name(keep.dtype) == expected, "codes of " + std::string(name(dtype)) + " are of type " +
                                            std::string(name(keep.dtype)) + "; expected " +
                                            expected);
  return {keep.data, keep.bytes()};
}

nanobind::object codes_output(const Shape& shape, Dtype dtype, nanobind::handle out) {
  const std::string expected = code_dtype(dtype);
  if (out.is_none()) {
    return empty_array(shape, expected);
  }
  nanobind::object array = nanobind::module_::import_("halfstep._arrays").attr("as_array")(out);
  const auto found = nanobind::cast<std::string>(array.attr("dtype").attr("name"));
  require(found == expected && shape_from(array) == shape,
          "the array for the codes is of type " + found + " and shape " +
              to_text(shape_from(array)) + "; expected " + expected + " and " + to_text(shape));
  const nanobind::object flags = array.attr("flags");
  require(nanobind::cast<bool>(flags.attr("writeable")), "the array for the codes is read-only");
  require(nanobind::cast<bool>(flags.attr("c_contiguous")),
          "the array for the codes is not row-major; give one that is, such as numpy.empty(shape)");
  return array;
}

std::span<std::byte> bytes_of(const nanobind::object& array) {
  const Tensor tensor = tensor_of(array);
  return {const_cast<std::byte*>(tensor.data), tensor.bytes()};
}

}  // namespace halfstep::python
