#include "halfstep/model/check.h"

#include <exception>
#include <string>

#include <onnx/checker.h>

#include "halfstep/model/blob.h"
#include "halfstep/model/visit.h"
#include "halfstep/support/error.h"

namespace halfstep {
namespace {

// The checker prints a line for each experimental operator, and a library must not.
constexpr const char* kExperimental = "halfstep.experimental";

void add_experimental_domain(
    google::protobuf::RepeatedPtrField<onnx::OperatorSetIdProto>& imports) {
  onnx::OperatorSetIdProto* import = imports.Add();
  import->set_domain(kExperimental);
  import->set_version(1);
}

void hide_experimental_ops(onnx::ModelProto& model) {
  bool found = false;
  for_each_node(model, [&found](onnx::NodeProto& node) {
    if (onnx::checker::check_is_experimental_op(node)) {
      node.set_domain(kExperimental);
      found = true;
    }
  });
  if (found) {
    add_experimental_domain(*model.mutable_opset_import());
    for (auto& function : *model.mutable_functions()) {
      add_experimental_domain(*function.mutable_opset_import());
    }
  }
}

// The data of such a tensor was checked when it was mapped; an empty tensor passes.
void hide_tokens(onnx::ModelProto& model) {
  for_each_tensor(model, [](onnx::TensorProto& tensor) {
    if (token_of(tensor)) {
      clear_data(tensor);
      tensor.clear_dims();
      tensor.add_dims(0);
    }
  });
}

void fill_type(onnx::ValueInfoProto& value, bool also_type) {
  const bool untyped = value.type().value_case() == onnx::TypeProto::VALUE_NOT_SET;
  if (untyped && !also_type) {
    return;
  }
  if (untyped) {
    value.mutable_type()->mutable_tensor_type()->set_elem_type(onnx::TensorProto::FLOAT);
  }
  if (value.type().has_tensor_type()) {
    value.mutable_type()->mutable_tensor_type()->mutable_shape();
  }
}

// "a\nb\n\n==> Context: c" as "a b (c)".
std::string one_line(std::string text) {
  const std::string kContext = "\n\n==> Context: ";
  if (const auto at = text.find(kContext); at != std::string::npos) {
    text.replace(at, kContext.size(), " (");
    text += ")";
  }
  std::string line;
  for (const char c : text) {
    const bool space = c == '\n' || c == ' ';
    if (!space || (!line.empty() && line.back() != ' ')) {
      line += space ? ' ' : c;
    }
  }
  return line;
}

}  // namespace

void check_model(const onnx::ModelProto& model) {
  if (model.ir_version() > onnx::IR_VERSION) {
    throw Error(ErrorKind::unsupported,
                "the model has IR version " + std::to_string(model.ir_version()) +
                    ", this build knows versions up to " + std::to_string(onnx::IR_VERSION) +
                    "; export the model for an older ONNX version");
  }
  onnx::ModelProto copy = model;
  hide_tokens(copy);
  hide_experimental_ops(copy);
  for (auto& input : *copy.mutable_graph()->mutable_input()) {
    fill_type(input, false);
  }
  for (auto& output : *copy.mutable_graph()->mutable_output()) {
    fill_type(output, true);
  }
  try {
    onnx::checker::check_model(copy);
  } catch (const std::exception& error) {
    throw Error(ErrorKind::invalid_file,
                "the ONNX checker refuses the model: " + one_line(error.what()));
  }
}

}  // namespace halfstep
