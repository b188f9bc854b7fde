#include "halfstep/encodings/weight_stream.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <numeric>
#include <utility>
#include <variant>

#include "halfstep/core/half.h"
#include "halfstep/support/error.h"
#include "halfstep/support/thread_pool.h"

namespace halfstep {
namespace {

using Bytes = std::span<const std::byte>;

// A piece and its codes stay in the cache of one core; a slab is what one round of threads does.
constexpr std::int64_t kPieceValues = std::int64_t{1} << 17;
constexpr std::int64_t kSlabValues = std::int64_t{1} << 22;
// Rows whose packed codes fill whole bytes, whatever the type.
constexpr std::int64_t kByteRows = 8;

template <typename T>
void widen(Bytes bytes, std::vector<float>& values) {
  values.resize(bytes.size() / sizeof(T));
  for (std::size_t i = 0; i < values.size(); ++i) {
    T value{};
    std::memcpy(&value, bytes.data() + i * sizeof(T), sizeof(T));
    values[i] = to_float(value);
  }
}

/// float32 where it lies, everything else in `buffer`.
const float* as_floats(Bytes bytes, Dtype dtype, std::vector<float>& buffer) {
  switch (dtype) {
    case Dtype::float16:
      widen<Float16>(bytes, buffer);
      break;
    case Dtype::bfloat16:
      widen<BFloat16>(bytes, buffer);
      break;
    case Dtype::float64:
      widen<double>(bytes, buffer);
      break;
    default:
      if (std::bit_cast<std::uintptr_t>(bytes.data()) % alignof(float) == 0) {
        return reinterpret_cast<const float*>(bytes.data());
      }
      widen<float>(bytes, buffer);
  }
  return buffer.data();
}

bool is_source(Dtype dtype) {
  return dtype == Dtype::float32 || dtype == Dtype::float16 || dtype == Dtype::bfloat16 ||
         dtype == Dtype::float64;
}

/// A NaN stays: it is a unit that Policy::reference gave up.
float smaller(float a, float b) { return std::isnan(a) || std::isnan(b) ? a + b : std::min(a, b); }
float larger(float a, float b) { return std::isnan(a) || std::isnan(b) ? a + b : std::max(a, b); }

template <typename T>
void append(std::vector<T>& to, std::vector<T>& from) {
  to.insert(to.end(), from.begin(), from.end());
}

template <typename T>
std::vector<T> part_of(const std::vector<T>& all, std::size_t begin, std::size_t count) {
  if (all.empty()) {
    return {};
  }
  const auto first = all.begin() + static_cast<std::ptrdiff_t>(begin);
  return {first, first + static_cast<std::ptrdiff_t>(count)};
}

}  // namespace

bool WeightStream::takes(const QuantizationSpec& spec) noexcept {
  return !std::holds_alternative<Lpbq>(spec.granularity) && spec.qformulation == Formulation::zp &&
         bits(spec.dtype) <= 16 && spec.range_calculator_cls == "minmax";
}

bool WeightStream::takes(const Encoding& encoding) noexcept {
  return !std::holds_alternative<Lpbq>(encoding.granularity) && encoding.minval.empty() &&
         !encoding.half_step && !encoding.is_float() && bits(encoding.dtype) <= 16;
}

WeightStream::WeightStream(FloatSource source, const ResolvedSpec& spec, Dtype stored, int threads)
    : source_(std::move(source)),
      spec_(spec),
      stored_(stored),
      threads_(threads),
      grid_(unit_grid(spec->granularity, source_.shape, Role::weight)) {
  require(takes(spec.spec()), "a weight of this spec can't be quantized piece by piece");
  split();
}

WeightStream::WeightStream(FloatSource source, const Encoding& encoding, Dtype stored, int threads)
    : source_(std::move(source)),
      known_(halfstep::bind(encoding, source_.shape, Role::weight)),
      stored_(stored),
      threads_(threads),
      grid_(known_->grid) {
  require(takes(encoding), "a weight of this encoding can't be quantized piece by piece");
  split();
}

void WeightStream::split() {
  const auto values = static_cast<std::size_t>(element_count(source_.shape));
  require(is_source(source_.dtype) && source_.bytes.size() == values * storage_size(source_.dtype),
          "a float tensor of shape " + to_text(source_.shape) + " has other bytes");
  rows_ = source_.shape.empty() ? 1 : source_.shape[0];
  row_values_ = rows_ == 0 ? 0 : static_cast<std::int64_t>(values) / rows_;
  independent_ = !grid_.counts.empty() && grid_.counts[0] > 1;
  const std::int64_t step = independent_ ? std::lcm(grid_.sizes[0], kByteRows) : kByteRows;
  const std::int64_t step_values = std::max<std::int64_t>(step * row_values_, 1);
  rows_per_piece_ = step * std::max<std::int64_t>(kPieceValues / step_values, 1);
  const std::int64_t piece_values = std::max<std::int64_t>(rows_per_piece_ * row_values_, 1);
  pieces_per_slab_ = std::max<std::int64_t>(kSlabValues / piece_values, 1);
  pieces_ = values == 0 ? 0 : (rows_ + rows_per_piece_ - 1) / rows_per_piece_;
}

WeightStream::Piece WeightStream::piece_at(std::int64_t index) const {
  return {.begin = std::min(index * rows_per_piece_, rows_),
          .end = std::min((index + 1) * rows_per_piece_, rows_)};
}

Bytes WeightStream::bytes_of(const Piece& rows) const {
  const std::size_t row = static_cast<std::size_t>(row_values_) * storage_size(source_.dtype);
  return source_.bytes.subspan(static_cast<std::size_t>(rows.begin) * row,
                               static_cast<std::size_t>(rows.end - rows.begin) * row);
}

UnitGrid WeightStream::grid_of(const Piece& piece) const {
  UnitGrid grid = grid_;
  if (!grid.shape.empty()) {
    const std::int64_t rows = piece.end - piece.begin;
    grid.shape[0] = rows;
    grid.sizes[0] = independent_ ? grid.sizes[0] : rows;
    grid.counts[0] = independent_ ? rows / grid.sizes[0] : 1;
  }
  return grid;
}

void WeightStream::for_each_slab(
    const PieceWork& work,
    const std::function<void(const Piece& slab, std::vector<PieceResult>&)>& joined) {
  const auto slab_from = [this](std::int64_t first) {
    return Piece{.begin = piece_at(first).begin,
                 .end = piece_at(std::min(first + pieces_per_slab_, pieces_) - 1).end};
  };
  for (std::int64_t first = 0; first < pieces_; first += pieces_per_slab_) {
    const Piece slab = slab_from(first);
    const std::int64_t next = first + pieces_per_slab_;
    if (source_.prefetch && next < pieces_) {
      source_.prefetch(bytes_of(slab_from(next)));
    }
    std::vector<PieceResult> results(
        static_cast<std::size_t>(std::min(pieces_per_slab_, pieces_ - first)));
    parallel_for(threads_, std::ssize(results), 1, [&](std::int64_t begin, std::int64_t end) {
      std::vector<float> buffer;
      for (std::int64_t i = begin; i < end; ++i) {
        const Piece piece = piece_at(first + i);
        const float* values = as_floats(bytes_of(piece), source_.dtype, buffer);
        work(piece, {values, grid_of(piece).shape}, results[static_cast<std::size_t>(i)]);
      }
    });
    joined(slab, results);
    if (source_.drop) {
      source_.drop(bytes_of(slab));
    }
  }
}

/// Parameters of a piece that shares no unit, in the form in which the whole tensor would use them.
Mapping WeightStream::fitted(const Piece& piece, const TensorView<const float>& values,
                             PieceResult& result) const {
  Mapping mapping{.spec = *spec_, .grid = grid_of(piece), .qparams = {}};
  result.ranges = measure_range(values, mapping.grid, (*spec_)->policy);
  mapping.qparams = choose_qparams(result.ranges, *spec_, mapping.grid);
  result.qparams = mapping.qparams;
  return halfstep::bind(encoding_of(mapping, Origin::calibrated), mapping.grid.shape, Role::weight);
}

Mapping WeightStream::known(const Piece& piece) const {
  Mapping mapping{.spec = known_->spec, .grid = grid_of(piece), .qparams = {}};
  std::size_t first = 0;
  const auto count = static_cast<std::size_t>(mapping.grid.units());
  if (independent_) {
    first = static_cast<std::size_t>(piece.begin / mapping.grid.sizes[0] * mapping.grid.units() /
                                     mapping.grid.counts[0]);
  }
  mapping.qparams.scale = part_of(known_->qparams.scale, first, count);
  mapping.qparams.zero_point = part_of(known_->qparams.zero_point, first, count);
  return mapping;
}

/// Takes over what was measured on the next piece.
void WeightStream::join(PieceResult& result) {
  nan_count_ += result.ranges.nan_count;
  infinity_count_ += result.ranges.infinity_count;
  if (independent_) {
    append(qparams_.scale, result.qparams.scale);
    append(qparams_.zero_point, result.qparams.zero_point);
  } else if (ranges_.min.empty()) {
    ranges_ = std::move(result.ranges);
  } else {
    std::ranges::transform(ranges_.min, result.ranges.min, ranges_.min.begin(), smaller);
    std::ranges::transform(ranges_.max, result.ranges.max, ranges_.max.begin(), larger);
  }
}

void WeightStream::restart() {
  drop_parameters();
  ranges_ = {};
  nan_count_ = infinity_count_ = 0;
}

void WeightStream::drop_parameters() {
  complete_ = false;
  qparams_ = {};
}

void WeightStream::finish_measuring() {
  if (!independent_) {
    if (ranges_.min.empty()) {  // no values at all
      ranges_ = measure_range(TensorView<const float>(nullptr, grid_.shape), grid_);
    }
    qparams_ = choose_qparams(ranges_, *spec_, grid_);
    const Mapping mapping{.spec = *spec_, .grid = grid_, .qparams = qparams_};
    known_ = halfstep::bind(encoding_of(mapping, Origin::calibrated), grid_.shape, Role::weight);
  }
  complete_ = true;
}

void WeightStream::measure() {
  restart();
  for_each_slab(
      [this](const Piece& piece, const TensorView<const float>& values, PieceResult& result) {
        const UnitGrid grid = grid_of(piece);
        result.ranges = measure_range(values, grid, (*spec_)->policy);
        if (independent_) {
          result.qparams = choose_qparams(result.ranges, *spec_, grid);
        }
      },
      [this](const Piece&, std::vector<PieceResult>& results) {
        std::ranges::for_each(results, [this](PieceResult& result) { join(result); });
      });
  finish_measuring();
}

std::uint64_t WeightStream::codes_size() const noexcept {
  return packed_size(static_cast<std::size_t>(element_count(source_.shape)), stored_);
}

void WeightStream::write_codes(const ByteSink& sink) {
  const bool fits_while_writing = spec_ && independent_;
  if (fits_while_writing) {
    restart();
  } else if (!measured()) {
    measure();
  }
  std::vector<std::byte> packed;
  const auto packed_bytes = [this](std::int64_t rows) {
    return packed_size(static_cast<std::size_t>(rows * row_values_), stored_);
  };
  const std::int64_t slab_rows = rows_per_piece_ * pieces_per_slab_;
  packed.resize(packed_bytes(std::min(slab_rows, rows_)));
  for_each_slab(
      [&](const Piece& piece, const TensorView<const float>& values, PieceResult& result) {
        const Mapping mapping = fits_while_writing ? fitted(piece, values, result) : known(piece);
        std::vector<std::byte> codes(static_cast<std::size_t>(values.size()) *
                                     storage_size(mapping.spec->dtype));
        quantize(values, mapping, codes);
        const std::size_t at = packed_bytes(piece.begin % slab_rows);
        pack(codes, stored_, std::span(packed).subspan(at, packed_bytes(piece.end - piece.begin)));
      },
      [&](const Piece& slab, std::vector<PieceResult>& results) {
        if (fits_while_writing) {
          std::ranges::for_each(results, [this](PieceResult& result) { join(result); });
        }
        sink(std::span(packed).first(packed_bytes(slab.end - slab.begin)));
      });
  if (fits_while_writing) {
    finish_measuring();
  }
}

const QParams& WeightStream::parameters() {
  if (!spec_) {
    return known_->qparams;
  }
  if (!complete_) {
    measure();
  }
  return qparams_;
}

Encoding WeightStream::outline() const {
  const ResolvedSpec& spec = spec_ ? *spec_ : known_->spec;
  Encoding encoding = encoding_of({.spec = spec, .grid = grid_, .qparams = {}}, Origin::calibrated);
  encoding.scale = {1.0F};
  encoding.zero_point = {0};
  return encoding;
}

Encoding WeightStream::encoding() {
  const ResolvedSpec& spec = spec_ ? *spec_ : known_->spec;
  return encoding_of({.spec = spec, .grid = grid_, .qparams = parameters()}, Origin::calibrated);
}

bool WeightStream::has_zero_points() const noexcept {
  const ResolvedSpec& spec = spec_ ? *spec_ : known_->spec;
  return is_integer(spec->dtype) &&
         (spec->qscheme == Scheme::asymmetric || !is_signed_integer(spec->dtype));
}

}  // namespace halfstep
