#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "halfstep/core/quantize.h"
#include "halfstep/encodings/encoding.h"
#include "halfstep/support/byte_sink.h"

namespace halfstep {

/// The float values of a tensor where they lie, in a mapped file or in memory.
struct FloatSource {
  std::span<const std::byte> bytes{};  ///< little-endian, row-major
  Dtype dtype = Dtype::float32;        ///< float32, float16, bfloat16 or float64
  Shape shape{};
  std::shared_ptr<const void> owner{};  ///< keeps `bytes`
  /// Called with parts of `bytes` that are needed soon, and with those that are done; may be empty.
  std::function<void(std::span<const std::byte>)> prefetch{}, drop{};
};

/// A weight that is quantized while it is written, slab by slab along its first axis: neither its
/// float values nor its codes are ever in memory as a whole. Results are those of fit() and
/// quantize() on the whole tensor, bit by bit, on any number of threads.
///
/// Memory: a slab of 16 MiB of values and its codes, and the parameters (8 bytes a unit).
class WeightStream {
 public:
  /// Its parameters are measured on the values. Errors: as those of unit_grid().
  WeightStream(FloatSource source, const ResolvedSpec& spec, Dtype stored, int threads);
  /// Its parameters are known. Errors: as those of bind().
  WeightStream(FloatSource source, const Encoding& encoding, Dtype stored, int threads);

  /// Not LPBQ, the minval formulation, half steps, codes of 32 bits, or ranges other than minmax.
  [[nodiscard]] static bool takes(const QuantizationSpec& spec) noexcept;
  [[nodiscard]] static bool takes(const Encoding& encoding) noexcept;

  [[nodiscard]] const Shape& shape() const noexcept { return source_.shape; }
  /// How the values split into units.
  [[nodiscard]] const UnitGrid& grid() const noexcept { return grid_; }
  /// dtype, granularity and parameter shape of the encoding, with 1 as its only scale: what is
  /// known before the values were looked at.
  [[nodiscard]] Encoding outline() const;
  /// Bytes of all codes, packed in the type `stored`, which has to hold every code.
  [[nodiscard]] std::uint64_t codes_size() const noexcept;
  /// Hands the packed codes to `sink`.
  void write_codes(const ByteSink& sink);
  /// Scales and zero points of all units: measured now, unless write_codes() came right before.
  [[nodiscard]] const QParams& parameters();
  /// Lets the parameters go; they are measured again when they are asked for again.
  void drop_parameters();
  /// The complete encoding; measures it if need be.
  [[nodiscard]] Encoding encoding();
  /// Whether zero points may be other than 0.
  [[nodiscard]] bool has_zero_points() const noexcept;

  /// NaN and infinite values that the last measurement met.
  [[nodiscard]] std::int64_t nan_count() const noexcept { return nan_count_; }
  [[nodiscard]] std::int64_t infinity_count() const noexcept { return infinity_count_; }

 private:
  struct Piece {
    std::int64_t begin, end;  ///< rows: positions along the first axis
  };
  struct PieceResult {
    Ranges ranges{};
    QParams qparams{};
  };
  using PieceWork = std::function<void(const Piece&, const TensorView<const float>&, PieceResult&)>;

  void split();
  [[nodiscard]] Piece piece_at(std::int64_t index) const;
  [[nodiscard]] std::span<const std::byte> bytes_of(const Piece& rows) const;
  [[nodiscard]] UnitGrid grid_of(const Piece& piece) const;
  /// `work` on every piece, on several threads; `joined` after each slab, with its results in
  /// order.
  void for_each_slab(
      const PieceWork& work,
      const std::function<void(const Piece& slab, std::vector<PieceResult>&)>& joined);
  void restart();
  void measure();
  void join(PieceResult& result);
  [[nodiscard]] bool measured() const noexcept { return complete_ || known_.has_value(); }
  [[nodiscard]] Mapping fitted(const Piece& piece, const TensorView<const float>& values,
                               PieceResult& result) const;
  [[nodiscard]] Mapping known(const Piece& piece) const;
  void finish_measuring();

  FloatSource source_;
  std::optional<ResolvedSpec> spec_{};  ///< empty: the parameters are given
  std::optional<Mapping> known_{};      ///< of the whole tensor, as its codes are computed
  Dtype stored_;
  int threads_;
  UnitGrid grid_{};
  std::int64_t row_values_ = 1;
  std::int64_t rows_ = 1;
  std::int64_t rows_per_piece_ = 1;
  std::int64_t pieces_per_slab_ = 1;
  std::int64_t pieces_ = 0;
  bool independent_ = false;  ///< no unit lies in two pieces
  bool complete_ = false;     ///< `qparams_` cover the whole tensor
  Ranges ranges_{};           ///< of the pieces so far, if they share units
  QParams qparams_{};
  std::int64_t nan_count_ = 0;
  std::int64_t infinity_count_ = 0;
};

}  // namespace halfstep
