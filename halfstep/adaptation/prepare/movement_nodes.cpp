#include "halfstep/adaptation/prepare/movement_nodes.h"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "halfstep/model/graph_editor.h"
#include "halfstep/model/graph_index.h"
#include "halfstep/model/node_metadata.h"
#include "halfstep/model/qti_ops.h"
#include "halfstep/support/json.h"

namespace halfstep {
namespace {

constexpr std::size_t kImageRank = 4;
constexpr std::int64_t kChannels = 1;

std::string tag(const onnx::NodeProto& node, std::string_view key) {
  const std::string* value = find_metadata(node, key);
  return value == nullptr ? "" : *value;
}

void set_integers(onnx::NodeProto& node, const std::string& name, const Json& value) {
  onnx::AttributeProto& attribute = *node.add_attribute();
  attribute.set_name(name);
  if (value.is_array()) {
    attribute.set_type(onnx::AttributeProto::INTS);
    for (const Json& number : value) {
      attribute.add_ints(number.get<std::int64_t>());
    }
  } else {
    attribute.set_type(onnx::AttributeProto::INT);
    attribute.set_i(value.get<std::int64_t>());
  }
}

onnx::NodeProto transpose(const std::string& from, std::string to, std::string name,
                          const std::vector<std::int64_t>& order) {
  onnx::NodeProto node;
  node.set_op_type("Transpose");
  node.set_name(std::move(name));
  node.add_input(from);
  node.add_output(std::move(to));
  onnx::AttributeProto& perm = *node.add_attribute();
  perm.set_name("perm");
  perm.set_type(onnx::AttributeProto::INTS);
  perm.mutable_ints()->Add(order.begin(), order.end());
  return node;
}

class Replacer {
 public:
  Replacer(Model& model, std::unordered_set<std::string>& inner)
      : graph_(model), editor_(model), names_(model.graph()), inner_(inner) {}

  int run() {
    int replaced = 0;
    for (int node = 0; node < graph_.graph().node_size(); ++node) {
      const std::vector<int> nodes = group_from(node);
      if (!nodes.empty() && replace(nodes)) {
        ++replaced;
        node = std::max(node, nodes.front());
      }
    }
    editor_.apply();
    return replaced;
  }

 private:
  [[nodiscard]] const onnx::NodeProto& proto(int node) const { return graph_.graph().node(node); }

  /// The tagged nodes that follow each other from the first one of a group on.
  [[nodiscard]] std::vector<int> group_from(int node) const {
    const std::string group = tag(proto(node), kGroupKey);
    const int before = graph_.producer(proto(node).input_size() > 0 ? proto(node).input(0) : "");
    // Super groups have these tags, too, with the pattern's name.
    if (group.empty() || !tag(proto(node), kGroupOpKey).starts_with('{') ||
        (before >= 0 && tag(proto(before), kGroupKey) == group)) {
      return {};
    }
    std::vector<int> nodes;
    while (node >= 0 && tag(proto(node), kGroupKey) == group) {
      nodes.push_back(node);
      const auto readers = graph_.consumers(proto(node).output(0));
      node = readers.size() == 1 ? readers[0].node : -1;
    }
    return nodes;
  }

  bool replace(const std::vector<int>& nodes) {
    const std::string& input = proto(nodes.front()).input(0);
    const std::string& output = proto(nodes.back()).output(0);
    const Json what = parse_json(tag(proto(nodes.front()), kGroupOpKey), kGroupOpKey);
    const std::optional<Shape> shape = graph_.type(input).shape;
    const bool shuffle = what.at("op") == "ChannelShuffle";
    if (!shape || shape->size() != kImageRank ||
        (shuffle && what.at("axis").get<std::int64_t>() != kChannels)) {
      return false;
    }
    onnx::NodeProto node;
    node.set_op_type(what.at("op").get<std::string>());
    node.set_domain(std::string(kQtiDomain));
    node.set_name(tag(proto(nodes.front()), kGroupKey));
    for (const auto& [key, value] : what.items()) {
      if (key != "op" && key != "layout") {
        set_integers(node, key, value);
      }
    }
    insert(nodes.back(), input, output, std::move(node), !shuffle && what.at("layout") == "NHWC");
    for (const int old : nodes) {
      editor_.remove_node(old);
    }
    return true;
  }

  void insert(int place, const std::string& input, const std::string& output, onnx::NodeProto node,
              bool channels_last) {
    if (!channels_last) {
      node.add_input(input);
      node.add_output(output);
      editor_.insert_before(place, std::move(node));
      return;
    }
    const std::string first = names_.fresh(output + "_before"),
                      last = names_.fresh(output + "_after");
    inner_.insert({first, last});
    node.add_input(first);
    node.add_output(last);
    editor_.insert_before(place, transpose(input, first, names_.fresh(first), {0, 3, 1, 2}));
    editor_.insert_before(place, std::move(node));
    editor_.insert_before(place, transpose(last, output, names_.fresh(last), {0, 2, 3, 1}));
  }

  GraphIndex graph_;
  GraphEditor editor_;
  NameMaker names_;
  std::unordered_set<std::string>& inner_;
};

}  // namespace

int put_movement_operators(Model& model, std::unordered_set<std::string>& inner) {
  const int replaced = Replacer(model, inner).run();
  const auto& opsets = model.proto().opset_import();
  if (replaced > 0 && std::none_of(opsets.begin(), opsets.end(), [](const auto& entry) {
        return entry.domain() == kQtiDomain;
      })) {
    onnx::OperatorSetIdProto& opset = *model.proto().add_opset_import();
    opset.set_domain(std::string(kQtiDomain));
    opset.set_version(1);
  }
  return replaced;
}

}  // namespace halfstep
