#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "halfstep/core/dtype.h"
#include "halfstep/support/json.h"
#include "halfstep/support/tensor_view.h"

namespace halfstep {

enum class Scheme : std::uint8_t {
  symmetric,                ///< scale = max_abs / ((quant_max - quant_min) / 2)
  symmetric_with_clipping,  ///< signed: quant range [-(2^(b-1) - 1), 2^(b-1) - 1]
  asymmetric,
  /// scale = max(max / (quant_max - z), min / (quant_min - z)), z the zero point of `symmetric`:
  /// both ends of the range fit. As AIMET's symmetric quantizers.
  symmetric_aimet,
};
enum class Formulation : std::uint8_t { zp, minval };
enum class Role : std::uint8_t { weight, activation, lut };
/// `reference` is bit-identical to coreai-opt / torch; `safe` differs in the points
/// docs/policies.md lists.
enum class Policy : std::uint8_t { reference, safe };
enum class E8m0Mode : std::uint8_t { floor, ceil, fit, even };
/// What happens to a tensor whose extent a block does not divide: `by_policy` is `skip` under
/// Policy::reference and `error` under Policy::safe; `skip` leaves the tensor as it is; `pad` gives
/// it a last block that is shorter.
enum class UnevenBlocks : std::uint8_t { by_policy, error, skip, pad };

struct PerTensor {
  bool operator==(const PerTensor&) const = default;
};
struct PerChannel {
  std::optional<std::int64_t> axis{};  ///< negative counts from the end; empty: chosen by the op
  bool operator==(const PerChannel&) const = default;
};
/// With `axis`: blocks of block_size[0] along it (the seed's `(n,)`); without: one size per axis,
/// -1 = whole axis.
struct PerBlock {
  std::optional<std::int64_t> axis{};  ///< empty with one block size: chosen by the op
  Shape block_size{};
  bool operator==(const PerBlock&) const = default;
};
/// Low-power blockwise (QAIRT): integer block scales 1..2^k on a float scale per channel.
struct Lpbq {
  std::optional<std::int64_t> axis{};  ///< block axis; empty: chosen by the op
  std::int64_t block_size = 0;
  std::optional<std::int64_t> channel_axis{};  ///< empty: chosen by the op
  int decompressed_bits = 8;                   ///< 4-bit codes behave as 8-bit ones: k = 8 - 4
  bool operator==(const Lpbq&) const = default;
};
using Granularity = std::variant<PerTensor, PerChannel, PerBlock, Lpbq>;

/// What the user wants for a tensor (seed 1, coreai_opt QuantizationSpec). A plain value; `resolve`
/// checks it. Field names and string values are the seed's in C++, Python, JSON, YAML.
struct QuantizationSpec {
  Dtype dtype = Dtype::int8;
  Scheme qscheme = Scheme::symmetric;
  Formulation qformulation = Formulation::zp;
  Granularity granularity = PerTensor{};
  std::string fake_quantize_cls = "default";
  std::string qparam_calculator_cls =
      "default";  ///< default, static, moving_average, global_minmax, dynamic
  std::string range_calculator_cls = "minmax";
  std::optional<double> float_min{};  ///< float_range[0], must be <= 0
  std::optional<double> float_max{};  ///< float_range[1], must be >= 0
  std::optional<Dtype> scale_dtype{};
  double eps = 1.1920928955078125e-07;  ///< smallest scale, 2^-23; 0 gives the seed's bare formula
  double averaging_constant = 0.01;     ///< of moving_average
  Policy policy = Policy::reference;
  E8m0Mode e8m0_mode = E8m0Mode::floor;
  UnevenBlocks uneven_blocks = UnevenBlocks::by_policy;  ///< JSON: null, "error", "skip", "pad"
  Json extra =
      Json::object();  ///< fields of a subclass, passed to the constructors of its components
  bool operator==(const QuantizationSpec&) const = default;
};

/// A spec all of whose rules were checked, with the derived numbers. Only `resolve` makes one.
class ResolvedSpec {
 public:
  [[nodiscard]] const QuantizationSpec& spec() const noexcept { return spec_; }
  [[nodiscard]] const QuantizationSpec* operator->() const noexcept { return &spec_; }
  [[nodiscard]] Role role() const noexcept { return role_; }
  [[nodiscard]] double quant_min() const noexcept { return quant_min_; }
  [[nodiscard]] double quant_max() const noexcept { return quant_max_; }

