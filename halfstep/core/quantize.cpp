#include "halfstep/core/quantize.h"

#include <cstdint>
#include <limits>
#include <string>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "halfstep/core/kernels/minifloat/minifloat.h"
#include "halfstep/core/kernels/quantize/quantize.h"
#include "halfstep/core/minifloat.h"
#include "halfstep/core/padding.h"
#include "halfstep/core/plan.h"
#include "halfstep/core/quantize_wide.h"
#include "halfstep/core/strided.h"
#include "halfstep/support/error.h"

namespace halfstep {
namespace {

using internal::Plan;
using internal::Tile;

constexpr std::int64_t kBuffer =
    4096;  ///< values widened, or given parameters of their own, at once
constexpr std::int64_t kShortRow = 16;  ///< shorter rows get parameters for each value
constexpr std::int64_t kWhole = std::numeric_limits<std::int64_t>::max() / 2;

[[noreturn]] void fail(const std::string& message) {
  throw Error(ErrorKind::invalid_argument, message);
}

void check_mapping(const Mapping& mapping, const Shape& shape) {
  const auto units = static_cast<std::size_t>(mapping.grid.units());
  const QParams& p = mapping.qparams;
  if (shape != mapping.grid.shape) {
    fail("the tensor has shape " + to_text(shape) + "; expected " + to_text(mapping.grid.shape) +
         ", the shape its parameters were made for");
  }
  const bool minval = mapping.spec->qformulation == Formulation::minval;
  if (p.scale.size() != units || (!p.zero_point.empty() && p.zero_point.size() != units) ||
      (minval && p.minval.size() != units)) {
    fail("a tensor of shape " + to_text(shape) + " with " + std::to_string(units) +
         " units needs as many parameters; found " + std::to_string(p.scale.size()) + " scales, " +
         std::to_string(p.zero_point.size()) + " zero points, " + std::to_string(p.minval.size()) +
         " minvals");
  }
}

void check_codes(std::size_t bytes, const Mapping& mapping) {
  const std::size_t needed = static_cast<std::size_t>(element_count(mapping.grid.shape)) *
                             storage_size(mapping.spec->dtype);
  if (bytes != needed) {
    fail("the codes of a tensor of shape " + to_text(mapping.grid.shape) + " in " +
         std::string(name(mapping.spec->dtype)) + " take " + std::to_string(needed) +
         " bytes; found " + std::to_string(bytes));
  }
}

kernels::CodeType code_type(Dtype dtype) {
  const bool is_signed = is_signed_integer(dtype);
  if (bits(dtype) > 8) {
    return is_signed ? kernels::CodeType::int16 : kernels::CodeType::uint16;
  }
  return is_signed ? kernels::CodeType::int8 : kernels::CodeType::uint8;
}

kernels::Minifloat minifloat_format(Dtype dtype) {
  return dtype == Dtype::float8_e4m3fn ? kernels::Minifloat::e4m3fn
         : dtype == Dtype::float8_e5m2 ? kernels::Minifloat::e5m2
                                       : kernels::Minifloat::e2m1;
}

/// Parameters of a tile: those of the mapping, or a copy with one of each value.
struct TileParams {
  const float* scale = nullptr;
  const std::int32_t* zero_point = nullptr;
  const float* offset = nullptr;
};

/// Buffers of one thread.
struct Scratch {
  std::vector<float> values{}, scale{}, offset{};
  std::vector<std::int32_t> zero_point{};
};

/// One piece of work on a tile: x to codes and values, or codes to values.
struct Piece {
  const float* x = nullptr;
  float* y = nullptr;
  void* codes = nullptr;
};

/// Runs the kernels of a mapping on tiles.
class TileRunner {
 public:
  TileRunner(const Mapping& mapping, bool dequantize) : mapping_(mapping), dequantize_(dequantize) {
    const QParams& p = mapping.qparams;
    const bool minval = mapping.spec->qformulation == Formulation::minval;
    all_.scale = p.scale.data();
    all_.zero_point = minval || p.zero_point.empty() ? nullptr : p.zero_point.data();
    all_.offset = minval ? p.minval.data() : nullptr;
  }

