#include "arrays.h"

#include <cstring>
#include <string>

#include <nanobind/ndarray.h>
#include <nanobind/stl/string.h>

#include "bindings.h"
#include "halfstep/support/error.h"

namespace halfstep::python {
namespace {

nb::module_ helpers() { return nb::module_::import_("halfstep._arrays"); }

/// Python objects may only be let go while Python's lock is held, tensors end anywhere.
std::shared_ptr<const void> keep(nb::object object) {
  return {object.release().ptr(), [](const void* pointer) {
            const nb::gil_scoped_acquire lock;
            Py_DECREF(static_cast<PyObject*>(const_cast<void*>(pointer)));
          }};
}

Dtype dtype_of(const nb::object& array) {
  const std::string text = nb::cast<std::string>(array.attr("dtype").attr("name"));
  const std::optional<Dtype> dtype = find_dtype(text == "bool" ? "boolean" : text);
  if (!dtype) {
    throw Error(ErrorKind::invalid_argument,
                "an array of type " + text + "; expected numbers of a type that halfstep knows");
  }
  return *dtype;
}

}  // namespace

Tensor tensor_of(nb::handle value) {
  nb::object array = helpers().attr("as_dense")(value);
  Tensor tensor{.dtype = dtype_of(array)};
  for (const nb::handle extent : array.attr("shape")) {
    tensor.shape.push_back(nb::cast<std::int64_t>(extent));
  }
  const nb::object address = array.attr("__array_interface__")["data"][0];
  tensor.data = static_cast<const std::byte*>(PyLong_AsVoidPtr(address.ptr()));
  tensor.owner = keep(std::move(array));
  return tensor;
}

nb::object array_of(const Tensor& tensor) {
  nb::capsule owner(new Tensor(tensor),
                    [](void* pointer) noexcept { delete static_cast<Tensor*>(pointer); });
  nb::ndarray<nb::numpy, const std::uint8_t, nb::ndim<1>> raw(tensor.data, {tensor.bytes()}, owner);
  return helpers().attr("from_bytes")(raw.cast(), std::string(name(tensor.dtype)),
                                      tuple_of(tensor.shape));
}

template <typename T>
nb::object array_of(const std::vector<T>& values, const Shape& shape) {
  auto* copy = new std::vector<T>(values);
  nb::capsule owner(copy,
                    [](void* pointer) noexcept { delete static_cast<std::vector<T>*>(pointer); });
  const std::vector<std::size_t> extents(shape.begin(), shape.end());
  return nb::ndarray<nb::numpy, T>(copy->data(), extents.size(), extents.data(), owner).cast();
}
template nb::object array_of(const std::vector<float>&, const Shape&);
template nb::object array_of(const std::vector<std::int32_t>&, const Shape&);
template nb::object array_of(const std::vector<std::int64_t>&, const Shape&);

nb::tuple tuple_of(const Shape& shape) {
  nb::list list;
  for (const std::int64_t extent : shape) {
    list.append(extent);
  }
  return nb::tuple(list);
}

}  // namespace halfstep::python
