#include "halfstep/core/quantize_wide.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <string>
#include <type_traits>
#include <variant>
#include <vector>

#include "halfstep/core/minifloat.h"
#include "halfstep/core/padding.h"
#include "halfstep/core/plan.h"
#include "halfstep/support/error.h"

namespace halfstep::internal {
namespace {

double to_double(double value) { return value; }
template <typename T>
double to_double(T value) {
  return to_float(value);
}

template <typename T>
T from_double(double value) {
  if constexpr (std::is_same_v<T, double>) {
    return value;
  } else {
    return from_float<T>(static_cast<float>(value));
  }
}

/// Whole numbers of any storage width, little endian.
std::int64_t load_code(const std::byte* from, Dtype dtype) {
  const std::size_t size = storage_size(dtype);
  std::uint64_t word = 0;
  std::memcpy(&word, from, size);
  if (!is_signed_integer(dtype)) {
    return static_cast<std::int64_t>(word);
  }
  const auto shift = static_cast<unsigned>(64 - 8 * size);
  return static_cast<std::int64_t>(word << shift) >> shift;
}

void store_code(std::int64_t code, Dtype dtype, std::byte* to) {
  std::memcpy(to, &code, storage_size(dtype));
}

struct UnitParams {
  double scale, zero_point, offset;
};

UnitParams params_of(const Mapping& mapping, std::size_t unit) {
  const QParams& p = mapping.qparams;
  if (mapping.spec->qformulation == Formulation::minval) {
    return {p.scale[unit], mapping.spec.quant_min(), p.minval[unit]};
  }
  return {p.scale[unit], p.zero_point.empty() ? 0.0 : p.zero_point[unit], 0.0};
}

/// NaN stays.
double clamped(double value, double low, double high) {
  value = value < low ? low : value;
  return value > high ? high : value;
}

double round_integer(double x, const UnitParams& p, const ResolvedSpec& spec) {
  const double q = std::rint((x - p.offset) / p.scale) + p.zero_point;
  return clamped(q, spec.quant_min(), spec.quant_max());
}

std::uint8_t encode_minifloat(double r, Dtype dtype) {
  const auto value = static_cast<float>(r);
  return dtype == Dtype::float8_e4m3fn ? float_to_e4m3fn(value)
         : dtype == Dtype::float8_e5m2 ? float_to_e5m2(value)
                                       : float_to_e2m1(value);
}

/// Code and value of one x.
struct Result {
  std::int64_t code;
  double value;
};

Result quantize_one(double x, const UnitParams& p, const ResolvedSpec& spec) {
  if (is_floating(spec->dtype)) {
    const double r = clamped(x / p.scale, spec.quant_min(), spec.quant_max());
    const std::uint8_t code = encode_minifloat(r, spec->dtype);
    const double decoded = decoded_bytes(spec->dtype)[code];
    return {code, std::isnan(r) ? r : decoded * p.scale};
  }
  const double q = round_integer(x, p, spec);
  const double code = std::isnan(q) ? clamped(p.zero_point, spec.quant_min(), spec.quant_max()) : q;
  return {static_cast<std::int64_t>(code), (q - p.zero_point) * p.scale + p.offset};
}

double dequantize_one(const std::byte* code, const UnitParams& p, const ResolvedSpec& spec) {
  if (is_floating(spec->dtype)) {
    return decoded_bytes(spec->dtype)[static_cast<std::size_t>(*code)] * p.scale;
  }
  const auto q = static_cast<double>(load_code(code, spec->dtype));
  return (q - p.zero_point) * p.scale + p.offset;
}

}  // namespace

template <typename T>
void quantize_wide(const T* x, const Mapping& mapping, std::byte* codes, T* y) {
  const ResolvedSpec& spec = mapping.spec;
  const std::size_t size = storage_size(spec->dtype);
  const auto one = [&](std::int64_t element, std::int64_t unit) {
    const auto at = static_cast<std::size_t>(element);
    const UnitParams p = params_of(mapping, static_cast<std::size_t>(unit));
    if (x == nullptr) {
      y[at] = from_double<T>(dequantize_one(codes + at * size, p, spec));
      return;
    }
    const Result result = quantize_one(to_double(x[at]), p, spec);
    if (codes != nullptr) {
      store_code(result.code, spec->dtype, codes + at * size);
    }
    if (y != nullptr) {
      y[at] = from_double<T>(result.value);
    }
  };
  constexpr std::int64_t kWhole = std::numeric_limits<std::int64_t>::max() / 2;
  Plan(mapping.grid).for_each(1, kWhole, [&](std::int64_t, const Tile& tile) {
    for (std::int64_t row = 0; row < tile.rows; ++row) {
      for (std::int64_t i = 0; i < tile.length; ++i) {
        one(tile.element + row * tile.row_stride + i, tile.unit + (tile.columns ? i : row));
      }
    }
  });
}

template void quantize_wide(const float*, const Mapping&, std::byte*, float*);
template void quantize_wide(const double*, const Mapping&, std::byte*, double*);
template void quantize_wide(const Float16*, const Mapping&, std::byte*, Float16*);
template void quantize_wide(const BFloat16*, const Mapping&, std::byte*, BFloat16*);

}  // namespace halfstep::internal

namespace halfstep {
namespace {

template <typename T>
void mark(const std::vector<T>& x, const Mapping& mapping, std::span<std::byte> mask) {
  const ResolvedSpec& spec = mapping.spec;
  const auto inside = [&](double value, std::size_t unit) {
    const internal::UnitParams p = internal::params_of(mapping, unit);
    double q = (value - p.offset) / p.scale;
    q = is_floating(spec->dtype) ? q : std::rint(q) + p.zero_point;
    return q >= spec.quant_min() && q <= spec.quant_max();  // false for NaN
  };
  constexpr std::int64_t kWhole = std::numeric_limits<std::int64_t>::max() / 2;
  internal::Plan(mapping.grid).for_each(1, kWhole, [&](std::int64_t, const internal::Tile& tile) {
    for (std::int64_t row = 0; row < tile.rows; ++row) {
      for (std::int64_t i = 0; i < tile.length; ++i) {
        const auto at = static_cast<std::size_t>(tile.element + row * tile.row_stride + i);
        const auto unit = static_cast<std::size_t>(tile.unit + (tile.columns ? i : row));
        mask[at] = std::byte{inside(internal::to_double(x[at]), unit)};
      }
    }
  });
}

}  // namespace

void gradient_mask(const FloatView& x, const Mapping& mapping, std::span<std::byte> mask) {
  const auto count = static_cast<std::size_t>(element_count(mapping.grid.shape));
  if (shape_of(x) != mapping.grid.shape || mask.size() != count) {
    throw Error(ErrorKind::invalid_argument, "a tensor of shape " + to_text(shape_of(x)) +
                                                 " and a mask of " + std::to_string(mask.size()) +
                                                 " bytes; the parameters were made for " +
                                                 to_text(mapping.grid.shape));
  }
  if (!mapping.grid.uneven()) {
    std::visit([&](const auto& view) { mark(contiguous_copy(view), mapping, mask); }, x);
    return;
  }
  const Mapping whole{mapping.spec, internal::padded(mapping.grid), mapping.qparams};
  std::vector<std::byte> padded(static_cast<std::size_t>(element_count(whole.grid.shape)));
  std::visit(
      [&](const auto& view) {
        mark(internal::resized(contiguous_copy(view), view.shape(), whole.grid.shape), whole,
             padded);
      },
      x);
  internal::resize_values(padded.data(), whole.grid.shape, mask.data(), mapping.grid.shape, 1);
}

}  // namespace halfstep