 private:
  friend ResolvedSpec resolve(const QuantizationSpec& spec, Role role);
  ResolvedSpec() = default;
  QuantizationSpec spec_{};
  Role role_ = Role::weight;
  double quant_min_ = 0;
  double quant_max_ = 0;
};

/// The rules that `spec` breaks whatever its role, each with field, value, rule; empty if it is
/// legal.
[[nodiscard]] std::vector<std::string> broken_rules(const QuantizationSpec& spec);
/// Fills in what a legal spec leaves open: the scale_dtype of FP4. `role` adds the rules of its
/// place. Errors: invalid_argument that lists *all* broken rules, each with field, value, rule.
[[nodiscard]] ResolvedSpec resolve(const QuantizationSpec& spec, Role role);

/// Lossless both ways; unknown keys are errors with the closest name, except those in
/// `extra_fields`, the fields a subclass adds: they land in `extra`, as do the members of a key
/// "extra". The derived fields n_bits, target_dtype, quant_min, quant_max may be given if they are
/// right. Errors: invalid_argument listing everything that is wrong: types, unknown keys and broken
/// rules. The JSON has the seed's field names: dtype, qscheme, qformulation, granularity {"type":
/// ...}, fake_quantize_cls, qparam_calculator_cls, range_calculator_cls, float_range [lo, hi],
/// scale_dtype, and ours.
[[nodiscard]] QuantizationSpec spec_from_json(const Json& json,
                                              const std::vector<std::string>& extra_fields = {});
[[nodiscard]] Json to_json(const QuantizationSpec& spec);
[[nodiscard]] Granularity granularity_from_json(const Json& json);
[[nodiscard]] Json to_json(const Granularity& granularity);

/// Quantized range of a dtype under a scheme, e.g. int8 symmetric_with_clipping: {-127, 127}.
struct QuantRange {
  double min, max;
};
[[nodiscard]] QuantRange get_quant_range(Dtype dtype, Scheme scheme);

/// The fields beyond the base ones, passed to the constructors of the components.
/// Source: coreai_opt QuantizationSpec.get_extra_args
[[nodiscard]] inline const Json& get_extra_args(const QuantizationSpec& spec) noexcept {
  return spec.extra;
}

/// uneven_blocks of the spec, its policy's choice filled in.
[[nodiscard]] UnevenBlocks uneven_blocks(const QuantizationSpec& spec) noexcept;

/// Where the result is to go; each place has limits of its own.
enum class Backend : std::uint8_t { coreml, coreai, onnx, qnn };
/// Errors: unsupported, listing every reason why `backend` can't express the spec:
///         coreml zp only, activations int8 or uint8; coreai anything but dynamic and LPBQ;
///         onnx and qnn zp only, nothing dynamic; onnx only types that TensorProto has and no LPBQ;
///         qnn only integers of at least 2 bits, without e8m0 scales.
void check_export(const QuantizationSpec& spec, Backend backend, Role role);

[[nodiscard]] std::string_view name(Role role) noexcept;
[[nodiscard]] std::string_view name(Backend backend) noexcept;
[[nodiscard]] std::optional<Backend> find_backend(std::string_view name) noexcept;
[[nodiscard]] std::string_view name(Scheme scheme) noexcept;
[[nodiscard]] std::string_view name(Formulation formulation) noexcept;
[[nodiscard]] std::string_view name(Policy policy) noexcept;
[[nodiscard]] std::string_view name(E8m0Mode mode) noexcept;
[[nodiscard]] std::string_view name(UnevenBlocks blocks) noexcept;

}  // namespace halfstep