  void run(const Tile& tile, const Piece& piece, Scratch& scratch) const {
    Tile shape = tile;
    TileParams params = params_at(tile.unit);
    if (tile.length < kShortRow && tile.row_stride == tile.length && tile.rows > 1) {
      params = spread(tile, params, scratch);
      shape.columns = true;
      shape.length = tile.rows * tile.length;
      shape.row_stride = shape.length;
      shape.rows = 1;
    }
    if (is_floating(mapping_.spec->dtype)) {
      run_minifloat(shape, piece, params);
    } else {
      run_integer(shape, piece, params);
    }
  }

 private:
  [[nodiscard]] TileParams params_at(std::int64_t unit) const {
    return {all_.scale + unit, all_.zero_point != nullptr ? all_.zero_point + unit : nullptr,
            all_.offset != nullptr ? all_.offset + unit : nullptr};
  }

  static TileParams spread(const Tile& tile, const TileParams& params, Scratch& scratch) {
    const auto count = static_cast<std::size_t>(tile.rows * tile.length);
    const auto length = static_cast<std::size_t>(tile.length);
    const auto fill = [&](const auto* from, auto& to) {
      to.resize(count);
      for (std::size_t i = 0; i < count; ++i) {
        to[i] = from[tile.columns ? i % length : i / length];
      }
    };
    fill(params.scale, scratch.scale);
    if (params.zero_point != nullptr) {
      fill(params.zero_point, scratch.zero_point);
    }
    if (params.offset != nullptr) {
      fill(params.offset, scratch.offset);
    }
    return {scratch.scale.data(),
            params.zero_point != nullptr ? scratch.zero_point.data() : nullptr,
            params.offset != nullptr ? scratch.offset.data() : nullptr};
  }

  void run_integer(const Tile& tile, const Piece& piece, const TileParams& params) const {
    const ResolvedSpec& spec = mapping_.spec;
    const bool minval = spec->qformulation == Formulation::minval;
    const kernels::QuantizeArgs args{
        .x = piece.x,
        .y = piece.y,
        .codes = piece.codes,
        .code_type = code_type(spec->dtype),
        .rows = static_cast<std::size_t>(tile.rows),
        .length = static_cast<std::size_t>(tile.length),
        .row_stride = static_cast<std::size_t>(tile.row_stride),
        .scale = params.scale,
        .zero_point = params.zero_point,
        .offset = params.offset,
        .one_zero_point = minval ? static_cast<std::int32_t>(spec.quant_min()) : 0,
        .low = static_cast<float>(spec.quant_min()),
        .high = static_cast<float>(spec.quant_max())};
    const kernels::QuantizeKernels& table = kernels::quantize_kernels();
    if (dequantize_) {
      (tile.columns ? table.dequantize_columns : table.dequantize_runs)(args);
    } else {
      (tile.columns ? table.quantize_columns : table.quantize_runs)(args);
    }
  }

  void run_minifloat(const Tile& tile, const Piece& piece, const TileParams& params) const {
    const Dtype dtype = mapping_.spec->dtype;
    const kernels::MinifloatArgs args{.x = piece.x,
                                      .y = piece.y,
                                      .codes = static_cast<std::uint8_t*>(piece.codes),
                                      .format = minifloat_format(dtype),
                                      .rows = static_cast<std::size_t>(tile.rows),
                                      .length = static_cast<std::size_t>(tile.length),
                                      .row_stride = static_cast<std::size_t>(tile.row_stride),
                                      .scale = params.scale,
                                      .decoded = decoded_bytes(dtype).data()};
    const kernels::MinifloatKernels& table = kernels::minifloat_kernels();
    if (dequantize_) {
      (tile.columns ? table.dequantize_columns : table.dequantize_runs)(args);
    } else {
      (tile.columns ? table.quantize_columns : table.quantize_runs)(args);
    }
  }

