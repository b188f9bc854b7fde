#include "halfstep/plan_encodings.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>

#include "halfstep/core/quantize.h"
#include "halfstep/model/node_keys.h"
#include "halfstep/model/op_facts.h"
#include "halfstep/outputs/onnx_storage.h"
#include "halfstep/support/error.h"

namespace halfstep {
namespace {

constexpr double kBiasSteps =
    1073741824.0;  // 2^30: the sum that starts from the bias keeps a bit of room

void warn_of_non_finite(const std::string& tensor, const std::string& where, std::int64_t nans,
                        std::int64_t infinities, Diagnostics& diagnostics) {
  if (nans + infinities > 0) {
    diagnostics.push_back(
        {.severity = Severity::warning,
         .rule = "weights/non-finite",
         .subject = tensor,
         .message =
             where + " holds " + std::to_string(nans) + " NaN and " + std::to_string(infinities) +
             " infinite values; they are left out of its range. Check the export of the model"});
  }
}

class EncodingMaker {
 public:
  EncodingMaker(const Model& model, const GraphIndex& graph, const Plan& plan,
                const EncodingTable& given, int threads, DeferredWeights* deferred,
                Diagnostics& diagnostics)
      : model_(model),
        graph_(graph),
        plan_(plan),
        threads_(threads),
        deferred_(given.empty() ? deferred : nullptr),
        diagnostics_(diagnostics),
        keys_(graph.graph()),
        table_(given) {}

  EncodingTable make(const CalibrationResult& measured, Progress& progress) {
    for (const PlannedActivation& activation : plan_.activations) {
      add_activation(activation, measured);
    }
    progress.begin("weights", plan_.weights.size());
    for (std::size_t i = 0; i < plan_.weights.size(); ++i) {
      progress.throw_if_cancelled();
      const PlannedWeight& weight = plan_.weights[i];
      weights_.push_back(weight.given != nullptr ? *weight.given
                         : can_wait(i)           ? deferred_encoding(weight)
                                                 : weight_encoding(weight));
      progress.update(i + 1);
    }
    progress.end();
    for (const PlannedBias& bias : plan_.biases) {
      fit_weight_to_bias(bias);
    }
    for (std::size_t i = 0; i < plan_.weights.size(); ++i) {
      if (plan_.weights[i].given == nullptr) {
        add_constant(plan_.weights[i].tensor, plan_.weights[i].uses, weights_[i]);
      }
    }
    for (const PlannedBias& bias : plan_.biases) {
      add_bias(bias);
    }
    return std::move(table_);
  }

 private:
  void warn(Severity severity, std::string rule, const std::string& subject, std::string message) {
    diagnostics_.push_back({.severity = severity,
                            .rule = std::move(rule),
                            .subject = subject,
                            .message = std::move(message)});
  }

  void add_activation(const PlannedActivation& activation, const CalibrationResult& measured) {
    if (!activation.source.empty()) {
      if (const Encoding* source = table_.find(activation.source)) {
        Encoding copy = *source;
        copy.origin = Origin::propagated;
        table_.set(activation.tensor, std::move(copy));
      }
      return;
    }
    if (activation.spec->float_min && activation.spec->float_max) {
      set_activation(activation, {.min = {0}, .max = {0}}, Origin::fixed_range);
      return;
    }
    const auto found = measured.statistics.find(activation.tensor);
    if (found == measured.statistics.end() || found->second.values == 0) {
      warn(Severity::warning, "calibration/no-values", activation.tensor,
           "tensor '" + activation.tensor +
               "' held no value in any sample; it stays float. Give samples that reach it");
      return;
    }
    const Ranges& range = found->second.range;
    if (!found->second.has_finite()) {
      warn(Severity::warning, "calibration/no-values", activation.tensor,
           "tensor '" + activation.tensor +
               "' held no finite value in any sample; it stays float. Give samples for which the "
               "float model computes numbers");
      return;
    }
    if (range.min[0] == 0.0F && range.max[0] == 0.0F) {
      warn(Severity::warning, "calibration/never-active", activation.tensor,
           "tensor '" + activation.tensor +
               "' was 0 in every sample; its scale is the smallest allowed. Give samples that "
               "activate it");
    }
    set_activation(activation, range, Origin::calibrated);
  }

