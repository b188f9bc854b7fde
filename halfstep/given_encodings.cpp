#include "halfstep/given_encodings.h"

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include "halfstep/encodings/diff.h"
#include "halfstep/frontends/encodings_file.h"
#include "halfstep/frontends/float16_casts.h"
#include "halfstep/frontends/qdq.h"
#include "halfstep/model/graph_editor.h"
#include "halfstep/model/node_keys.h"
#include "halfstep/model/source_arithmetic.h"
#include "halfstep/model/tensor_role.h"

namespace halfstep {
namespace {

constexpr std::array<std::string_view, 3> kStatusNames{"applied", "adapted", "unused"};

int element_type(const GraphIndex& graph, const std::string& tensor) {
  const onnx::TensorProto* constant = graph.constant(tensor);
  return constant != nullptr ? constant->data_type() : graph.type(tensor).elem_type;
}

bool is_float_type(int elem_type) {
  return elem_type == 0 || elem_type == onnx::TensorProto::FLOAT ||
         elem_type == onnx::TensorProto::FLOAT16 || elem_type == onnx::TensorProto::BFLOAT16 ||
         elem_type == onnx::TensorProto::DOUBLE;
}

bool exists(const GraphIndex& graph, const std::string& tensor) {
  return graph.producer(tensor) >= 0 || graph.constant(tensor) != nullptr ||
         graph.is_graph_input(tensor) || !graph.consumers(tensor).empty();
}

/// The tensor that every use of `table` reads.
std::map<Use, std::string> tensors_of_uses(const EncodingTable& table, const GraphIndex& graph) {
  std::map<Use, std::string> result;
  if (table.uses().empty()) {
    return result;
  }
  const NodeKeys keys(graph.graph());
  for (int i = 0; i < graph.graph().node_size(); ++i) {
    const onnx::NodeProto& node = graph.graph().node(i);
    for (int slot = 0; slot < node.input_size(); ++slot) {
      const Use use{.node = keys.key(i), .slot = static_cast<std::size_t>(slot)};
      if (table.uses().contains(use)) {
        result.emplace(use, node.input(slot));
      }
    }
  }
  return result;
}

/// Why an entry for this tensor can't have an effect; empty if it can.
std::string useless(const GraphIndex& graph, const std::string& tensor) {
  const int type = element_type(graph, tensor);
  if (!is_float_type(type)) {
    return "the tensor holds " +
           onnx::TensorProto::DataType_Name(static_cast<onnx::TensorProto::DataType>(type)) +
           " values; only float tensors are quantized";
  }
  if (graph.consumers(tensor).empty() && !graph.is_graph_output(tensor)) {
    return "nothing reads the tensor";
  }
  return {};
}

/// Exporters let equal constants share one initializer behind Identity nodes. A name that has an
/// encoding of its own becomes a constant of its own. Returns whether anything changed.
bool name_shared_constants(Model& model, const GraphIndex& graph, const EncodingTable& table) {
  GraphEditor editor(model);
  bool changed = false;
  for (int i = 0; i < graph.graph().node_size(); ++i) {
    const onnx::NodeProto& node = graph.graph().node(i);
    const onnx::TensorProto* constant = node.op_type() == "Identity" && node.input_size() == 1
                                            ? graph.constant(node.input(0))
                                            : nullptr;
    if (constant == nullptr || graph.constant(node.output(0)) != nullptr ||
        table.find(node.output(0)) == nullptr || graph.is_graph_output(node.output(0))) {
      continue;
    }
    const std::optional<Dtype> dtype = dtype_from_onnx(constant->data_type());
    if (!dtype) {
      continue;
    }
    const TensorBytes bytes = model.data(*constant);
    editor.add_initializer(node.output(0), *dtype, shape_of(*constant),
                           {bytes.span().begin(), bytes.span().end()});
    editor.remove_node(i);
    changed = true;
  }
  editor.apply();
  return changed;
}

}  // namespace

std::string_view name(EntryOutcome::Status status) noexcept {
  return kStatusNames[static_cast<std::size_t>(status)];
}

int EntryAccount::count(EntryOutcome::Status status) const {
  return static_cast<int>(std::count_if(entries.begin(), entries.end(),
                                        [&](const auto& entry) { return entry.status == status; }));
}

Json to_json(const EntryAccount& account) {
  Json json{{"file", account.file}, {"version", account.version}};
  for (const auto status : {EntryOutcome::Status::applied, EntryOutcome::Status::adapted,
                            EntryOutcome::Status::unused}) {
    json[std::string(name(status))] = account.count(status);
  }
  json["entries"] = Json::array();
  for (const EntryOutcome& entry : account.entries) {
    json["entries"].push_back(
        {{"name", entry.name}, {"status", name(entry.status)}, {"reason", entry.reason}});
  }
  return json;
}

GivenEncodings::GivenEncodings(Model& model, const std::filesystem::path& file, bool lenient,
                               bool float16_casts, Diagnostics& diagnostics)
    : path_(file.string()) {
  if (has_qdq(model)) {
    table_ = extract_qdq(model, diagnostics);
  }
  if (float16_casts) {
    extract_float16(model, table_);
  }
  from_model_ = table_.size() + table_.uses().size();
  if (table_.empty() && file.empty()) {
    return;
  }
  std::optional<GraphIndex> index(std::in_place, model);
  if (!file.empty()) {
    file_ = read_encodings(file, *index, {.lenient = lenient}, diagnostics);
    drop_unusable(*index, diagnostics);
    lay_over(*index);
  }
  if (name_shared_constants(model, *index, table_)) {
    index.emplace(model);
  }
  const GraphIndex& graph = *index;
  use_tensors_ = tensors_of_uses(table_, graph);
  for (const auto& [tensor, encoding] : table_) {
    tensors_.insert(tensor);
  }
  for (const auto& [use, tensor] : use_tensors_) {
    tensors_.insert(tensor);
  }
  for (const auto& [tensor, dtype] : file_.precisions) {
    tensors_.insert(tensor);
  }
}

void GivenEncodings::drop_unusable(const GraphIndex& graph, Diagnostics& diagnostics) {
  for (const std::string& entry : file_.names) {
    if (file_.uses.contains(entry) || file_.unknown.contains(entry)) {
      continue;
    }
    std::string reason = useless(graph, entry);
    if (reason.empty()) {
      continue;
    }
    std::string message = "the entry \"";
    message += entry;
    message += "\" has no effect: ";
    message += reason;
    diagnostics.push_back({.severity = Severity::warning,
                           .rule = "encodings/unused-entry",
                           .subject = entry,
                           .message = std::move(message)});
    file_.table.erase(entry);
    file_.precisions.erase(entry);
    unused_.emplace(entry, std::move(reason));
  }
}

/// An entry for a tensor also replaces what the model said for single uses of it.
void GivenEncodings::lay_over(const GraphIndex& graph) {
  for (const auto& [use, tensor] : tensors_of_uses(table_, graph)) {
    if (file_.table.find(tensor) != nullptr) {
      table_.erase_use(use);
    }
  }
  for (const auto& [tensor, encoding] : file_.table) {
    if (table_.find(tensor) != nullptr) {
      remarks_.emplace(tensor, "replaces the model's own encoding");
    }
  }
  for (const auto& [tensor, dtype] : file_.precisions) {
    table_.erase(tensor);
  }
  table_ = table_.overridden_by(file_.table);
}

void GivenEncodings::add_rules(const GraphIndex& graph, bool samples, Recipe& recipe) const {
  for (const auto& [tensor, dtype] : file_.precisions) {
    if (!exists(graph, tensor) || (graph.constant(tensor) == nullptr && !samples)) {
      continue;
    }
    std::string origin = path_;
    origin += ": \"";
    origin += tensor;
    origin += '"';
    recipe.rules.push_back(dtype_rule(tensor, dtype, recipe, std::move(origin)));
  }
}

void GivenEncodings::take_from(Plan& plan, const GraphIndex& graph) const {
  if (table_.empty()) {
    return;
  }
  const NodeKeys keys(graph.graph());
  const auto given = [&](const std::string& tensor, const Consumer& use) {
    return table_.find_use({.node = keys.key(use.node), .slot = static_cast<std::size_t>(use.slot)},
                           tensor);
  };
  std::erase_if(plan.activations,
                [&](const auto& planned) { return table_.find(planned.tensor) != nullptr; });
  std::vector<PlannedWeight> weights;
  std::map<std::pair<std::size_t, const Encoding*>, std::size_t> moved;
  std::map<std::pair<int, int>, std::size_t> by_use;
  for (std::size_t i = 0; i < plan.weights.size(); ++i) {
    for (const Consumer& use : plan.weights[i].uses) {
      const Encoding* own = given(plan.weights[i].tensor, use);
      const auto [place, first] = moved.try_emplace({i, own}, weights.size());
      if (first) {
        weights.push_back(plan.weights[i]);
        weights.back().uses.clear();
        weights.back().given = own;
      }
      weights[place->second].uses.push_back(use);
      by_use[{use.node, use.slot}] = place->second;
    }
  }
  std::vector<PlannedBias> biases;
  for (const PlannedBias& bias : plan.biases) {
    if (given(bias.tensor, bias.use) != nullptr) {
      continue;
    }
    biases.push_back(bias);
    biases.back().weight = by_use.at({bias.weight_use.node, bias.weight_use.slot});
  }
  plan.weights = std::move(weights);
  plan.biases = std::move(biases);
}

EntryAccount GivenEncodings::account(const GraphIndex& graph, const EncodingTable& result) const {
  EntryAccount account{.file = path_, .version = file_.version};
  for (const std::string& entry : file_.names) {
    account.entries.push_back(outcome(entry, graph, result));
  }
  return account;
}

EntryOutcome GivenEncodings::outcome(const std::string& entry, const GraphIndex& graph,
                                     const EncodingTable& result) const {
  using Status = EntryOutcome::Status;
  const auto unused = [&](std::string why) {
    return EntryOutcome{.name = entry, .status = Status::unused, .reason = std::move(why)};
  };
  if (const auto unknown = file_.unknown.find(entry); unknown != file_.unknown.end()) {
    return unused(unknown->second);
  }
  if (const auto reason = unused_.find(entry); reason != unused_.end()) {
    return unused(reason->second);
  }
  const auto use = file_.uses.find(entry);
  const std::string& tensor = use == file_.uses.end() ? entry : use_tensors_.at(use->second);
  if (!exists(graph, tensor)) {
    return unused("the tensor was folded away");
  }
  if (const auto precision = file_.precisions.find(entry); precision != file_.precisions.end()) {
    const Encoding* measured = result.find(tensor);
    if (measured == nullptr || measured->dtype != precision->second) {
      return unused("it names a type without a scale, and no range was measured for the tensor");
    }
    return {.name = entry,
            .reason = "its range was measured, as " + std::string(name(measured->dtype))};
  }
  const Encoding* wanted =
      use == file_.uses.end() ? file_.table.find(tensor) : &file_.table.uses().at(use->second);
  const Encoding* got =
      use == file_.uses.end() ? result.find(tensor) : result.find_use(use->second, tensor);
  if (got == nullptr) {
    return unused("no encoding is left on the tensor");
  }
  if (std::string difference = difference_of(*wanted, *got); !difference.empty()) {
    return {.name = entry, .status = Status::adapted, .reason = std::move(difference)};
  }
  if (wanted->is_float()) {
    return {.name = entry, .reason = "the tensor stays float"};
  }
  const auto remark = remarks_.find(entry);
  return {.name = entry, .reason = remark == remarks_.end() ? "" : remark->second};
}

BareTensors bare_tensors(const GraphIndex& graph, const EncodingTable& table) {
  BareTensors bare;
  for (const std::string& tensor : graph.tensor_names()) {
    if (table.find(tensor) != nullptr || !useless(graph, tensor).empty() ||
        is_source_arithmetic(graph, tensor)) {
      continue;
    }
    if (graph.constant(tensor) == nullptr) {
      bare.activations.push_back(tensor);
      continue;
    }
    const TensorRole role = tensor_role(graph, tensor);
    if (role.weight || role.bias) {
      bare.parameters.push_back(tensor);
    }
  }
  return bare;
}

}  // namespace halfstep
