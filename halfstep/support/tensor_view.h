#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace halfstep {

using Shape = std::vector<std::int64_t>;

/// Product of the dimensions; 1 for a scalar.
[[nodiscard]] std::int64_t element_count(std::span<const std::int64_t> shape) noexcept;
/// Row-major strides in elements.
[[nodiscard]] Shape row_major_strides(std::span<const std::int64_t> shape);
/// "[2, 3, 4]"
[[nodiscard]] std::string to_text(std::span<const std::int64_t> shape);

/// A borrowed n-dimensional array: pointer, shape, strides in elements (may be any, also negative).
template <typename T>
class TensorView {
 public:
  TensorView(T* data, Shape shape) : TensorView(data, shape, row_major_strides(shape)) {}
  TensorView(T* data, Shape shape, Shape strides)
      : data_(data), shape_(std::move(shape)), strides_(std::move(strides)) {}
  /// A mutable view is also a read-only one.
  operator TensorView<const T>() const  // NOLINT(google-explicit-constructor)
    requires(!std::is_const_v<T>)
  {
    return {data_, shape_, strides_};
  }

  [[nodiscard]] T* data() const noexcept { return data_; }
  [[nodiscard]] const Shape& shape() const noexcept { return shape_; }
  [[nodiscard]] const Shape& strides() const noexcept { return strides_; }
  [[nodiscard]] std::size_t rank() const noexcept { return shape_.size(); }
  [[nodiscard]] std::int64_t size() const noexcept { return element_count(shape_); }
  [[nodiscard]] bool contiguous() const { return strides_ == row_major_strides(shape_); }

 private:
  T* data_;
  Shape shape_;
  Shape strides_;
};

}  // namespace halfstep
