#include "halfstep/core/fake_quantizer.h"

#include <algorithm>
#include <string>
#include <utility>
#include <variant>

#include "halfstep/core/lean_qparams.h"
#include "halfstep/core/state.h"
#include "halfstep/support/error.h"

namespace halfstep {
namespace {

void copy_values(const FloatView& x, const FloatSpan& y) {
  std::visit(
      [&]<typename T>(const TensorView<const T>& from) {
        const auto* to = std::get_if<TensorView<T>>(&y);
        require(to != nullptr, "the output has another floating type than the input");
        require(to->shape() == from.shape(), "the output has the shape " + to_text(to->shape()) +
                                                 "; expected that of the input, " +
                                                 to_text(from.shape()));
        if (to->data() != from.data()) {
          scatter(contiguous_copy(from), *to);
        }
      },
      x);
}

/// A unit of no values has no range.
void check_not_empty(const UnitGrid& grid) {
  const bool no_values = std::find(grid.sizes.begin(), grid.sizes.end(), 0) != grid.sizes.end();
  if (no_values) {
    throw Error(ErrorKind::invalid_argument,
                "a tensor of shape " + to_text(grid.shape) +
                    " is empty and has no range; leave it out, or give it values");
  }
}

Json shape_json(const Shape& shape) { return Json(shape); }

Json switches_json(bool observer, bool fake_quant, bool disabled) {
  return {
      {"observer_enabled", observer}, {"fake_quant_enabled", fake_quant}, {"disabled", disabled}};
}

bool read_switch(const Json& state, const char* key) {
  const Json& value = internal::read_member(state, key);
  require(value.is_boolean(),
          "saved state: \"" + std::string(key) + "\" must be true or false, found " + value.dump());
  return value.get<bool>();
}

Shape read_shape(const Json& json) {
  Shape shape;
  require(json.is_array(), "saved state: \"shape\" must be a list, found " + json.dump());
  for (const Json& extent : json) {
    require(extent.is_number_integer() && extent.get<std::int64_t>() >= 0,
            "saved state: \"shape\" holds " + extent.dump() + "; expected whole numbers");
    shape.push_back(extent.get<std::int64_t>());
  }
  return shape;
}

}  // namespace

FakeQuantize::FakeQuantize(const QuantizationSpec& spec, Role role)
    : FakeQuantize(resolve(spec, role)) {}

FakeQuantize::FakeQuantize(const ResolvedSpec& spec)
    : spec_(spec),
      range_calculator_(make_range_calculator(spec)),
      calculator_(make_qparams_calculator(spec)),
      implementation_(make_fake_quantizer(spec)),
      fitted_{.spec = spec, .grid = {}, .qparams = {}} {}

void FakeQuantize::forward(const FloatView& x, const FloatSpan& y, int threads) {
  if (observer_enabled_) {
    observe(x, threads);
  }
  if (disabled_ || !fake_quant_enabled_) {
    copy_values(x, y);
    return;
  }
  fake_quantize(x, y, threads);
}

void FakeQuantize::forward_with_codes(const FloatView& x, std::span<std::byte> q,
                                      const FloatSpan& y, int threads) {
  if (observer_enabled_) {
    observe(x, threads);
  }
  if (disabled_ || !fake_quant_enabled_) {
    throw Error(ErrorKind::unsupported,
                disabled_
                    ? "the blocks of a tensor did not divide, so the quantizer is off and there "
                      "are no codes; choose another block size or uneven_blocks \"pad\""
                    : "the fake quantization is off and there are no codes; turn it on");
  }
  with_mapping(shape_of(x), [&](const Mapping& mapping) {
    implementation_->quantize_and_fake_quantize(x, mapping, q, y, threads);
  });
}

void FakeQuantize::observe(const FloatView& x, int threads) {
  const Shape& shape = shape_of(x);
  if (disabled_) {
    return;
  }
  if (uneven_blocks(spec_.spec()) == UnevenBlocks::skip &&
      has_uneven_blocks(spec_->granularity, shape)) {
    disabled_ = true;
    return;
  }
  const UnitGrid grid = unit_grid(spec_, shape);
  check_not_empty(grid);
  check_counts(grid);
  if (!frozen()) {
    update(x, grid, threads);
  }
}

bool FakeQuantize::frozen() const {
  const bool both_bounds = spec_->float_min.has_value() && spec_->float_max.has_value();
  return observed() && both_bounds && spec_->qparam_calculator_cls != "dynamic";
}

void FakeQuantize::check_counts(const UnitGrid& grid) const {
  if (observed() && grid.counts != counts_ && spec_->qparam_calculator_cls != "dynamic") {
    throw Error(ErrorKind::invalid_argument,
                "a tensor of shape " + to_text(grid.shape) + " has parameters of shape " +
                    to_text(grid.counts) + "; those observed so far have the shape " +
                    to_text(counts_));
  }
}

void FakeQuantize::update(const FloatView& x, const UnitGrid& grid, int threads) {
  const bool bounds_given = spec_->float_min.has_value() && spec_->float_max.has_value();
  const auto units = static_cast<std::size_t>(grid.units());
  const bool data_unused = bounds_given && spec_->range_calculator_cls == "minmax";
  calculator_->take(data_unused
                        ? Ranges{.min = std::vector<float>(units), .max = std::vector<float>(units)}
                        : range_calculator_->measure(x, grid, threads));
  store_qparams(grid);
}

void FakeQuantize::store_qparams(const UnitGrid& grid) {
  fitted_.spec = spec_;
  fitted_.grid = grid;
  fitted_.qparams = {};  // free before as much is needed again
  // A user's class may look at all of them.
  const bool lean = spec_->fake_quantize_cls == "default";
  calculator_->with_range([&](const Ranges& range) {
    fitted_.qparams =
        lean ? internal::lean_qparams(range, spec_, grid) : qparams_of(range, spec_, grid);
  });
  counts_ = grid.counts;
  scalar_ = counts_.empty();
}

StoredQParams FakeQuantize::calculate_qparams() const {
  require_observed();
  QParams qparams = all_qparams();
  StoredQParams stored{.shape = counts_,
                       .scale = std::move(qparams.scale),
                       .zero_point = std::move(qparams.zero_point),
                       .minval = std::move(qparams.minval)};
  if (is_floating(spec_->dtype)) {
    stored.zero_point.clear();
  } else if (spec_->qformulation == Formulation::minval) {
    stored.quant_offset = static_cast<std::int32_t>(spec_.quant_min());
  }
  return stored;
}

void FakeQuantize::require_observed() const {
  if (!observed()) {
    throw Error(ErrorKind::unsupported,
                "no batch has been observed yet; call the quantizer on data first");
  }
}

Mapping FakeQuantize::mapping(const Shape& shape) const {
  require_observed();
  UnitGrid grid = unit_grid(spec_, shape);
  check_counts(grid);
  return {.spec = spec_, .grid = std::move(grid), .qparams = all_qparams()};
}

QParams FakeQuantize::all_qparams() const {
  QParams qparams;
  calculator_->with_range(
      [&](const Ranges& range) { qparams = qparams_of(range, spec_, fitted_.grid, true); });
  return qparams;
}

template <typename Work>
void FakeQuantize::with_mapping(const Shape& shape, Work work) const {
  // Parameters of small blocks are large: they are copied only for another shape.
  if (observed() && fitted_.grid.shape == shape && fitted_.grid.counts.size() == shape.size()) {
    work(fitted_);
  } else {
    work(mapping(shape));
  }
}

void FakeQuantize::quantize(const FloatView& x, std::span<std::byte> q, int threads) const {
  with_mapping(shape_of(x),
               [&](const Mapping& mapping) { implementation_->quantize(x, mapping, q, threads); });
}

void FakeQuantize::dequantize(std::span<const std::byte> q, const FloatSpan& x, int threads) const {
  with_mapping(shape_of(x), [&](const Mapping& mapping) {
    implementation_->dequantize(q, mapping, x, threads);
  });
}

void FakeQuantize::fake_quantize(const FloatView& x, const FloatSpan& y, int threads) const {
  with_mapping(shape_of(x), [&](const Mapping& mapping) {
    implementation_->fake_quantize(x, mapping, y, threads);
  });
}

void FakeQuantize::set_granularity(const Granularity& granularity) {
  if (observed() || disabled_) {
    throw Error(ErrorKind::unsupported,
                "the granularity can't change after the first batch; reset the quantizer first");
  }
  QuantizationSpec changed = spec_.spec();
  changed.granularity = granularity;
  spec_ = resolve(changed, spec_.role());
  range_calculator_ = make_range_calculator(spec_);
  calculator_ = make_qparams_calculator(spec_);
  implementation_ = make_fake_quantizer(spec_);
  fitted_ = {.spec = spec_, .grid = {}, .qparams = {}};
}

void FakeQuantize::reset() {
  calculator_->reset();
  counts_.clear();
  scalar_ = false;
  fitted_ = {.spec = spec_, .grid = {}, .qparams = {}};
  observer_enabled_ = fake_quant_enabled_ = true;
  disabled_ = false;
}

Json FakeQuantize::state() const {
  Json state = switches_json(observer_enabled_, fake_quant_enabled_, disabled_);
  const QParams qparams = observed() ? all_qparams() : QParams();
  state["observed"] = observed();
  state["shape"] = shape_json(counts_);
  state["calculator"] = calculator_->state();
  state["scale"] = internal::numbers_json(qparams.scale);
  state["zero_point"] = qparams.zero_point;
  state["minval"] = internal::numbers_json(qparams.minval);
  return state;
}

void FakeQuantize::load_state(const Json& state) {
  const bool seen = read_switch(state, "observed");
  const UnitGrid grid{.counts = read_shape(internal::read_member(state, "shape"))};
  calculator_->load_state(internal::read_member(state, "calculator"));
  observer_enabled_ = read_switch(state, "observer_enabled");
  fake_quant_enabled_ = read_switch(state, "fake_quant_enabled");
  disabled_ = read_switch(state, "disabled");
  if (seen) {
    store_qparams(grid);
  } else {
    counts_.clear();
    scalar_ = false;
    fitted_ = {.spec = spec_, .grid = {}, .qparams = {}};
  }
}

void FakeQuantize::merge(const FakeQuantize& other) {
  require(spec_.spec() == other.spec_.spec() && spec_.role() == other.spec_.role(),
          "statistics of quantizers merge only if their specs are equal");
  if (!other.observed()) {
    return;
  }
  const UnitGrid grid{.counts = other.counts_};
  check_counts(grid);
  calculator_->merge(*other.calculator_);
  store_qparams(grid);
}

}  // namespace halfstep
