#include "halfstep/inspect_dlc.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "halfstep/engines/qnn/check_graph.h"
#include "halfstep/engines/qnn/dlc/reader.h"
#include "halfstep/engines/qnn/graph.h"
#include "halfstep/outputs/qnn/dlc_record.h"
#include "halfstep/support/error.h"
#include "halfstep/support/json.h"

namespace halfstep {
namespace {

using qnn::DataType;
using qnn::Quantization;
using Kind = Quantization::Kind;

std::string number(float value) {
  std::array<char, 32> text{};
  const std::to_chars_result end = std::to_chars(text.data(), text.data() + text.size(), value);
  return {text.data(), end.ptr};
}

template <typename T>
Json list_of(const std::vector<std::byte>& data) {
  Json list = Json::array();
  for (std::size_t at = 0; at + sizeof(T) <= data.size(); at += sizeof(T)) {
    T value{};
    std::memcpy(&value, data.data() + at, sizeof(T));
    list.push_back(value);
  }
  return list;
}

/// The values of a param: QNN has them as 32-bit numbers, or bytes.
Json values_of(const qnn::Tensor& tensor) {
  switch (tensor.type) {
    case DataType::float32:
      return list_of<float>(tensor.data);
    case DataType::int32:
    case DataType::sfixed32:
      return list_of<std::int32_t>(tensor.data);
    case DataType::uint32:
    case DataType::ufixed32:
      return list_of<std::uint32_t>(tensor.data);
    case DataType::int64:
      return list_of<std::int64_t>(tensor.data);
    case DataType::int16:
    case DataType::sfixed16:
      return list_of<std::int16_t>(tensor.data);
    case DataType::uint16:
    case DataType::ufixed16:
    case DataType::float16:
    case DataType::bfloat16:
      return list_of<std::uint16_t>(tensor.data);
    case DataType::int8:
    case DataType::sfixed8:
      return list_of<std::int8_t>(tensor.data);
    case DataType::uint8:
    case DataType::ufixed8:
    case DataType::bool8:
      return list_of<std::uint8_t>(tensor.data);
  }
  return Json::array();
}

Json param_json(const qnn::Param& param) {
  if (const auto* tensor = std::get_if<qnn::Tensor>(&param.value)) {
    return values_of(*tensor);
  }
  return std::visit(
      [](const auto& value) -> Json {
        if constexpr (std::is_same_v<std::decay_t<decltype(value)>, qnn::Tensor>) {
          return {};
        } else {
          return value;
        }
      },
      param.value);
}

const char* kind_name(Kind kind) {
  constexpr std::array kNames = {"none",          "per_tensor", "per_axis",       "per_tensor_bits",
                                 "per_axis_bits", "block",      "block_expansion"};
  return kNames.at(static_cast<std::size_t>(kind));
}

Json encoding_json(const Quantization& q) {
  Json json = {{"kind", kind_name(q.kind)}, {"scales", q.scales}, {"offsets", q.offsets}};
  if (q.kind == Kind::per_axis || q.kind == Kind::per_axis_bits ||
      q.kind == Kind::block_expansion) {
    json["axis"] = q.axis;
  }
  if (q.kind == Kind::per_axis_bits || q.kind == Kind::per_tensor_bits) {
    json["bits"] = q.bits;
  }
  if (q.kind == Kind::block && !q.block.empty()) {
    json["block"] = q.block;
  }
  if (q.kind == Kind::block_expansion) {
    json["blocks_per_axis"] = q.blocks_per_axis;
    json["block_scale_bits"] = q.block_scale_bits;
    json["block_scales"] = q.block_scales;
  }
  return json;
}

Json graph_json(const qnn::Graph& graph, const std::map<std::string, int>& groups) {
  Json ops = Json::array();
  for (const qnn::Op& op : graph.ops) {
    Json params = Json::object();
    for (const qnn::Param& param : op.params) {
      params[param.name] = param_json(param);
    }
    Json json = {{"name", op.name},
                 {"type", op.type},
                 {"inputs", op.inputs},
                 {"outputs", op.outputs},
                 {"params", std::move(params)}};
    if (const auto group = groups.find(op.name); group != groups.end()) {
      json["super_group"] = group->second;
    }
    ops.push_back(std::move(json));
  }
  Json tensors = Json::array();
  for (const qnn::Tensor& tensor : graph.tensors) {
    Json json = {{"name", tensor.name},
                 {"kind", qnn::name_of(tensor.kind)},
                 {"type", qnn::name_of(tensor.type)},
                 {"shape", tensor.dims}};
    if (tensor.quantization.kind != Kind::none) {
      json["encoding"] = encoding_json(tensor.quantization);
    }
    tensors.push_back(std::move(json));
  }
  return {{"name", graph.name}, {"operators", std::move(ops)}, {"tensors", std::move(tensors)}};
}

std::string scales_text(const std::vector<float>& scales) {
  if (scales.empty()) {
    return "no scales";
  }
  const auto [low, high] = std::ranges::minmax_element(scales);
  const std::string count = std::to_string(scales.size()) + " scales ";
  return *low == *high ? count + number(*low) : count + number(*low) + ".." + number(*high);
}

}  // namespace

DlcReport inspect_dlc(const std::filesystem::path& file) {
  DlcReport report;
  report.contents = qnn::dlc::read(file, {.constants = false});
  report.file_bytes = std::filesystem::file_size(file);
  try {
    report.groups = qnn::groups_in(report.contents.metadata);
  } catch (const Error& error) {
    throw error.within(file.string());
  }
  return report;
}

Json to_json(const DlcReport& report) {
  const qnn::dlc::Contents& contents = report.contents;
  Json members = Json::object();
  for (const qnn::dlc::MemberSize& member : contents.members) {
    members[member.name] = member.size;
  }
  Json graphs = Json::array();
  for (const qnn::Graph& graph : contents.graphs) {
    graphs.push_back(graph_json(graph, report.groups));
  }
  return {{"size", report.file_bytes},
          {"container", {contents.major, contents.minor}},
          {"tool", {{"name", contents.tool}, {"version", contents.tool_version}}},
          {"members", std::move(members)},
          {"metadata", contents.metadata},
          {"graphs", std::move(graphs)}};
}

std::string encoding_text(const Quantization& q) {
  std::string text;
  switch (q.kind) {
    case Kind::none:
      return {};
    case Kind::per_tensor:
    case Kind::per_tensor_bits:
      text = q.scales.empty() ? "no scale" : number(q.scales[0]);
      break;
    case Kind::per_axis:
    case Kind::per_axis_bits:
      text = scales_text(q.scales) + " on axis " + std::to_string(q.axis);
      break;
    case Kind::block:
      text = scales_text(q.scales) + " of blocks";
      break;
    case Kind::block_expansion:
      text = scales_text(q.scales) + " on axis " + std::to_string(q.axis) + " times " +
             std::to_string(q.block_scales.size()) + " block scales of " +
             std::to_string(q.block_scale_bits) + " bits";
      break;
  }
  const auto [low, high] = std::ranges::minmax_element(q.offsets);
  if (low != q.offsets.end() && (*low != 0 || *high != 0)) {
    text += *low == *high ? ", offset " + std::to_string(*low)
                          : ", offsets " + std::to_string(*low) + ".." + std::to_string(*high);
  }
  if (q.kind == Kind::per_tensor_bits || q.kind == Kind::per_axis_bits) {
    text += ", " + std::to_string(q.bits) + " bits";
  }
  return text;
}

std::string param_text(const qnn::Param& param) {
  constexpr std::size_t kShown = 8;
  Json value = param_json(param);
  if (!value.is_array() || value.size() <= kShown) {
    return value.dump(-1, ' ', false, Json::error_handler_t::replace);
  }
  const std::size_t count = value.size();
  value.erase(value.begin() + kShown, value.end());
  std::string text = value.dump();
  text.insert(text.size() - 1, ",... " + std::to_string(count) + " values");
  return text;
}

}  // namespace halfstep