  void set_activation(const PlannedActivation& activation, const Ranges& range, Origin origin) {
    const UnitGrid grid = unit_grid(PerTensor{}, {}, Role::activation);
    table_.set(activation.tensor,
               encoding_of(Mapping{.spec = activation.spec,
                                   .grid = grid,
                                   .qparams = choose_qparams(range, activation.spec, grid)},
                           origin));
  }

  /// Nothing else depends on the encoding of this weight, and its values are many.
  bool can_wait(std::size_t index) const {
    const PlannedWeight& weight = plan_.weights[index];
    return deferred_ != nullptr && is_streamable(*graph_.constant(weight.tensor)) &&
           WeightStream::takes(weight.spec.spec()) &&
           onnx_storage({.dtype = weight.spec->dtype}).has_value() &&
           std::ranges::none_of(plan_.biases,
                                [&](const PlannedBias& bias) { return bias.weight == index; }) &&
           std::ranges::count(plan_.weights, weight.tensor, &PlannedWeight::tensor) == 1;
  }

  Encoding deferred_encoding(const PlannedWeight& weight) {
    const std::string where = label(weight);
    try {
      auto stream = std::make_shared<WeightStream>(
          float_source(model_, *graph_.constant(weight.tensor)), weight.spec,
          onnx_storage({.dtype = weight.spec->dtype}).value().dtype, threads_);
      Encoding outline = stream->outline();
      deferred_->streams.emplace(weight.tensor, std::move(stream));
      deferred_->labels.emplace(weight.tensor, where);
      return outline;
    } catch (const Error& error) {
      throw error.within(where);
    }
  }

  std::string label(const PlannedWeight& weight) const {
    return "weight '" + weight.tensor + "' of " + graph_.label(weight.uses[0].node);
  }

  Encoding weight_encoding(const PlannedWeight& weight) {
    const onnx::TensorProto& tensor = *graph_.constant(weight.tensor);
    const std::vector<float> values = model_.floats(tensor);
    const Shape shape = shape_of(tensor);
    const std::string where = label(weight);
    try {
      const TensorView<const float> view(values.data(), shape);
      const UnitGrid grid = unit_grid(weight.spec->granularity, shape, Role::weight);
      std::optional<Ranges> masks;
      if (grid.units() == 1) {
        masks = range_beside_masks(values);
      }
      if (masks) {
        warn(Severity::note, "calibration/mask", weight.tensor,
             where +
                 " holds mask values (infinite, or beyond 1e30); they are left out of its range");
      }
      const Ranges range = masks
                               ? *std::move(masks)
                               : make_range_calculator(weight.spec)->measure(view, grid, threads_);
      warn_of_non_finite(weight.tensor, where, range.nan_count, range.infinity_count, diagnostics_);
      Encoding encoding = encoding_of(Mapping{.spec = weight.spec,
                                              .grid = grid,
                                              .qparams = choose_qparams(range, weight.spec, grid)},
                                      Origin::calibrated);
      model_.drop(tensor);
      return encoding;
    } catch (const Error& error) {
      throw error.within(where);
    }
  }

  /// Sets an encoding on the tensor, or on the uses if the tensor already has another one.
  void add_constant(const std::string& tensor, const std::vector<Consumer>& uses,
                    const Encoding& encoding) {
    if (const Encoding* first = table_.find(tensor); first == nullptr) {
      table_.set(tensor, encoding);
    } else if (*first != encoding) {
      for (const Consumer& use : uses) {
        table_.set_use({.node = keys_.key(use.node), .slot = static_cast<std::size_t>(use.slot)},
                       encoding);
      }
    }
  }