  const Mapping& mapping_;
  bool dequantize_;
  TileParams all_{};
};

/// What goes in and out: x null to dequantize, codes and y null where they are not wanted.
template <typename T>
struct Views {
  const TensorView<const T>* x = nullptr;
  std::byte* codes = nullptr;  ///< row-major
  const TensorView<T>* y = nullptr;
};

/// Whether the kernels can take a view as it is: float32 in one piece.
template <typename T>
bool is_direct(const TensorView<T>& view) {
  return std::is_same_v<std::remove_const_t<T>, float> && view.contiguous();
}

/// Where the values of a direct view lie; null for others.
template <typename T>
T* at_element(const TensorView<T>* view, std::int64_t element) {
  return view == nullptr ? nullptr : view->data() + element;
}

/// x (null: dequantize) to codes and y as wanted. Of float32 that lies in one piece the kernels
/// take what they get; everything else goes through a buffer, tile by tile. A tile of bounded size
/// is one run of values: whole rows, or a part of one.
template <typename T>
void process(const Views<T>& views, const Mapping& mapping, int threads) {
  const TileRunner runner(mapping, views.x == nullptr);
  const auto code_size = static_cast<std::int64_t>(storage_size(mapping.spec->dtype));
  const bool buffer_x = views.x != nullptr && !is_direct(*views.x);
  const bool buffer_y = views.y != nullptr && !is_direct(*views.y);
  const bool direct = !buffer_x && !buffer_y;
  const Plan plan(mapping.grid);
  const std::int64_t most = direct && plan.row_length() >= kShortRow ? kWhole : kBuffer;
  plan.for_each(threads, most, [&](std::int64_t, const Tile& tile) {
    thread_local Scratch scratch;
    const std::int64_t count = tile.rows * tile.length;
    scratch.values.resize(direct ? 0 : static_cast<std::size_t>(count));
    float* const values = scratch.values.data();
    Piece piece{.x = buffer_x ? values : nullptr, .y = buffer_y ? values : nullptr};
    piece.codes = views.codes == nullptr ? nullptr : views.codes + tile.element * code_size;
    if constexpr (std::is_same_v<T, float>) {
      piece.x = buffer_x ? values : at_element(views.x, tile.element);
      piece.y = buffer_y ? values : at_element(views.y, tile.element);
    }
    if (buffer_x) {
      internal::gather(*views.x, tile.element, count, values);
    }
    runner.run(tile, piece, scratch);
    if (buffer_y) {
      internal::spread(values, *views.y, tile.element, count);
    }
  });
}

/// float64 is computed as such, and codes of 32 bits need more than float32 holds.
template <typename T>
void process_wide(const Views<T>& views, const Mapping& mapping) {
  std::vector<T> x, y;
  const T* in = views.x == nullptr ? nullptr : views.x->data();
  if (views.x != nullptr && !views.x->contiguous()) {
    x = contiguous_copy(*views.x);
    in = x.data();
  }
  T* out = views.y == nullptr ? nullptr : views.y->data();
  if (views.y != nullptr && !views.y->contiguous()) {
    y.resize(static_cast<std::size_t>(views.y->size()));
    out = y.data();
  }
  internal::quantize_wide(in, mapping, views.codes, out);
  if (!y.empty()) {
    scatter(y, *views.y);
  }
}

template <typename T>
void run(const Views<T>& views, const Mapping& mapping, int threads) {
  if (std::is_same_v<T, double> || bits(mapping.spec->dtype) > 16) {
    process_wide(views, mapping);
  } else {
    process(views, mapping, threads);
  }
}

/// Through copies in which the last units are as long as the others.
template <typename T>
void run_padded(const Views<T>& views, const Mapping& mapping, int threads) {
  const Shape& shape = mapping.grid.shape;
  const Mapping whole{
      .spec = mapping.spec, .grid = internal::padded(mapping.grid), .qparams = mapping.qparams};
  const Shape& padded = whole.grid.shape;
  const auto count = static_cast<std::size_t>(element_count(padded));
  const std::size_t code_size = storage_size(mapping.spec->dtype);
  std::vector<std::byte> codes(views.codes == nullptr ? 0 : count * code_size);
  std::vector<T> values(count);
  if (views.x != nullptr) {
    values = internal::resized(contiguous_copy(*views.x), shape, padded);
  } else {
    internal::resize_values(views.codes, shape, codes.data(), padded, code_size);
  }
  const TensorView<T> y(values.data(), padded);
  const TensorView<const T> x = y;
  run(Views<T>{.x = views.x == nullptr ? nullptr : &x,
               .codes = views.codes == nullptr ? nullptr : codes.data(),
               .y = views.y == nullptr ? nullptr : &y},
      whole, threads);
  if (views.x != nullptr && views.codes != nullptr) {
    internal::resize_values(codes.data(), padded, views.codes, shape, code_size);
  }
  if (views.y != nullptr) {
    scatter(internal::resized(values, padded, shape), *views.y);
  }
}

template <typename T>
void dispatch(const Views<T>& views, const Mapping& mapping, int threads) {
  if (element_count(mapping.grid.shape) == 0) {
    return;
  }
  if (mapping.grid.uneven()) {
    run_padded(views, mapping, threads);
  } else if (views.x != nullptr && views.y != nullptr && internal::entangled(*views.x, *views.y)) {
    const std::vector<T> copy = contiguous_copy(*views.x);
    const TensorView<const T> x(copy.data(), views.x->shape());
    run(Views<T>{.x = &x, .codes = views.codes, .y = views.y}, mapping, threads);
  } else {
    run(views, mapping, threads);
  }
}

template <typename T>
const TensorView<T>& same_type(const FloatSpan& y) {
  if (const auto* view = std::get_if<TensorView<T>>(&y)) {
    return *view;
  }
  fail("the output has another floating type than the input; expected " +
       std::string(name(dtype_of<T>())));
}

}  // namespace

void quantize(const FloatView& x, const Mapping& mapping, std::span<std::byte> q, int threads) {
  check_mapping(mapping, shape_of(x));
  check_codes(q.size(), mapping);
  std::visit(
      [&]<typename T>(const TensorView<const T>& view) {
        dispatch<T>({.x = &view, .codes = q.data()}, mapping, threads);
      },
      x);
}

void dequantize(std::span<const std::byte> q, const Mapping& mapping, const FloatSpan& x,
                int threads) {
  check_mapping(mapping, shape_of(x));
  check_codes(q.size(), mapping);
  std::visit(
      [&]<typename T>(const TensorView<T>& view) {
        // The kernels take one set of arguments for both ways; these codes are only read.
        auto* codes = const_cast<std::byte*>(q.data());  // NOLINT(*-const-cast)
        dispatch<T>({.codes = codes, .y = &view}, mapping, threads);
      },
      x);
}

void fake_quantize(const FloatView& x, const Mapping& mapping, const FloatSpan& y, int threads) {
  check_mapping(mapping, shape_of(x));
  check_mapping(mapping, shape_of(y));
  std::visit(
      [&]<typename T>(const TensorView<const T>& view) {
        dispatch<T>({.x = &view, .y = &same_type<T>(y)}, mapping, threads);
      },
      x);
}

void quantize_and_fake_quantize(const FloatView& x, const Mapping& mapping, std::span<std::byte> q,
                                const FloatSpan& y, int threads) {
  check_mapping(mapping, shape_of(x));
  check_mapping(mapping, shape_of(y));
  check_codes(q.size(), mapping);
  std::visit(
      [&]<typename T>(const TensorView<const T>& view) {
        dispatch<T>({.x = &view, .codes = q.data(), .y = &same_type<T>(y)}, mapping, threads);
      },
      x);
}

void quantize(const TensorView<const float>& x, const Mapping& mapping, std::span<std::byte> q,
              int threads) {
  quantize(FloatView(x), mapping, q, threads);
}

void dequantize(std::span<const std::byte> q, const Mapping& mapping, TensorView<float> x,
                int threads) {
  dequantize(q, mapping, FloatSpan(std::move(x)), threads);
}

void fake_quantize(const TensorView<const float>& x, const Mapping& mapping, TensorView<float> y,
                   int threads) {
  fake_quantize(FloatView(x), mapping, FloatSpan(std::move(y)), threads);
}

}  // namespace halfstep
