#include "halfstep/core/spec.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <variant>

#include "halfstep/core/calculators.h"
#include "halfstep/core/spec_names.h"
#include "halfstep/support/error.h"

namespace halfstep {
namespace {

using Problems = std::vector<std::string>;

std::string in_quotes(std::string_view text) { return '"' + std::string(text) + '"'; }

std::string number_text(double value) {
  return std::isfinite(value) ? Json(value).dump() : std::to_string(value);
}

bool is_minifloat(Dtype dtype) {
  return dtype == Dtype::float8_e4m3fn || dtype == Dtype::float8_e5m2 ||
         dtype == Dtype::float4_e2m1fn_x2;
}

bool is_quantized_type(Dtype dtype) {
  return is_minifloat(dtype) || (is_integer(dtype) && bits(dtype) <= 32);
}

void check_types(const QuantizationSpec& spec, Problems& problems) {
  if (!is_quantized_type(spec.dtype)) {
    problems.push_back("dtype: " + in_quotes(name(spec.dtype)) +
                       " is not a quantized type; use int1 to int8, uint1 to uint8, int16, uint16, "
                       "int32, uint32, float8_e4m3fn, float8_e5m2 or float4_e2m1fn_x2");
    return;
  }
  if (spec.dtype == Dtype::int1 && spec.qscheme == Scheme::symmetric_with_clipping) {
    problems.push_back("qscheme: symmetric_with_clipping leaves int1 only the value 0");
  }
  if (spec.qscheme == Scheme::symmetric_aimet && bits(spec.dtype) == 1) {
    problems.push_back("qscheme: symmetric_aimet leaves " + std::string(name(spec.dtype)) +
                       " no value above 0");
  }
  if (spec.qscheme == Scheme::symmetric_aimet && spec.qformulation == Formulation::minval) {
    problems.push_back("qformulation: \"minval\" with symmetric_aimet; only \"zp\" is possible");
  }
  if (spec.scale_dtype && *spec.scale_dtype != Dtype::float8_e8m0fnu) {
    problems.push_back("scale_dtype: " + in_quotes(name(*spec.scale_dtype)) +
                       "; only null and \"float8_e8m0fnu\" exist");
  } else if (spec.scale_dtype && is_integer(spec.dtype) && spec.dtype != Dtype::int8) {
    problems.push_back("scale_dtype: of the integer types only int8 can have float8_e8m0fnu, not " +
                       std::string(name(spec.dtype)));
  }
  const bool only_symmetric = is_minifloat(spec.dtype) || spec.scale_dtype.has_value();
  const std::string why =
      is_minifloat(spec.dtype) ? std::string(name(spec.dtype)) : "scale_dtype float8_e8m0fnu";
  if (only_symmetric && spec.qscheme != Scheme::symmetric) {
    problems.push_back("qscheme: " + in_quotes(name(spec.qscheme)) + " with " + why +
                       "; only \"symmetric\" is possible");
  }
  if (only_symmetric && spec.qformulation != Formulation::zp) {
    problems.push_back("qformulation: " + in_quotes(name(spec.qformulation)) + " with " + why +
                       "; only \"zp\" is possible");
  }
}

void check_bound(const char* which, const std::optional<double>& bound, Problems& problems) {
  if (bound && !(std::abs(*bound) <= std::numeric_limits<float>::max())) {
    problems.push_back(std::string("float_range: the ") + which + " bound is " +
                       number_text(*bound) + "; expected a finite float32 number or null");
  }
}

void check_float_range(const QuantizationSpec& spec, Problems& problems) {
  check_bound("lower", spec.float_min, problems);
  check_bound("upper", spec.float_max, problems);
  if (spec.float_min && *spec.float_min > 0) {
    problems.push_back("float_range: the lower bound is " + number_text(*spec.float_min) +
                       "; it must be <= 0");
  }
  if (spec.float_max && *spec.float_max < 0) {
    problems.push_back("float_range: the upper bound is " + number_text(*spec.float_max) +
                       "; it must be >= 0");
  }
  if (spec.float_min && spec.float_max && *spec.float_min >= *spec.float_max) {
    problems.push_back("float_range: the lower bound " + number_text(*spec.float_min) +
                       " must be less than the upper bound " + number_text(*spec.float_max));
  }
}

void check_block_sizes(const PerBlock& blocks, Problems& problems) {
  if (blocks.block_size.empty()) {
    problems.push_back("granularity: per_block needs a block_size");
  }
  for (const std::int64_t size : blocks.block_size) {
    if (size <= 0 && size != -1) {  // whether -1 has a meaning is seen at use
      problems.push_back("granularity: block_size " + to_text(blocks.block_size) + " holds " +
                         std::to_string(size) + "; a size must be > 0 or -1 (the whole axis)");
    }
  }
}

void check_lpbq(const QuantizationSpec& spec, const Lpbq& lpbq, Problems& problems) {
  if (lpbq.block_size <= 0) {
    problems.push_back("granularity: lpbq block_size is " + std::to_string(lpbq.block_size) +
                       "; it must be > 0");
  }
  if (lpbq.axis && lpbq.channel_axis && *lpbq.axis == *lpbq.channel_axis) {
    problems.push_back("granularity: lpbq axis and channel_axis are both " +
                       std::to_string(*lpbq.axis) + "; they must differ");
  }
  if (!is_signed_integer(spec.dtype) || spec.qscheme == Scheme::asymmetric ||
      spec.qformulation != Formulation::zp || spec.scale_dtype) {
    problems.push_back(
        "granularity: lpbq needs a signed integer dtype, a symmetric qscheme, "
        "qformulation zp and no scale_dtype");
  } else if (lpbq.decompressed_bits <= bits(spec.dtype) || lpbq.decompressed_bits > 16) {
    problems.push_back("granularity: lpbq decompressed_bits is " +
                       std::to_string(lpbq.decompressed_bits) + "; it must be more than the " +
                       std::to_string(bits(spec.dtype)) + " bits of " +
                       std::string(name(spec.dtype)) + " and at most 16");
  }
}

void check_granularity(const QuantizationSpec& spec, Problems& problems) {
  if (const auto* blocks = std::get_if<PerBlock>(&spec.granularity)) {
    check_block_sizes(*blocks, problems);
  } else if (const auto* lpbq = std::get_if<Lpbq>(&spec.granularity)) {
    check_lpbq(spec, *lpbq, problems);
  }
}

void check_name(std::string_view field, const std::string& value,
                const std::vector<std::string>& known, Problems& problems) {
  if (std::find(known.begin(), known.end(), value) != known.end()) {
    return;
  }
  std::string problem = std::string(field) + ": " + in_quotes(value) + " is not registered";
  if (const std::string closest = closest_match(value, known); !closest.empty()) {
    problem += "; did you mean " + in_quotes(closest) + "?";
  } else {
    problem += "; known:";
    for (const std::string& name : known) {
      problem += ' ' + name;
    }
  }
  problems.push_back(problem);
}

void check_components(const QuantizationSpec& spec, Problems& problems) {
  check_name("fake_quantize_cls", spec.fake_quantize_cls, fake_quantizers().names(), problems);
  check_name("qparam_calculator_cls", spec.qparam_calculator_cls, qparams_calculators().names(),
             problems);
  check_name("range_calculator_cls", spec.range_calculator_cls, range_calculators().names(),
             problems);
  if (spec.qparam_calculator_cls == "dynamic" && spec.qscheme == Scheme::symmetric_with_clipping) {
    problems.push_back(
        "qparam_calculator_cls: \"dynamic\" can't be combined with symmetric_with_clipping");
  }
  if (!(spec.eps >= 0 && spec.eps <= std::numeric_limits<float>::max())) {
    problems.push_back("eps: " + number_text(spec.eps) + "; expected a finite number >= 0");
  }
  if (!(spec.averaging_constant >= 0 && spec.averaging_constant <= 1)) {
    problems.push_back("averaging_constant: " + number_text(spec.averaging_constant) +
                       "; expected a number from 0 to 1");
  }
}

[[noreturn]] void throw_problems(std::string_view what, const Problems& problems, ErrorKind kind) {
  std::string message(what);
  for (const std::string& problem : problems) {
    message += problems.size() == 1 ? " " : "\n  ";
    message += problem;
  }
  throw Error(kind, message);
}

}  // namespace

std::vector<std::string> broken_rules(const QuantizationSpec& spec) {
  Problems problems;
  check_types(spec, problems);
  check_granularity(spec, problems);
  check_float_range(spec, problems);
  check_components(spec, problems);
  return problems;
}

ResolvedSpec resolve(const QuantizationSpec& spec, Role role) {
  Problems problems = broken_rules(spec);
  if (spec.qparam_calculator_cls == "dynamic") {
    if (role != Role::activation) {
      problems.push_back("qparam_calculator_cls: \"dynamic\" is for activations, not for a " +
                         std::string(name(role)));
    }
    if (spec.float_min || spec.float_max) {
      problems.push_back("float_range: \"dynamic\" measures every batch and takes no fixed bound");
    }
  }
  if (!problems.empty()) {
    throw_problems("quantization spec:", problems, ErrorKind::invalid_argument);
  }
  ResolvedSpec resolved;
  resolved.spec_ = spec;
  resolved.role_ = role;
  if (spec.dtype == Dtype::float4_e2m1fn_x2) {
    resolved.spec_.scale_dtype = Dtype::float8_e8m0fnu;
  }
  const QuantRange range = get_quant_range(spec.dtype, spec.qscheme);
  resolved.quant_min_ = range.min;
  resolved.quant_max_ = range.max;
  return resolved;
}

void check_export(const QuantizationSpec& spec, Backend backend, Role role) {
  Problems problems;
  const bool lpbq = std::holds_alternative<Lpbq>(spec.granularity);
  const bool minval = spec.qformulation == Formulation::minval;
  if (spec.qparam_calculator_cls == "dynamic") {
    problems.push_back("qparam_calculator_cls \"dynamic\" has no stored parameters to export");
  }
  if (minval && backend != Backend::coreai) {
    problems.push_back("qformulation \"minval\" can't be expressed; use \"zp\"");
  }
  if (lpbq && backend != Backend::qnn) {
    problems.push_back("granularity \"lpbq\" can't be expressed; use \"per_block\"");
  }
  const bool byte = spec.dtype == Dtype::int8 || spec.dtype == Dtype::uint8;
  if (backend == Backend::coreml && role == Role::activation && !byte) {
    problems.push_back("dtype " + in_quotes(name(spec.dtype)) +
                       " of an activation can't be expressed; use \"int8\" or \"uint8\"");
  }
  if (backend == Backend::onnx && info(spec.dtype).onnx == 0) {
    problems.push_back("dtype " + in_quotes(name(spec.dtype)) +
                       " has no ONNX type; use the next wider one");
  }
  if (backend == Backend::qnn && (!is_integer(spec.dtype) || bits(spec.dtype) < 2)) {
    problems.push_back("dtype " + in_quotes(name(spec.dtype)) +
                       " can't be expressed; use an integer of 2 bits or more");
  }
  if (backend == Backend::qnn && spec.scale_dtype) {
    problems.push_back("scale_dtype " + in_quotes(name(*spec.scale_dtype)) +
                       " can't be expressed; use null");
  }
  if (!problems.empty()) {
    throw_problems("export to " + std::string(name(backend)) + ":", problems,
                   ErrorKind::unsupported);
  }
}

QuantRange get_quant_range(Dtype dtype, Scheme scheme) {
  (void)get_n_bits_from_dtype(dtype);  // refuses bool
  const DtypeInfo& row = info(dtype);
  if (scheme == Scheme::symmetric_with_clipping && is_signed_integer(dtype)) {
    return {-row.highest, row.highest};
  }
  return {row.lowest, row.highest};
}

std::string_view name(Role role) noexcept { return internal::name_in(internal::kRoles, role); }
std::string_view name(Scheme scheme) noexcept {
  return internal::name_in(internal::kSchemes, scheme);
}
std::string_view name(Formulation formulation) noexcept {
  return internal::name_in(internal::kFormulations, formulation);
}
std::string_view name(Policy policy) noexcept {
  return internal::name_in(internal::kPolicies, policy);
}
std::string_view name(E8m0Mode mode) noexcept {
  return internal::name_in(internal::kE8m0Modes, mode);
}
std::string_view name(UnevenBlocks blocks) noexcept {
  return internal::name_in(internal::kUnevenBlocks, blocks);
}

UnevenBlocks uneven_blocks(const QuantizationSpec& spec) noexcept {
  if (spec.uneven_blocks != UnevenBlocks::by_policy) {
    return spec.uneven_blocks;
  }
  return spec.policy == Policy::reference ? UnevenBlocks::skip : UnevenBlocks::error;
}

std::string_view name(Backend backend) noexcept {
  return internal::name_in(internal::kBackends, backend);
}
std::optional<Backend> find_backend(std::string_view name) noexcept {
  return internal::find_in(internal::kBackends, name);
}

}  // namespace halfstep
