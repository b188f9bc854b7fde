#include "halfstep/verify_dlc.h"

#include <map>
#include <set>
#include <string>
#include <utility>

#include "halfstep/engines/qnn/dlc/reader.h"
#include "halfstep/outputs/qnn/dlc_record.h"
#include "halfstep/support/error.h"

namespace halfstep {

DlcSubject read_dlc_subject(const std::filesystem::path& file) {
  qnn::dlc::Contents contents = qnn::dlc::read(file, {.params = false, .constants = false});
  if (contents.graphs.size() != 1) {
    throw Error(
        ErrorKind::invalid_file,
        file.string() + " holds " + std::to_string(contents.graphs.size()) + " graphs; expected 1");
  }
  DlcSubject dlc;
  dlc.lowered.graph = std::move(contents.graphs.front());
  std::set<std::string> taken;
  std::map<std::string, int> groups;
  if (contents.metadata.is_object()) {
    dlc.lowered.places = qnn::places_in(contents.metadata);
    groups = qnn::groups_in(contents.metadata);
    if (contents.metadata.contains("target") && contents.metadata.at("target").is_string()) {
      dlc.target = contents.metadata.at("target").get<std::string>();
    }
  }
  for (const auto& [name, place] : dlc.lowered.places) {
    taken.insert(place.name);
  }
  for (const qnn::Tensor& tensor : dlc.lowered.graph.tensors) {
    if (!taken.contains(tensor.name)) {
      dlc.lowered.places.try_emplace(tensor.name, qnn::TensorPlace{.name = tensor.name});
    }
  }
  for (const qnn::Op& op : dlc.lowered.graph.ops) {
    const auto found = groups.find(op.name);
    dlc.lowered.groups.push_back(found == groups.end() ? -1 : found->second);
  }
  return dlc;
}

}  // namespace halfstep
