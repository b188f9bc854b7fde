#include "halfstep/outputs/qnn_provider_form.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "halfstep/core/quantize.h"
#include "halfstep/model/graph_editor.h"
#include "halfstep/model/graph_index.h"
#include "halfstep/model/node_keys.h"
#include "halfstep/model/node_metadata.h"
#include "halfstep/model/op_facts.h"
#include "halfstep/model/value_info.h"

namespace halfstep {
namespace {

constexpr int kLowestInt8 = -128;

struct Form {
  Encoding encoding{};
  std::string_view rule{};
  std::string_view why{};
};

/// A use of a constant that needs another form.
struct ChangedUse {
  Consumer consumer{};
  Form form{};
};

/// int8 per channel that holds code x block scale, if it fits.
std::optional<Encoding> expanded_lpbq(const Encoding& encoding) {
  const auto largest = *std::max_element(encoding.block_scale.begin(), encoding.block_scale.end());
  const auto* lpbq = std::get_if<Lpbq>(&encoding.granularity);
  const auto lowest = static_cast<int>(info(encoding.dtype).lowest);
  if (lpbq == nullptr || lowest * static_cast<int>(largest) < kLowestInt8) {
    return std::nullopt;
  }
  Encoding wide = encoding;
  wide.dtype = Dtype::int8;
  wide.granularity = PerChannel{.axis = lpbq->channel_axis};
  wide.block_scale.clear();
  wide.zero_point.assign(wide.scale.size(), 0);
  wide.shape = {static_cast<std::int64_t>(wide.scale.size())};
  return wide;
}

bool is_grouped_transpose(const onnx::NodeProto& node) {
  return node.op_type() == "ConvTranspose" && int_attribute(node, "group", 1) > 1;
}

class FormFinder {
 public:
  FormFinder(const EncodingTable& table, const GraphIndex& index)
      : table_(table), index_(index), keys_(index.graph()) {}

  [[nodiscard]] std::map<std::string, std::vector<ChangedUse>> changes() const {
    std::map<std::string, std::vector<ChangedUse>> found;
    for (int node = 0; node < index_.graph().node_size(); ++node) {
      const onnx::NodeProto& proto = index_.graph().node(node);
      for (int slot = 0; slot < proto.input_size(); ++slot) {
        if (std::optional<Form> form = form_of(node, slot)) {
          found[proto.input(slot)].push_back(
              {.consumer = {.node = node, .slot = slot}, .form = std::move(*form)});
        }
      }
    }
    return found;
  }

  [[nodiscard]] const Encoding* encoding_of(int node, int slot) const {
    const onnx::NodeProto& proto = index_.graph().node(node);
    return table_.find_use({.node = keys_.key(node), .slot = static_cast<std::size_t>(slot)},
                           proto.input(slot));
  }

  [[nodiscard]] const NodeKeys& keys() const noexcept { return keys_; }

 private:
  [[nodiscard]] std::optional<Form> form_of(int node, int slot) const {
    const onnx::NodeProto& proto = index_.graph().node(node);
    const std::string& tensor = proto.input(slot);
    if (slot == 0 || tensor.empty() || index_.constant(tensor) == nullptr) {
      return std::nullopt;
    }
    const Encoding* encoding = encoding_of(node, slot);
    if (encoding == nullptr || encoding->is_float() || !is_integer(encoding->dtype)) {
      return std::nullopt;
    }
    if (const Encoding* activation = encoding_of(node, 0);
        activation != nullptr && activation->is_float()) {
      return Form{.encoding = {.dtype = activation->dtype, .origin = Origin::adapted},
                  .rule = "write/float16-constant",
                  .why = "the provider takes no integers beside float16"};
    }
    if (!encoding->block_scale.empty() &&
        (proto.op_type() != "MatMul" || index_.consumers(tensor).size() > 1)) {
      std::optional<Encoding> wide = expanded_lpbq(*encoding);
      return wide ? std::optional(Form{
                        .encoding = std::move(*wide),
                        .rule = "write/lpbq-as-int8",
                        .why = "the provider knows LPBQ for a MatMul that is alone to read it"})
                  : std::nullopt;
    }
    if (is_grouped_transpose(proto) && bits(encoding->dtype) < 8 && !encoding->half_step) {
      Encoding wide = *encoding;
      wide.dtype = is_signed_integer(encoding->dtype) ? Dtype::int8 : Dtype::uint8;
      return Form{.encoding = std::move(wide),
                  .rule = "write/wider-codes",
                  .why = "the provider takes no narrower weights in a grouped ConvTranspose"};
    }
    return std::nullopt;
  }

  const EncodingTable& table_;
  const GraphIndex& index_;
  NodeKeys keys_;
};

class FormWriter {
 public:
  FormWriter(Model& model, EncodingTable& table, Diagnostics& diagnostics)
      : model_(model),
        table_(table),
        diagnostics_(diagnostics),
        index_(model),
        names_(model.graph()),
        editor_(model) {}

  void run() {
    flatten_biases();
    const EncodingTable given = table_;
    const FormFinder finder(given, index_);
    for (const auto& [tensor, uses] : finder.changes()) {
      change(finder, tensor, uses);
    }
    editor_.apply();
  }

