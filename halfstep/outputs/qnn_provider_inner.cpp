#include <algorithm>
#include <cmath>
#include <set>
#include <string>
#include <vector>

#include "halfstep/model/graph_index.h"
#include "halfstep/model/op_facts.h"
#include "halfstep/outputs/qnn_provider_form.h"

namespace halfstep {
namespace {

struct Range {
  double low = 0, high = 0;
};

Range range_of(const Encoding& encoding) {
  const double scale = encoding.scale[0];
  const auto zero = encoding.zero_point.empty() ? 0.0 : static_cast<double>(encoding.zero_point[0]);
  return {.low = (info(encoding.dtype).lowest - zero) * scale,
          .high = (info(encoding.dtype).highest - zero) * scale};
}

/// Inputs of a HardSwish, y = x relu6(x + 3) / 6, whose outputs lie in a range: below -3 all are 0.
Range before_hard_swish(Range output) {
  const double high =
      output.high < 3 ? (std::sqrt(9 + 24 * std::max(output.high, 0.0)) - 3) / 2 : output.high;
  return {.low = -3, .high = high};
}

/// Inputs of a PRelu or LeakyRelu whose outputs lie in a range, at most as far below 0 as that
/// range is wide.
Range before_slopes(Range output, const std::vector<float>& slopes) {
  const double width = output.high - output.low;
  double low = 0;
  for (const float slope : slopes) {
    const double needed = slope > 0   ? output.low / static_cast<double>(slope)
                          : slope < 0 ? output.high / static_cast<double>(slope)
                                      : -width;
    low = std::min(low, std::max(needed, -width));
  }
  return {.low = low, .high = output.high};
}

class InnerPairs {
 public:
  InnerPairs(const Model& model, EncodingTable& table, Diagnostics& diagnostics)
      : model_(model), table_(table), diagnostics_(diagnostics), index_(model) {}

  void give(const std::string& tensor) {
    const int producer = index_.producer(tensor);
    const auto readers = index_.consumers(tensor);
    if (producer < 0 || readers.size() != 1 || readers[0].slot != 0 ||
        !has_channel_weight(index_.graph().node(producer))) {
      return;
    }
    const onnx::NodeProto& reader = index_.graph().node(readers[0].node);
    const Encoding* end = table_.find(reader.output(0));
    if (end == nullptr || end->is_float() || end->scale.size() != 1 || !is_integer(end->dtype)) {
      return;
    }
    if (reader.op_type() == "Relu") {
      give_before_relu(tensor, reader, *end);
    } else if (reader.op_type() == "Clip") {
      give_before_clip(tensor, reader, *end);
    } else if (reader.op_type() == "HardSwish") {
      set(tensor, reader, *end, before_hard_swish(range_of(*end)));
    } else if (reader.op_type() == "LeakyRelu") {
      const onnx::AttributeProto* alpha = find_attribute(reader, "alpha");
      set(tensor, reader, *end,
          before_slopes(range_of(*end), {alpha == nullptr ? 0.01F : alpha->f()}));
    } else if (reader.op_type() == "PRelu" && reader.input_size() > 1) {
      if (const onnx::TensorProto* slope = index_.constant(reader.input(1))) {
        set(tensor, reader, *end, before_slopes(range_of(*end), model_.floats(*slope)));
      }
    }
  }

  [[nodiscard]] const std::set<std::string>& given() const noexcept { return given_; }

 private:
  /// The provider fuses a Relu that the end's encoding implies: no code stands for less than 0.
  void give_before_relu(const std::string& tensor, const onnx::NodeProto& reader,
                        const Encoding& end) {
    if (range_of(end).low < 0) {
      Encoding inner = end;
      inner.zero_point = {static_cast<std::int64_t>(info(end.dtype).lowest)};
      set(tensor, reader, std::move(inner));
    }
  }

  /// The same for a Clip: no code stands for a value outside its bounds.
  void give_before_clip(const std::string& tensor, const onnx::NodeProto& reader,
                        const Encoding& end) {
    const auto bound = [&](int slot, double otherwise) {
      const onnx::TensorProto* value =
          slot < reader.input_size() ? index_.constant(reader.input(slot)) : nullptr;
      return value == nullptr ? otherwise : static_cast<double>(model_.floats(*value).at(0));
    };
    const Range range = range_of(end);
    const double half_step = end.scale[0] / 2;
    if (range.low < bound(1, range.low) - half_step ||
        range.high > bound(2, range.high) + half_step) {
      set(tensor, reader, end);
    }
  }

  [[nodiscard]] bool has_channel_weight(const onnx::NodeProto& node) const {
    const std::optional<WeightFacts> facts = op_facts(node).weight;
    if (!facts || facts->slot >= node.input_size()) {
      return false;
    }
    const Encoding* weight = table_.find(node.input(facts->slot));
    return weight != nullptr && !weight->is_float() && weight->scale.size() > 1;
  }

  void set(const std::string& tensor, const onnx::NodeProto& reader, const Encoding& end,
           Range range) {
    const double steps = info(end.dtype).highest - info(end.dtype).lowest;
    const double scale = std::max((range.high - range.low) / steps, double{end.scale[0]});
    Encoding inner{.dtype = end.dtype,
                   .scale = {static_cast<float>(scale)},
                   .zero_point = {static_cast<std::int64_t>(info(end.dtype).lowest) +
                                  std::llround(-range.low / scale)},
                   .origin = Origin::adapted};
    set(tensor, reader, std::move(inner));
  }

  void set(const std::string& tensor, const onnx::NodeProto& reader, Encoding inner) {
    inner.origin = Origin::adapted;
    table_.set(tensor, std::move(inner));
    given_.insert(tensor);
    diagnostics_.push_back(
        {.severity = Severity::note,
         .rule = "write/inner-pair",
         .subject = tensor,
         .message = "tensor '" + tensor + "' inside a super group that ends with " +
                    reader.op_type() + " '" + reader.name() +
                    "' gets a Q/DQ pair in the file, without which ONNX Runtime's QNN provider "
                    "refuses the model; the chip fuses the group and ignores the pair"});
  }

  const Model& model_;
  EncodingTable& table_;
  Diagnostics& diagnostics_;
  GraphIndex index_;
  std::set<std::string> given_{};
};

}  // namespace

std::set<std::string> pair_inner_tensors(const Model& model,
                                         const std::unordered_set<std::string>& inner,
                                         EncodingTable& table, Diagnostics& diagnostics) {
  InnerPairs pairs(model, table, diagnostics);
  const std::set<std::string> names(inner.begin(), inner.end());
  for (const std::string& name : names) {
    pairs.give(name);
  }
  return pairs.given();
}

}  // namespace halfstep
