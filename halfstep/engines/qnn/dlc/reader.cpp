#include "halfstep/engines/qnn/dlc/reader.h"

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <limits>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "halfstep/engines/qnn/check_graph.h"
#include "halfstep/engines/qnn/dlc/archive.h"
#include "halfstep/engines/qnn/dlc/flat_table.h"
#include "halfstep/engines/qnn/dlc/tensors.h"
#include "halfstep/engines/qnn/dlc/writer.h"
#include "halfstep/engines/qnn/graph.h"
#include "halfstep/support/error.h"
#include "halfstep/support/file.h"
#include "halfstep/support/json.h"

namespace halfstep::qnn::dlc {
namespace {

using Places = std::map<std::string, DataPlace>;

// Numbers of fields, found by writing graphs and reading the file.
constexpr std::size_t kRootGraphs = 0;
constexpr std::size_t kGraphName = 0, kGraphNodes = 1, kGraphTensors = 2;
constexpr std::size_t kNodeName = 0, kNodeType = 1, kNodeInputs = 2, kNodeOutputs = 3;
constexpr std::size_t kNodeParams = 4;
constexpr std::size_t kParamName = 0, kParamKind = 1, kParamScalar = 3, kParamTensor = 4;
constexpr std::size_t kScalarType = 0, kScalarInteger = 1, kScalarFloat = 2, kScalarText = 3;
constexpr std::size_t kPlacesTensors = 1, kPlacesNodes = 2;
constexpr std::size_t kPlaceName = 0, kPlaceOfData = 3;

constexpr std::size_t kHead = 8;
constexpr std::uint32_t kMagic = 0x0ad5;
constexpr std::uint32_t kMajor = 4;
constexpr std::uint32_t kText = 0x608;  // types that only params have
constexpr std::uint32_t kFloat64 = 0x264;
constexpr std::uint32_t kUint64 = 0x164;

[[noreturn]] void fail(const std::string& what) { throw Error(ErrorKind::invalid_file, what); }

const Member& needed(const std::vector<Member>& members, std::string_view name) {
  const Member* member = find_member(members, name);
  if (member == nullptr) {
    fail("not a DLC: the archive has no member \"" + std::string(name) + "\"");
  }
  return *member;
}

std::uint32_t little(std::span<const std::byte> bytes, std::size_t at, std::size_t size) {
  std::uint32_t value = 0;
  for (std::size_t i = size; i-- > 0;) {
    value = (value << 8U) | std::to_integer<std::uint32_t>(bytes[at + i]);
  }
  return value;
}

/// The FlatBuffers part of a member behind its head: magic, major (2 bytes each), minor (4).
std::span<const std::byte> body(const Member& member, Contents& contents) {
  if (member.content.size() < kHead || little(member.content, 0, 2) != kMagic) {
    fail(member.name + ": no DLC head at its begin");
  }
  contents.major = little(member.content, 2, 2);
  contents.minor = little(member.content, 4, 4);
  if (contents.major != kMajor) {
    fail(member.name + ": container version " + std::to_string(contents.major) +
         ", this reader knows version " + std::to_string(kMajor));
  }
  return member.content.subspan(kHead);
}

void add_places(const FlatTable& holder, std::size_t field, Places& places) {
  for (const FlatTable& entry : holder.tables(field)) {
    if (const std::optional<FlatTable> place = entry.table(kPlaceOfData)) {
      places.insert_or_assign(entry.text(kPlaceName), DataPlace{.offset = place->number(0, 8),
                                                                .size = place->number(1, 8)});
    }
  }
}

/// Where the data of the constants of each graph lies.
std::vector<Places> read_places(const std::vector<Member>& members, Contents& contents) {
  const Member* member = find_member(members, "model.params");
  std::vector<Places> all;
  if (member == nullptr) {
    return all;
  }
  const FlatTable root = FlatTable::root(body(*member, contents), "NETP", member->name);
  for (const FlatTable& graph : root.tables(kRootGraphs)) {
    Places& places = all.emplace_back();
    add_places(graph, kPlacesTensors, places);
    for (const FlatTable& node : graph.tables(kPlacesNodes)) {
      add_places(node, 0, places);
    }
  }
  return all;
}

template <typename T>
T narrow(std::int64_t value) {
  if (value < std::numeric_limits<T>::min() || value > std::numeric_limits<T>::max()) {
    fail("its value " + std::to_string(value) + " does not fit its type");
  }
  return static_cast<T>(value);
}

/// A scalar: integers are stored as 64 bits, floats as double, whatever their type.
void read_scalar(const FlatTable& table, Param& param) {
  const std::uint64_t type =
      table.number(kScalarType, 4, static_cast<std::uint64_t>(DataType::uint32));
  const auto integer = static_cast<std::int64_t>(table.number(kScalarInteger, 8));
  if (type == kText) {
    param.value = table.text(kScalarText);
    return;
  }
  if (type == kFloat64) {
    param.value = static_cast<float>(table.float64(kScalarFloat));
    return;
  }
  if (type == kUint64) {
    param.value = narrow<std::uint32_t>(integer);
    return;
  }
  const std::optional<DataType> known = data_type_of(type);
  if (!known) {
    fail("unknown type " + std::to_string(type));
  }
  switch (*known) {
    case DataType::bool8:
      param.value = integer != 0;
      break;
    case DataType::float16:
    case DataType::bfloat16:
    case DataType::float32:
      param.value = static_cast<float>(table.float64(kScalarFloat));
      break;
    case DataType::uint8:
    case DataType::uint16:
    case DataType::uint32:
    case DataType::ufixed8:
    case DataType::ufixed16:
    case DataType::ufixed32:
      param.value = narrow<std::uint32_t>(integer);
      break;
    case DataType::int8:
    case DataType::int16:
    case DataType::int32:
    case DataType::int64:
    case DataType::sfixed8:
    case DataType::sfixed16:
    case DataType::sfixed32:
      param.value = narrow<std::int32_t>(integer);
      break;
  }
}

Op read_op(const FlatTable& node, const TensorReader& tensors, const Places& places) {
  Op op{.name = node.text(kNodeName), .type = node.text(kNodeType)};
  try {
    op.inputs = node.texts(kNodeInputs);
    op.outputs = node.texts(kNodeOutputs);
    for (const FlatTable& entry : node.tables(kNodeParams)) {
      Param param{.name = entry.text(kParamName)};
      if (param.name == "packageName") {
        continue;  // of the operator, not of what it computes
      }
      const bool is_tensor = entry.number(kParamKind, 1) == 1;
      const std::optional<FlatTable> value = entry.table(is_tensor ? kParamTensor : kParamScalar);
      if (!value) {
        fail("param \"" + param.name + "\" has no value");
      }
      try {
        if (is_tensor) {
          param.value = tensors.read(*value, places);
        } else {
          read_scalar(*value, param);
        }
      } catch (const Error& error) {
        throw error.within("param \"" + param.name + "\"");
      }
      op.params.push_back(std::move(param));
    }
  } catch (const Error& error) {
    throw error.within(op.type + " \"" + op.name + "\"");
  }
  return op;
}

Graph read_graph(const FlatTable& table, const TensorReader& tensors, const Places& places,
                 const ReadOptions& options) {
  static const Places kNone;
  Graph graph{.name = table.text(kGraphName)};
  try {
    for (const FlatTable& tensor : table.tables(kGraphTensors)) {
      graph.tensors.push_back(tensors.read(tensor, options.constants ? places : kNone));
    }
    for (const FlatTable& node : table.tables(kGraphNodes)) {
      graph.ops.push_back(read_op(node, tensors, options.params ? places : kNone));
    }
  } catch (const Error& error) {
    throw error.within("graph \"" + graph.name + "\"");
  }
  return graph;
}

std::string text_of(const Member& member) {
  return {reinterpret_cast<const char*>(member.content.data()), member.content.size()};
}

/// Who wrote the file. The record is Qualcomm's; nothing is asked of it.
void read_history(const std::vector<Member>& members, Contents& contents) {
  for (const Member& member : members) {
    if (!member.name.starts_with(kHistory)) {
      continue;
    }
    const Json history = parse_json(text_of(member), member.name);
    const Json::json_pointer command("/dlcGenerationInfo/0/converterCommand");
    if (!history.is_object() || !history.contains(command)) {
      continue;
    }
    const Json& found = history.at(command);
    const auto text = [&](const char* key) {
      return found.is_object() && found.contains(key) && found.at(key).is_string()
                 ? found.at(key).get<std::string>()
                 : std::string();
    };
    contents.tool = text("tool");
    contents.tool_version = text("converterVersion");
  }
}

/// The file does not say how large the blocks of block encodings are; our own record does.
void add_blocks(const Json& metadata, Graph& graph) {
  if (!metadata.is_object() || !metadata.contains(kBlocksKey)) {
    return;
  }
  const Json& blocks = metadata.at(kBlocksKey);
  for (Tensor& tensor : graph.tensors) {
    if (tensor.quantization.kind != Quantization::Kind::block || !blocks.is_object() ||
        !blocks.contains(tensor.name) || !blocks.at(tensor.name).is_array()) {
      continue;
    }
    for (const Json& extent : blocks.at(tensor.name)) {
      if (extent.is_number_unsigned()) {
        tensor.quantization.block.push_back(extent.get<std::uint32_t>());
      }
    }
  }
}

Contents read_members(const std::vector<Member>& members, const ReadOptions& options) {
  Contents contents;
  for (const Member& member : members) {
    contents.members.push_back({.name = member.name, .size = member.content.size()});
  }
  const Member& model = needed(members, "model");
  const FlatTable root = FlatTable::root(body(model, contents), "NETD", model.name);
  const std::vector<Places> places = read_places(members, contents);
  const auto content_of = [&](std::string_view name) {
    const Member* member = find_member(members, name);
    return member == nullptr ? std::span<const std::byte>() : member->content;
  };
  const std::span<const std::byte> data = content_of("model.params.bin");
  const std::span<const std::byte> encodings = content_of("model.encodings.bin");
  std::uint64_t budget = 4 * (data.size() + encodings.size());
  const TensorReader tensors(data, encodings, budget);
  if (const Member* own = find_member(members, kOwnRecord)) {
    contents.metadata = parse_json(text_of(*own), own->name);
  }
  for (const FlatTable& graph : root.tables(kRootGraphs)) {
    const std::size_t index = contents.graphs.size();
    contents.graphs.push_back(
        read_graph(graph, tensors, index < places.size() ? places[index] : Places(), options));
    add_blocks(contents.metadata, contents.graphs.back());
  }
  read_history(members, contents);
  return contents;
}

}  // namespace

Contents read(std::span<const std::byte> bytes, const std::string& name,
              const ReadOptions& options) {
  try {
    return read_members(read_archive(bytes), options);
  } catch (const Error& error) {
    throw error.within(name);
  }
}

Contents read(const std::filesystem::path& file, const ReadOptions& options) {
  const MappedFile mapped(file);
  return read(mapped.bytes(), file.string(), options);
}

}  // namespace halfstep::qnn::dlc