 private:
  /// The provider joins MatMul and Add only where the bias has one axis.
  void flatten_biases() {
    for (const onnx::NodeProto& node : index_.graph().node()) {
      const std::string* group = find_metadata(node, kGroupOpKey);
      if (group == nullptr || group->find("+bias") == std::string::npos ||
          node.op_type() != "Add") {
        continue;
      }
      for (int slot = 0; slot < 2; ++slot) {
        flatten(node.input(slot), node.input(1 - slot));
      }
    }
  }

  void flatten(const std::string& bias, const std::string& product) {
    const onnx::TensorProto* constant = index_.constant(bias);
    const std::optional<Shape> other = index_.type(product).shape;
    if (constant == nullptr || constant->dims_size() < 2 || !other ||
        std::ssize(*other) < constant->dims_size() || index_.consumers(bias).size() != 1 ||
        index_.producer(bias) >= 0 || index_.is_graph_output(bias)) {
      return;
    }
    onnx::TensorProto& tensor = initializer(bias);
    const std::int64_t channels = tensor.dims(tensor.dims_size() - 1);
    if (element_count(shape_of(tensor)) != channels) {
      return;
    }
    tensor.clear_dims();
    tensor.add_dims(channels);
    forget_types(model_.graph(), {bias});
    if (const Encoding* encoding = table_.find(bias);
        encoding != nullptr && std::holds_alternative<PerChannel>(encoding->granularity)) {
      Encoding flat = *encoding;
      flat.granularity = PerChannel{.axis = 0};
      table_.set(bias, std::move(flat));
    }
  }

  void change(const FormFinder& finder, const std::string& tensor,
              const std::vector<ChangedUse>& uses) {
    const ChangedUse& first = uses.front();
    const Encoding& rounding = *finder.encoding_of(first.consumer.node, first.consumer.slot);
    const bool alike = std::all_of(uses.begin(), uses.end(), [&](const ChangedUse& use) {
      return use.form.encoding == first.form.encoding &&
             *finder.encoding_of(use.consumer.node, use.consumer.slot) == rounding;
    });
    const bool whole = alike && uses.size() == index_.consumers(tensor).size() &&
                       !index_.is_graph_output(tensor) && index_.producer(tensor) < 0;
    if (whole) {
      note(tensor, rounding, first.form);
      model_.set_data(initializer(tensor), rounded(tensor, rounding));
      set(finder, tensor, uses, first.form.encoding);
      return;
    }
    for (const ChangedUse& use : uses) {
      const Encoding& own = *finder.encoding_of(use.consumer.node, use.consumer.slot);
      note(tensor, own, use.form);
      const std::string name =
          names_.fresh(tensor + "_" + std::string(halfstep::name(use.form.encoding.dtype)));
      editor_.add_initializer(name, Dtype::float32, shape_of(*index_.constant(tensor)),
                              rounded(tensor, own));
      editor_.set_input(use.consumer.node, use.consumer.slot, name);
      table_.erase_use(key(finder, use));
      table_.set(name, use.form.encoding);
    }
  }

  void set(const FormFinder& finder, const std::string& tensor, const std::vector<ChangedUse>& uses,
           const Encoding& encoding) {
    for (const ChangedUse& use : uses) {
      table_.erase_use(key(finder, use));
    }
    table_.set(tensor, encoding);
  }

  static Use key(const FormFinder& finder, const ChangedUse& use) {
    return {.node = finder.keys().key(use.consumer.node),
            .slot = static_cast<std::size_t>(use.consumer.slot)};
  }

  onnx::TensorProto& initializer(const std::string& tensor) {
    auto& all = *model_.graph().mutable_initializer();
    return *std::find_if(all.begin(), all.end(),
                         [&tensor](const onnx::TensorProto& t) { return t.name() == tensor; });
  }

  [[nodiscard]] std::vector<std::byte> rounded(const std::string& tensor,
                                               const Encoding& encoding) const {
    const onnx::TensorProto& constant = *index_.constant(tensor);
    const Shape shape = shape_of(constant);
    const std::vector<float> values = model_.floats(constant);
    std::vector<std::byte> bytes(values.size() * sizeof(float));
    if (!values.empty()) {
      std::vector<float> result(values.size());
      fake_quantize(TensorView<const float>(values.data(), shape),
                    bind(encoding, shape, Role::weight), TensorView<float>(result.data(), shape));
      std::memcpy(bytes.data(), result.data(), bytes.size());
    }
    return bytes;
  }

  void note(const std::string& tensor, const Encoding& from, const Form& form) {
    diagnostics_.push_back({.severity = Severity::note,
                            .rule = std::string(form.rule),
                            .subject = tensor,
                            .message = "constant '" + tensor + "' is written as " +
                                       std::string(name(form.encoding.dtype)) +
                                       " with the values that " + std::string(name(from.dtype)) +
                                       " rounds to: " + std::string(form.why)});
  }

  Model& model_;
  EncodingTable& table_;
  Diagnostics& diagnostics_;
  GraphIndex index_;
  NameMaker names_;
  GraphEditor editor_;
};

}  // namespace

void shape_for_qnn_provider(Model& model, EncodingTable& table, Diagnostics& diagnostics) {
  FormWriter(model, table, diagnostics).run();
}

}  // namespace halfstep
