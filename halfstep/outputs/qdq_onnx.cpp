#include "halfstep/outputs/qdq_onnx.h"

#include <algorithm>
#include <string>
#include <unordered_set>

#include "halfstep/outputs/onnx_storage.h"
#include "halfstep/outputs/qdq_writer.h"
#include "halfstep/support/error.h"

namespace halfstep {
namespace {

/// From here on an initializer that is also a graph input may be overridden; before, it had to be
/// one.
constexpr int kIrOfFreeInitializers = 4;

constexpr int kOpsetOfClipInputs = 11;
constexpr int kIrOfNodeMetadata = 10;

/// What the whole table needs of the model file, and the tensor that needs it.
struct Needs {
  int opset = 10;
  int ir_version = kIrOfFreeInitializers;
  std::string subject{};
  std::string reason{};

  void add(const std::string& name, const Encoding& encoding) {
    if (encoding.is_float()) {
      return;
    }
    int required = 0;
    try {
      required = required_opset(encoding);
    } catch (const Error& error) {
      throw error.within("tensor \"" + name + "\"");
    }
    ir_version = std::max(ir_version, required_ir_version(encoding));
    if (!narrow_type(encoding).empty()) {
      required = std::max(required, kOpsetOfClipInputs);
      ir_version = std::max(ir_version, kIrOfNodeMetadata);
    }
    if (required > opset) {
      opset = required;
      subject = name;
      const bool parts = !std::holds_alternative<PerTensor>(encoding.granularity);
      const bool channels = std::holds_alternative<PerChannel>(encoding.granularity);
      reason = std::string(halfstep::name(encoding.dtype)) + (channels ? " per channel"
                                                              : parts  ? " per block"
                                                                       : "");
    }
  }
};

Needs needs_of(const EncodingTable& table) {
  Needs needs;
  for (const auto& [tensor, encoding] : table) {
    needs.add(tensor, encoding);
  }
  for (const auto& [use, encoding] : table.uses()) {
    needs.add(use.node + ", input " + std::to_string(use.slot), encoding);
  }
  return needs;
}

/// Before IR 4 every initializer had to be a graph input; left there, later versions would take it
/// for a default that the caller may replace.
void free_initializers(onnx::GraphProto& graph) {
  std::unordered_set<std::string> initializers;
  for (const onnx::TensorProto& tensor : graph.initializer()) {
    initializers.insert(tensor.name());
  }
  auto& inputs = *graph.mutable_input();
  int kept = 0;
  for (int i = 0; i < inputs.size(); ++i) {
    if (!initializers.contains(inputs.Get(i).name())) {
      inputs.SwapElements(i, kept++);
    }
  }
  inputs.DeleteSubrange(kept, inputs.size() - kept);
}

/// ONNX Runtime 1.32 has kernels up to here (measured); it loads newer models only without them.
constexpr int kNewestRunOpset = 27;

void raise_versions(Model& model, const Needs& needs, Diagnostics& diagnostics) {
  const int before = model.opset();
  const bool old_ir = model.proto().ir_version() < kIrOfFreeInitializers;
  if (before < needs.opset) {
    model.raise_opset(needs.opset);
    diagnostics.push_back({.severity = Severity::note,
                           .rule = "qdq/opset-raised",
                           .subject = needs.subject,
                           .message = needs.reason + " needs opset " + std::to_string(needs.opset) +
                                      "; the model was converted from opset " +
                                      std::to_string(before)});
  }
  if (model.proto().ir_version() < needs.ir_version) {
    model.raise_ir_version(needs.ir_version);
  }
  if (old_ir && model.proto().ir_version() >= kIrOfFreeInitializers) {
    free_initializers(model.graph());
  }
  if (model.opset() > kNewestRunOpset) {
    diagnostics.push_back(
        {.severity = Severity::warning,
         .rule = "qdq/opset-untried",
         .subject = model.name(),
         .message = "opset " + std::to_string(model.opset()) + " is newer than " +
                    std::to_string(kNewestRunOpset) +
                    ", the newest one for which ONNX Runtime is known to run QuantizeLinear and "
                    "DequantizeLinear; it may refuse the result. Export the model with opset " +
                    std::to_string(kNewestRunOpset) + " or older"});
  }
}

}  // namespace

void write_qdq(Model& model, const EncodingTable& table, const QdqOptions& options,
               Diagnostics& diagnostics) {
  raise_versions(model, needs_of(table), diagnostics);
  QdqWriter writer(model, table, options, diagnostics);
  const EncodedUses uses = find_uses(table, writer.index(), writer.names());
  for (const auto& [tensor, encoding] : table) {
    require_tensor(writer.index(), tensor);
    const auto own = uses.find(tensor);
    writer.write(tensor, &encoding, own == uses.end() ? std::vector<EncodedUse>{} : own->second);
  }
  for (const auto& [tensor, own] : uses) {
    if (table.find(tensor) == nullptr) {
      writer.write(tensor, nullptr, own);
    }
  }
  writer.apply();
}

}  // namespace halfstep
