#include "halfstep/evaluation/probe.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "halfstep/core/half.h"

namespace halfstep {
namespace {

template <typename T>
double load(const Tensor& tensor, std::size_t i) {
  T value{};
  std::memcpy(&value, tensor.data + i * sizeof(T), sizeof(T));
  if constexpr (std::is_class_v<T>) {
    return static_cast<double>(to_float(value));
  } else {
    return static_cast<double>(value);
  }
}

using Load = double (*)(const Tensor&, std::size_t);

Load loader(Dtype dtype) {
  switch (dtype) {
    case Dtype::float32:
      return load<float>;
    case Dtype::float64:
      return load<double>;
    case Dtype::float16:
      return load<Float16>;
    case Dtype::bfloat16:
      return load<BFloat16>;
    case Dtype::int8:
      return load<std::int8_t>;
    case Dtype::int16:
      return load<std::int16_t>;
    case Dtype::int32:
      return load<std::int32_t>;
    case Dtype::int64:
      return load<std::int64_t>;
    case Dtype::uint8:
    case Dtype::boolean:
      return load<std::uint8_t>;
    case Dtype::uint16:
      return load<std::uint16_t>;
    case Dtype::uint32:
      return load<std::uint32_t>;
    default:
      throw Error(ErrorKind::unsupported,
                  "the error of " + std::string(name(dtype)) + " values can't be measured");
  }
}

void add(ErrorPower& power, double reference, double actual) {
  // What is not finite in the reference has no power, so no error beside it either.
  if (!std::isfinite(reference)) {
    return;
  }
  const double difference = reference == actual ? 0.0 : reference - actual;
  ++power.values;
  power.signal += reference * reference;
  power.error +=
      std::isnan(difference) ? std::numeric_limits<double>::infinity() : difference * difference;
}

/// Positions of a tensor of `total` values that are looked at: one in each of `number` equal parts.
/// Where in its part is scattered by a hash, as a fixed step may fall in step with rows or
/// channels.
struct Positions {
  Positions(std::int64_t count, std::size_t most)
      : number(static_cast<std::size_t>(
            std::min(count, static_cast<std::int64_t>(std::max<std::size_t>(most, 1))))),
        total(static_cast<std::size_t>(count)) {}
  [[nodiscard]] std::int64_t at(std::size_t i) const noexcept {
    const std::size_t begin = start(i);
    const std::size_t hash = (i + 1) * std::size_t{0x9E3779B97F4A7C15} >> 20U;
    return static_cast<std::int64_t>(begin + hash % (start(i + 1) - begin));
  }
  std::size_t number = 0;
  std::size_t total = 0;

 private:
  /// floor(i * total / number), without overflow.
  [[nodiscard]] std::size_t start(std::size_t i) const noexcept {
    return total / number * i + total % number * i / number;
  }
};

}  // namespace

double ErrorPower::sqnr_db() const noexcept {
  if (error == 0) {
    return std::numeric_limits<double>::infinity();
  }
  return 10 * std::log10(signal / error);
}

ErrorPower error_power(const Tensor& reference, const Tensor& actual) {
  if (reference.shape != actual.shape) {
    throw Error(ErrorKind::invalid_argument,
                "shapes differ: " + to_text(reference.shape) + " and " + to_text(actual.shape));
  }
  const Load load_reference = loader(reference.dtype);
  const Load load_actual = loader(actual.dtype);
  ErrorPower power;
  const auto count = static_cast<std::size_t>(element_count(reference.shape));
  for (std::size_t i = 0; i < count; ++i) {
    add(power, load_reference(reference, i), load_actual(actual, i));
  }
  return power;
}

Probe::Probe(std::size_t tensors, std::size_t values_per_tensor)
    : values_per_tensor_(values_per_tensor), errors_(tensors) {}

void Probe::remember(std::size_t tensor, std::size_t sample, const WatchedValue& value) {
  const Positions positions(element_count(value.shape), values_per_tensor_);
  std::vector<float> values(positions.number);
  for (std::size_t i = 0; i < values.size(); ++i) {
    values[i] = value.at(positions.at(i));
  }
  remembered_.insert_or_assign({tensor, sample}, std::move(values));
}

void Probe::compare(std::size_t tensor, std::size_t sample, const WatchedValue& value) {
  const auto found = remembered_.find({tensor, sample});
  require(found != remembered_.end(), "tensor " + std::to_string(tensor) + " of sample " +
                                          std::to_string(sample) + " was not remembered");
  const Positions positions(element_count(value.shape), values_per_tensor_);
  require(
      positions.number == found->second.size(),
      "tensor " + std::to_string(tensor) + " has another number of values than in the float run");
  for (std::size_t i = 0; i < positions.number; ++i) {
    add(errors_.at(tensor), static_cast<double>(found->second[i]),
        static_cast<double>(value.at(positions.at(i))));
  }
}

}  // namespace halfstep
