#include "halfstep/engines/qnn/dlc/writer.h"

#include <algorithm>
#include <cstdint>
#include <deque>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "halfstep/engines/qnn/dlc/archive.h"
#include "halfstep/engines/qnn/graph.h"
#include "halfstep/support/error.h"
#include "halfstep/support/file.h"
#include "halfstep/support/json.h"
#include "halfstep/version.h"

namespace halfstep::qnn::dlc {
namespace {

/// Takes the times out of a record of Qualcomm's, at any depth.
void remove_times(Json& value) {
  if (value.is_object()) {
    value.erase("timestamp");
  }
  if (value.is_structured()) {
    for (auto& part : value) {
      remove_times(part);
    }
  }
}

std::string cleaned(const Member& member) {
  const std::string_view text(reinterpret_cast<const char*>(member.content.data()),
                              member.content.size());
  Json record = parse_json(text, member.name);
  remove_times(record);
  const Json::json_pointer place("/dlcGenerationInfo/0/converterCommand");
  if (member.name.starts_with(kHistory) && record.contains(place)) {
    Json& command = record[place];
    const Json library =
        command.contains("converterVersion") ? command["converterVersion"] : Json();
    command = {{"tool", "halfstep"}, {"converterVersion", kVersion}, {"args", Json::object()}};
    if (library.is_string()) {
      command["args"]["qnn"] = library;
    }
  }
  return record.dump(4);
}

std::string own_record(const Graph& graph, const Json& metadata) {
  Json record = {{"halfstep", kVersion}};
  record.update(metadata);
  Json blocks = Json::object();
  for (const Tensor& tensor : graph.tensors) {
    if (tensor.quantization.kind == Quantization::Kind::block) {
      blocks[tensor.name] = tensor.quantization.block;
    }
  }
  if (!blocks.empty()) {
    record[kBlocksKey] = std::move(blocks);
  }
  return record.dump(1) + "\n";
}

}  // namespace

bool is_storable(const Graph& graph) {
  for (const Tensor& tensor : graph.tensors) {
    if (tensor.quantization.kind == Quantization::Kind::block) {
      throw Error(ErrorKind::unsupported,
                  "QNN graph \"" + graph.name + "\": tensor \"" + tensor.name +
                      "\": a DLC with float scales of blocks does not load in QNN 2.51, which "
                      "stores only the first extent of a block; quantize it per channel, or in "
                      "blocks with integer block scales (LPBQ)");
    }
  }
  return std::ranges::none_of(graph.ops, [](const Op& op) {
    return op.type == "HardSwish" || op.type == "Relu6" || op.type == "Relu1";
  });
}

Graph storable(Graph graph) {
  constexpr std::uint32_t kHardSwish = 3;
  if (is_storable(graph)) {
    return graph;
  }
  for (Op& op : graph.ops) {
    if (op.type == "HardSwish") {
      op.type = "ElementWiseNeuron";
      op.params = {{.name = "operation", .value = kHardSwish}};
    } else if (op.type == "Relu6" || op.type == "Relu1") {
      const bool six = op.type == "Relu6";
      op.type = "ReluMinMax";
      op.params = {{.name = "min_value", .value = six ? 0.0F : -1.0F},
                   {.name = "max_value", .value = six ? 6.0F : 1.0F}};
    }
  }
  return graph;
}

void finish(const std::filesystem::path& written, const Graph& graph, const Json& metadata,
            const std::filesystem::path& file) {
  require(metadata.is_object(), "the metadata of a DLC has to be a JSON object");
  const MappedFile mapped(written);
  std::vector<Member> members = read_archive(mapped.bytes());
  std::deque<std::string> texts;  // that members point to
  const auto set = [&](Member& member, std::string text) {
    texts.push_back(std::move(text));
    member.content = std::as_bytes(std::span(texts.back()));
  };
  for (Member& member : members) {
    if (member.name.starts_with(kMetadata)) {
      set(member, cleaned(member));
    }
  }
  set(members.emplace_back(Member{.name = std::string(kOwnRecord)}), own_record(graph, metadata));
  std::ranges::sort(members, {}, &Member::name);
  write_archive(members, file);
}

}  // namespace halfstep::qnn::dlc
