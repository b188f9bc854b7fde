#include "halfstep/target_output.h"

#include "halfstep/outputs/qnn/dlc_record.h"
#include "halfstep/outputs/qnn/graph_text.h"
#include "halfstep/support/error.h"

namespace halfstep {
namespace {

qnn::ClientOptions client_options(const Target& target, const TargetOutput& wanted,
                                  const Progress& progress) {
  require(target.arch() > 0, "target " + target.name() +
                                 " is no HTP, and only an HTP's libraries are known; take htp_v75 "
                                 "('halfstep targets' lists them)");
  return {.libraries = wanted.qnn_libraries,
          .arch = target.arch(),
          .soc = static_cast<std::uint32_t>(target.soc()),
          .progress = &progress};
}

const qnn::Tensor* find_tensor(const qnn::Graph& graph, const std::string& name) {
  for (const qnn::Tensor& tensor : graph.tensors) {
    if (tensor.name == name) {
      return &tensor;
    }
  }
  return nullptr;
}

/// "x ufixed8 [1, 4]"
std::string operand_text(const qnn::Graph& graph, const std::string& name) {
  const qnn::Tensor* tensor = find_tensor(graph, name);
  std::string text = name;
  if (tensor != nullptr) {
    text += " " + std::string(qnn::name(tensor->type)) + " [";
    for (std::size_t i = 0; i < tensor->dims.size(); ++i) {
      text += (i == 0 ? "" : ", ") + std::to_string(tensor->dims[i]);
    }
    text += ']';
  }
  return text;
}

std::string refusal_text(const qnn::Graph& graph, const qnn::OpVerdict& verdict) {
  const qnn::Op& op = graph.ops[verdict.op];
  std::string text = op.type + " '" + op.name + "' (";
  for (std::size_t i = 0; i < op.inputs.size(); ++i) {
    text += (i == 0 ? "" : "; ") + operand_text(graph, op.inputs[i]);
  }
  text += ") -> (";
  for (std::size_t i = 0; i < op.outputs.size(); ++i) {
    text += (i == 0 ? "" : "; ") + operand_text(graph, op.outputs[i]);
  }
  text += ')';
  for (const std::string& message : verdict.messages) {
    text += "\n    said: " + message;
  }
  for (const std::string& kernel : verdict.kernels) {
    text += "\n    takes: " + kernel;
  }
  return text;
}

Json record(const qnn::LoweredGraph& lowered, const Target& target) {
  Json json = {{"target", target.name()}};
  const Json known = qnn::dlc_record(lowered);
  for (const auto& [key, value] : known.items()) {
    if (!value.empty()) {
      json[key] = value;
    }
  }
  return json;
}

}  // namespace

int ValidatedGraph::count() const {
  int all = 0;
  for (const auto& [type, ops] : accepted) {
    all += ops;
  }
  return all;
}

Json to_json(const ValidatedGraph& validated) {
  return {{"libraries", validated.libraries},
          {"operators", validated.count()},
          {"accepted", validated.accepted}};
}

ValidatedGraph validate_graph(const qnn::LoweredGraph& lowered, const Target& target,
                              const TargetOutput& wanted, const Progress& progress) {
  qnn::Client client(client_options(target, wanted, progress));
  ValidatedGraph result{.libraries = client.libraries().folder.string()};
  std::string refused;
  int refusals = 0;
  for (const qnn::OpVerdict& verdict : client.validate(lowered.graph)) {
    if (verdict.accepted()) {
      ++result.accepted[lowered.graph.ops[verdict.op].type];
    } else {
      ++refusals;
      refused += "\n  " + refusal_text(lowered.graph, verdict);
    }
  }
  if (refusals > 0) {
    throw Error(ErrorKind::unsupported,
                "the validator of " + target.name() + " refuses " + std::to_string(refusals) +
                    " of " + std::to_string(lowered.graph.ops.size()) + " operators" + refused);
  }
  return result;
}

void write_target_dlc(const qnn::LoweredGraph& lowered, const Target& target,
                      const TargetOutput& wanted, const std::filesystem::path& file,
                      const Progress& progress) {
  qnn::Client client(client_options(target, wanted, progress));
  client.write_dlc(lowered.graph, file, record(lowered, target));
}

void note_unpacked(const qnn::LoweredGraph& lowered, Diagnostics& diagnostics) {
  for (const std::string& tensor : lowered.unpacked) {
    diagnostics.push_back(
        {.severity = Severity::note,
         .rule = "lower/blocks-as-float16",
         .subject = tensor,
         .message = "weight '" + tensor + "' has a float scale a block: in the DLC it is float16"});
  }
}

bool can_write_dlc(const std::string& qnn_libraries) {
  try {
    (void)qnn::find_libraries(qnn_libraries);
    return true;
  } catch (const Error&) {
    return false;
  }
}

}  // namespace halfstep
