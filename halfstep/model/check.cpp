#include "halfstep/model/check.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <exception>
#include <string>
#include <string_view>

#include <onnx/checker.h>

#include "halfstep/model/blob.h"
#include "halfstep/model/qti_ops.h"
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
    text += ')';
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

// Length of the UTF-8 sequence that begins with `byte`; 0 if none does.
std::size_t sequence_length(unsigned char byte) noexcept {
  if (byte < 0x80) {
    return 1;
  }
  if (byte >= 0xC2 && byte < 0xE0) {
    return 2;
  }
  if (byte >= 0xE0 && byte < 0xF0) {
    return 3;
  }
  return byte >= 0xF0 && byte < 0xF5 ? 4 : 0;
}

// Are the bytes after the first one of `sequence` such that may follow it?
bool continues(std::string_view sequence) noexcept {
  using Range = std::array<unsigned char, 3>;  // first byte, lowest and highest second byte
  // The second byte also tells overlong forms, surrogates and numbers beyond Unicode.
  constexpr std::array kSecond = {Range{0xE0, 0xA0, 0xBF}, Range{0xED, 0x80, 0x9F},
                                  Range{0xF0, 0x90, 0xBF}, Range{0xF4, 0x80, 0x8F}};
  for (std::size_t i = 1; i < sequence.size(); ++i) {
    Range range{0, 0x80, 0xBF};
    for (const Range& special : kSecond) {
      if (i == 1 && static_cast<unsigned char>(sequence[0]) == special[0]) {
        range = special;
      }
    }
    const auto byte = static_cast<unsigned char>(sequence[i]);
    if (byte < range[1] || byte > range[2]) {
      return false;
    }
  }
  return true;
}

void check_names(const onnx::ModelProto& model) {
  const auto check = [](const char* what, const std::string& text) {
    if (!is_utf8(text)) {
      throw Error(ErrorKind::invalid_file,
                  std::string("the ") + what + " is not UTF-8 text; the file is damaged");
    }
  };
  for_each_graph_of_model(model, [&](const onnx::GraphProto& graph) {
    check("name of a graph", graph.name());
    const auto names = [&](const char* what, const auto& values) {
      for (const auto& value : values) {
        check(what, value.name());
      }
    };
    names("name of an input", graph.input());
    names("name of an output", graph.output());
    names("name of a value", graph.value_info());
    names("name of an initializer", graph.initializer());
  });
  for_each_node(model, [&](const onnx::NodeProto& node) {
    check("name of a node", node.name());
    check("operator of a node", node.op_type());
    check("domain of a node", node.domain());
    std::ranges::for_each(node.input(), [&](const auto& name) { check("input of a node", name); });
    std::ranges::for_each(node.output(),
                          [&](const auto& name) { check("output of a node", name); });
  });
  check("name of the producer", model.producer_name());
  check("version of the producer", model.producer_version());
}

}  // namespace

bool is_utf8(std::string_view text) noexcept {
  while (!text.empty()) {
    const std::size_t length = sequence_length(static_cast<unsigned char>(text[0]));
    if (length == 0 || length > text.size() || !continues(text.substr(0, length))) {
      return false;
    }
    text.remove_prefix(length);
  }
  return true;
}

void check_model(const onnx::ModelProto& model) {
  register_qti_ops();
  if (model.ir_version() > onnx::IR_VERSION) {
    throw Error(ErrorKind::unsupported,
                "the model has IR version " + std::to_string(model.ir_version()) +
                    ", this build knows versions up to " + std::to_string(onnx::IR_VERSION) +
                    "; export the model for an older ONNX version");
  }
  check_names(model);
  onnx::ModelProto copy = model;
  if (copy.ir_version() == 3) {
    copy.set_ir_version(4);  // 3 wants each initializer among the inputs, which no runtime does
  }
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
