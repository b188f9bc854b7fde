#include "arrays.h"

#include <cstring>
#include <string>

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

std::string dtype_text(const nb::object& array) {
  return nb::cast<std::string>(array.attr("dtype").attr("name"));
}

Dtype dtype_of_array(const nb::object& array) {
  const std::string text = dtype_text(array);
  const std::optional<Dtype> dtype = find_dtype(text);
  if (!dtype) {
    throw Error(ErrorKind::invalid_argument,
                "an array of type " + text + "; expected numbers of a type that halfstep knows");
  }
  return *dtype;
}

void* address_of(const nb::object& array) {
  const nb::object address = array.attr("__array_interface__")["data"][0];
  return PyLong_AsVoidPtr(address.ptr());
}

/// In elements; empty if they are not whole numbers of elements.
std::optional<Shape> strides_of(const nb::object& array) {
  const auto size = nb::cast<std::int64_t>(array.attr("itemsize"));
  Shape strides;
  for (const nb::handle stride : array.attr("strides")) {
    strides.push_back(nb::cast<std::int64_t>(stride));
    if (strides.back() % size != 0) {
      return std::nullopt;
    }
    strides.back() /= size;
  }
  return strides;
}

/// The view of an array of a floating type, by NumPy's name of it.
template <typename View>
std::optional<View> view_of(const nb::object& array, const Shape& strides) {
  const std::string dtype = dtype_text(array);
  const Shape shape = shape_from(array);
  void* data = address_of(array);
  constexpr bool kConst = std::is_same_v<View, FloatView>;
  const auto as = [&]<typename T>(T) {
    using Element = std::conditional_t<kConst, const T, T>;
    return View(TensorView<Element>(static_cast<Element*>(data), shape, strides));
  };
  if (dtype == "float32") {
    return as(float());
  }
  if (dtype == "float64") {
    return as(double());
  }
  if (dtype == "float16") {
    return as(Float16());
  }
  if (dtype == "bfloat16") {
    return as(BFloat16());
  }
  return std::nullopt;
}

}  // namespace

Tensor tensor_of(nb::handle value) {
  nb::object array = helpers().attr("as_dense")(value);
  Tensor tensor{.dtype = dtype_of_array(array)};
  tensor.shape = shape_from(array);
  tensor.data = static_cast<const std::byte*>(address_of(array));
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
Array<T> array_of(const std::vector<T>& values, const Shape& shape) {
  auto* copy = new std::vector<T>(values);
  nb::capsule owner(copy,
                    [](void* pointer) noexcept { delete static_cast<std::vector<T>*>(pointer); });
  const std::vector<std::size_t> extents(shape.begin(), shape.end());
  return Array<T>(
      nb::ndarray<nb::numpy, T>(copy->data(), extents.size(), extents.data(), owner).cast());
}
template Array<float> array_of(const std::vector<float>&, const Shape&);
template Array<std::int32_t> array_of(const std::vector<std::int32_t>&, const Shape&);
template Array<std::int64_t> array_of(const std::vector<std::int64_t>&, const Shape&);
template Array<double> array_of(const std::vector<double>&, const Shape&);

IntTuple tuple_of(const Shape& shape) {
  nb::list list;
  for (const std::int64_t extent : shape) {
    list.append(extent);
  }
  return IntTuple(nb::tuple(list));
}

Shape shape_from(nb::handle array) {
  Shape shape;
  for (const nb::handle extent : array.attr("shape")) {
    shape.push_back(nb::cast<std::int64_t>(extent));
  }
  return shape;
}

nb::object empty_array(const Shape& shape, std::string_view dtype) {
  return nb::module_::import_("numpy").attr("empty")(
      tuple_of(shape), helpers().attr("dtype_named")(std::string(dtype)));
}

FloatArray floats_of(nb::handle value, std::string_view name) {
  nb::object array = helpers().attr("as_array")(value);
  std::optional<Shape> strides = strides_of(array);
  if (!strides) {
    array = helpers().attr("as_dense")(array.attr("copy")());
    strides = strides_of(array);
  }
  const std::optional<FloatView> view = view_of<FloatView>(array, *strides);
  if (!view) {
    throw Error(ErrorKind::invalid_argument,
                std::string(name) + " is an array of type " + dtype_text(array) +
                    "; expected float16, bfloat16, float32 or float64");
  }
  return {array, *view};
}

FloatOutput output_of(const Shape& shape, std::string_view dtype, nb::handle out) {
  nb::object array = out.is_none() ? empty_array(shape, dtype) : helpers().attr("as_array")(out);
  const std::optional<Shape> strides = strides_of(array);
  if (dtype_text(array) != dtype || shape_from(array) != shape || !strides) {
    throw Error(ErrorKind::invalid_argument, "out is an array of type " + dtype_text(array) +
                                                 " and shape " + to_text(shape_from(array)) +
                                                 "; expected " + std::string(dtype) + " and " +
                                                 to_text(shape));
  }
  require(nb::cast<bool>(array.attr("flags").attr("writeable")), "out is read-only");
  const std::optional<FloatSpan> span = view_of<FloatSpan>(array, *strides);
  require(span.has_value(), "the result is of type " + std::string(dtype) +
                                "; expected float16, bfloat16, float32 or float64");
  return {array, *span};
}

FloatOutput output_like(const FloatArray& like, nb::handle out) {
  return output_of(shape_of(like.view), dtype_text(like.array), out);
}

nb::object copy_of(const FloatView& view) {
  return std::visit(
      [&]<typename T>(const TensorView<const T>& values) {
        const std::vector<T> copy = contiguous_copy(values);
        std::vector<std::byte> bytes(copy.size() * sizeof(T));
        if (!copy.empty()) {
          std::memcpy(bytes.data(), copy.data(), bytes.size());
        }
        return array_of(make_tensor(dtype_of<T>(), values.shape(), std::move(bytes)));
      },
      view);
}

}  // namespace halfstep::python