  /// The weight's scale per output channel: the largest of its blocks, repeated for grouped
  /// ConvTranspose.
  std::vector<double> channel_scales(const PlannedBias& bias, std::size_t channels) const {
    const Encoding& weight = weights_[bias.weight];
    std::vector<double> scales(channels, 0.0);
    if (weight.shape.empty()) {
      std::fill(scales.begin(), scales.end(), weight.scale[0]);
      return scales;
    }
    const auto axis = static_cast<std::size_t>(plan_.weights[bias.weight].channel_axis);
    const bool one_axis = weight.shape.size() == 1;
    const std::size_t extent = channels / static_cast<std::size_t>(bias.channel_repeat);
    std::int64_t inner = 1;
    for (std::size_t i = axis + 1; !one_axis && i < weight.shape.size(); ++i) {
      inner *= weight.shape[i];
    }
    for (std::size_t i = 0; i < weight.scale.size(); ++i) {
      // LPBQ keeps one scale a channel; blocks: the channel is the index along `axis`.
      const std::size_t channel =
          weight.scale.size() == extent ? i : (i / static_cast<std::size_t>(inner)) % extent;
      for (std::size_t group = 0; group < static_cast<std::size_t>(bias.channel_repeat); ++group) {
        double& scale = scales[group * extent + channel];
        scale = std::max(scale, static_cast<double>(weight.scale[i]));
      }
    }
    return scales;
  }

  std::vector<double> bias_scales(const PlannedBias& bias, std::size_t channels) const {
    std::vector<double> scales = channel_scales(bias, channels);
    const Encoding& input = *table_.find(bias.input);
    for (double& scale : scales) {
      scale *= input.scale[0];
    }
    return scales;
  }

  /// int32 steps of input scale x weight scale need one input scale, and weight scales by channel.
  bool has_product_scale(const PlannedBias& bias) const {
    const Encoding* input = table_.find(bias.input);
    const Encoding& weight = weights_[bias.weight];
    if (input == nullptr || input->scale.size() != 1 || weight.is_float() ||
        !is_integer(input->dtype) || !is_integer(weight.dtype)) {
      return false;
    }
    const auto* channel = std::get_if<PerChannel>(&weight.granularity);
    if (channel == nullptr) {
      return true;
    }
    return channel->axis == plan_.weights[bias.weight].channel_axis;
  }

  /// A given weight scale is not raised: the bias stays float instead.
  bool keeps_float(const PlannedBias& bias, int too_large, std::size_t channels) {
    const PlannedWeight& weight = plan_.weights[bias.weight];
    if (weight.given == nullptr || too_large == 0) {
      return false;
    }
    warn(Severity::warning, "bias/stays-float", bias.tensor,
         "bias '" + bias.tensor + "' of " + graph_.label(bias.use.node) +
             " would not fit int32 in " + std::to_string(too_large) + " of " +
             std::to_string(channels) + " channels with the given scale of weight '" +
             weight.tensor + "'; it stays float32");
    float_biases_.insert({bias.use.node, bias.use.slot});
    return true;
  }

  void fit_weight_to_bias(const PlannedBias& bias) {
    if (!has_product_scale(bias)) {
      return;
    }
    const std::vector<float> values = model_.floats(*graph_.constant(bias.tensor));
    const std::vector<double> scales = bias_scales(bias, values.size());
    Encoding& weight = weights_[bias.weight];
    const bool given = plan_.weights[bias.weight].given != nullptr;
    int raised = 0;
    for (std::size_t c = 0; c < values.size(); ++c) {
      const double needed = std::max(std::fabs(static_cast<double>(values[c])) / kBiasSteps,
                                     static_cast<double>(std::numeric_limits<float>::min()));
      if (std::isfinite(needed) && scales[c] < needed) {
        if (!given) {
          raise_channel(bias, weight, c, values.size(), needed / scales[c]);
        }
        ++raised;
      }
    }
    if (keeps_float(bias, raised, values.size())) {
      return;
    }
    if (raised > 0) {
      warn(Severity::note, "bias/weight-scale-raised", plan_.weights[bias.weight].tensor,
           "bias '" + bias.tensor + "' of " + graph_.label(bias.use.node) +
               " would not fit int32 in " + std::to_string(raised) + " of " +
               std::to_string(values.size()) + " channels; the scale of weight '" +
               plan_.weights[bias.weight].tensor + "' is raised there");
    }
  }

