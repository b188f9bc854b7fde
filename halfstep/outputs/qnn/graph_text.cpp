#include "halfstep/outputs/qnn/graph_text.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstring>
#include <utility>
#include <variant>

namespace halfstep::qnn {
namespace {

using Kind = Quantization::Kind;

constexpr std::array kNames = {
    std::pair{DataType::int8, "int8"},         std::pair{DataType::int16, "int16"},
    std::pair{DataType::int32, "int32"},       std::pair{DataType::int64, "int64"},
    std::pair{DataType::uint8, "uint8"},       std::pair{DataType::uint16, "uint16"},
    std::pair{DataType::uint32, "uint32"},     std::pair{DataType::float16, "float16"},
    std::pair{DataType::bfloat16, "bfloat16"}, std::pair{DataType::float32, "float32"},
    std::pair{DataType::sfixed8, "sfixed8"},   std::pair{DataType::sfixed16, "sfixed16"},
    std::pair{DataType::sfixed32, "sfixed32"}, std::pair{DataType::ufixed8, "ufixed8"},
    std::pair{DataType::ufixed16, "ufixed16"}, std::pair{DataType::ufixed32, "ufixed32"},
    std::pair{DataType::bool8, "bool8"},
};

std::string number(float value) {
  std::array<char, 32> text{};
  const std::to_chars_result end = std::to_chars(text.data(), text.data() + text.size(), value);
  return {text.data(), end.ptr};
}

template <typename T>
std::string list_text(const std::vector<T>& values) {
  std::string text = "[";
  for (const T& value : values) {
    text += (text.size() > 1 ? ", " : "");
    if constexpr (std::is_same_v<T, float>) {
      text += number(value);
    } else {
      text += std::to_string(value);
    }
  }
  return text + "]";
}

template <typename T>
std::vector<T> values_of(const Tensor& tensor) {
  std::vector<T> values(tensor.data.size() / sizeof(T));
  if (!values.empty()) {
    std::memcpy(values.data(), tensor.data.data(), values.size() * sizeof(T));
  }
  return values;
}

struct ParamText {
  std::string operator()(bool value) const { return value ? "true" : "false"; }
  std::string operator()(float value) const { return number(value); }
  std::string operator()(const std::string& text) const { return "\"" + text + "\""; }
  std::string operator()(std::uint32_t value) const { return std::to_string(value); }
  std::string operator()(std::int32_t value) const { return std::to_string(value); }
  std::string operator()(const Tensor& tensor) const {
    if (tensor.type == DataType::float32) {
      return list_text(values_of<float>(tensor));
    }
    return tensor.type == DataType::int32 ? list_text(values_of<std::int32_t>(tensor))
                                          : list_text(values_of<std::uint32_t>(tensor));
  }
};

const char* kind_name(TensorKind kind) {
  switch (kind) {
    case TensorKind::app_write:
      return "input";
    case TensorKind::app_read:
      return "output";
    case TensorKind::constant:
      return "constant";
    case TensorKind::null:
      return "none";
    case TensorKind::native:
      break;
  }
  return "inner";
}

/// "0.5", "4 of 0.1..0.9"
std::string scales_text(const std::vector<float>& scales) {
  const auto [low, high] = std::minmax_element(scales.begin(), scales.end());
  return scales.size() == 1
             ? number(scales[0])
             : std::to_string(scales.size()) + " of " + number(*low) + ".." + number(*high);
}

std::string quantization_text(const Quantization& q) {
  if (q.kind == Kind::none) {
    return "";
  }
  std::string text = " scale " + scales_text(q.scales);
  if (q.kind == Kind::per_axis || q.kind == Kind::per_axis_bits ||
      q.kind == Kind::block_expansion) {
    text += " axis " + std::to_string(q.axis);
  }
  if (q.kind == Kind::block) {
    text += " block " + list_text(q.block);
  }
  if (q.kind == Kind::block_expansion) {
    text += " blocks " + std::to_string(q.blocks_per_axis) + " of " +
            std::to_string(q.block_scale_bits) + "-bit scales";
  }
  if (std::any_of(q.offsets.begin(), q.offsets.end(), [](auto offset) { return offset != 0; })) {
    text += " offset " + (q.offsets.size() == 1 ? std::to_string(q.offsets[0]) : "varies");
  }
  if (q.kind == Kind::per_tensor_bits || q.kind == Kind::per_axis_bits) {
    text += " bits " + std::to_string(q.bits);
  }
  return text;
}

std::string joined(const std::vector<std::string>& names) {
  std::string text;
  for (const std::string& each : names) {
    text += (text.empty() ? "" : ", ") + each;
  }
  return text;
}

Json param_json(const Param& param) {
  return std::visit(
      [](const auto& value) -> Json {
        if constexpr (std::is_same_v<std::decay_t<decltype(value)>, Tensor>) {
          return Json::parse(ParamText{}(value));
        } else {
          return value;
        }
      },
      param.value);
}

Json tensor_json(const Tensor& tensor) {
  Json json = {{"name", tensor.name},
               {"kind", kind_name(tensor.kind)},
               {"type", name(tensor.type)},
               {"dims", tensor.dims}};
  const Quantization& q = tensor.quantization;
  if (q.kind == Kind::none) {
    return json;
  }
  json["scales"] = q.scales;
  json["offsets"] = q.offsets;
  if (q.kind == Kind::per_axis || q.kind == Kind::per_axis_bits ||
      q.kind == Kind::block_expansion) {
    json["axis"] = q.axis;
  }
  if (q.kind == Kind::per_axis_bits || q.kind == Kind::per_tensor_bits) {
    json["bits"] = q.bits;
  }
  if (q.kind == Kind::block) {
    json["block"] = q.block;
  }
  if (q.kind == Kind::block_expansion) {
    json["blocks_per_axis"] = q.blocks_per_axis;
    json["block_scales"] = q.block_scales;
  }
  return json;
}

}  // namespace

std::string_view name(DataType type) noexcept {
  const auto* found = std::find_if(kNames.begin(), kNames.end(),
                                   [type](const auto& row) { return row.first == type; });
  return found == kNames.end() ? "unknown" : found->second;
}

std::string graph_text(const LoweredGraph& lowered) {
  std::string text;
  for (std::size_t i = 0; i < lowered.graph.ops.size(); ++i) {
    const Op& op = lowered.graph.ops[i];
    text +=
        op.type + " " + op.name + " (" + joined(op.inputs) + ") -> (" + joined(op.outputs) + ")";
    for (const Param& param : op.params) {
      text += " " + param.name + "=" + std::visit(ParamText{}, param.value);
    }
    const int group = i < lowered.groups.size() ? lowered.groups[i] : -1;
    text += (group < 0 ? "" : " #" + std::to_string(group)) + "\n";
  }
  for (const Tensor& tensor : lowered.graph.tensors) {
    text += tensor.name + " " + kind_name(tensor.kind) + " " + std::string(name(tensor.type)) +
            " " + list_text(tensor.dims) + quantization_text(tensor.quantization) + "\n";
  }
  return text;
}

Json graph_json(const LoweredGraph& lowered) {
  Json ops = Json::array(), tensors = Json::array();
  for (std::size_t i = 0; i < lowered.graph.ops.size(); ++i) {
    const Op& op = lowered.graph.ops[i];
    Json params = Json::object();
    for (const Param& param : op.params) {
      params[param.name] = param_json(param);
    }
    Json json = {{"name", op.name},
                 {"type", op.type},
                 {"inputs", op.inputs},
                 {"outputs", op.outputs},
                 {"params", std::move(params)}};
    if (i < lowered.groups.size() && lowered.groups[i] >= 0) {
      json["group"] = lowered.groups[i];
    }
    ops.push_back(std::move(json));
  }
  for (const Tensor& tensor : lowered.graph.tensors) {
    tensors.push_back(tensor_json(tensor));
  }
  return {{"operators", std::move(ops)}, {"tensors", std::move(tensors)}};
}

}  // namespace halfstep::qnn
