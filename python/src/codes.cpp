#include "codes.h"

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

std::span<std::byte> bytes_of(const nanobind::object& array) {
  const Tensor tensor = tensor_of(array);
  return {const_cast<std::byte*>(tensor.data), tensor.bytes()};
}

}  // namespace halfstep::python