  void raise_channel(const PlannedBias& bias, Encoding& weight, std::size_t channel,
                     std::size_t channels, double factor) {
    const std::size_t extent = channels / static_cast<std::size_t>(bias.channel_repeat);
    const auto raise = [factor](float& scale) {
      const double wanted = static_cast<double>(scale) * factor;
      scale = std::nextafter(static_cast<float>(wanted), std::numeric_limits<float>::infinity());
    };
    if (weight.scale.size() == 1) {
      raise(weight.scale[0]);
    } else if (weight.scale.size() == extent) {
      raise(weight.scale[channel % extent]);
    } else {
      raise_blocks(bias, weight, channel % extent, extent, raise);
    }
  }

  template <typename Raise>
  void raise_blocks(const PlannedBias& bias, Encoding& weight, std::size_t channel,
                    std::size_t extent, const Raise& raise) const {
    const auto axis = static_cast<std::size_t>(plan_.weights[bias.weight].channel_axis);
    std::size_t inner = 1;
    for (std::size_t i = axis + 1; i < weight.shape.size(); ++i) {
      inner *= static_cast<std::size_t>(weight.shape[i]);
    }
    for (std::size_t i = 0; i < weight.scale.size(); ++i) {
      if ((i / inner) % extent == channel) {
        raise(weight.scale[i]);
      }
    }
  }

  void add_bias(const PlannedBias& bias) {
    if (!has_product_scale(bias) || float_biases_.contains({bias.use.node, bias.use.slot})) {
      return;
    }
    const Shape shape = shape_of(*graph_.constant(bias.tensor));
    const auto channels = static_cast<std::size_t>(element_count(shape));
    const std::vector<double> scales = bias_scales(bias, channels);
    Encoding encoding{.dtype = Dtype::int32, .origin = Origin::calibrated};
    if (weights_[bias.weight].shape.empty()) {
      encoding.scale = {static_cast<float>(scales[0])};
    } else {
      encoding.granularity = PerChannel{.axis = static_cast<std::int64_t>(shape.size()) - 1};
      encoding.shape = {static_cast<std::int64_t>(channels)};
      encoding.scale.assign(scales.begin(), scales.end());
    }
    encoding.zero_point.assign(encoding.scale.size(), 0);
    add_constant(bias.tensor, {bias.use}, encoding);
  }

  const Model& model_;
  const GraphIndex& graph_;
  const Plan& plan_;
  int threads_;
  DeferredWeights* deferred_;
  Diagnostics& diagnostics_;
  NodeKeys keys_;
  EncodingTable table_;
  std::vector<Encoding> weights_{};
  std::set<std::pair<int, int>> float_biases_{};  // node, slot
};

}  // namespace

EncodingTable make_encodings(const Model& model, const GraphIndex& graph, const Plan& plan,
                             const EncodingTable& given, const CalibrationResult& measured,
                             int threads, DeferredWeights* deferred, Progress& progress,
                             Diagnostics& diagnostics) {
  return EncodingMaker(model, graph, plan, given, threads, deferred, diagnostics)
      .make(measured, progress);
}

void report_non_finite(const DeferredWeights& deferred, Diagnostics& diagnostics) {
  for (const auto& [tensor, stream] : deferred.streams) {
    warn_of_non_finite(tensor, deferred.labels.at(tensor), stream->nan_count(),
                       stream->infinity_count(), diagnostics);
  }
}

}  // namespace halfstep
