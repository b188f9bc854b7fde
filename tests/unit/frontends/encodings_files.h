#pragma once

// Walks a folder MODEL/RECIPE/vVERSION.encodings, MODEL/variants/manifest.json and tells what is
// wrong.
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "halfstep/encodings/diff.h"
#include "halfstep/frontends/encodings_file.h"
#include "halfstep/model/model.h"
#include "halfstep/support/error.h"
#include "halfstep/support/file.h"
#include "halfstep/support/json.h"

namespace halfstep {

struct FilesReport {
  int files = 0;                              ///< read
  int entries = 0;                            ///< compared with version 2.0.0
  int refused = 0;                            ///< files refused for blocks in version 0.6.1
  int equal = 0, rejected = 0, accepted = 0;  ///< variants that are as the manifest says
  std::vector<std::string> faults{};
  std::vector<std::string> refusals{};  ///< messages
};

class FilesCheck {
 public:
  explicit FilesCheck(FilesReport& report) : report_(report) {}

  void model_folder(const std::filesystem::path& folder) {
    for (const auto& entry : std::filesystem::directory_iterator(folder)) {
      if (!entry.is_directory()) {
        continue;
      }
      const auto own = entry.path() / "model.onnx";
      const Model model = Model::load(std::filesystem::exists(own) ? own : folder / "model.onnx");
      const GraphIndex graph(model);
      if (entry.path().filename() == "variants") {
        variants(entry.path(), graph);
      } else {
        recipe(entry.path(), graph);
      }
    }
  }

 private:
  EncodingTable table(const std::filesystem::path& path, const GraphIndex& graph) {
    Diagnostics diagnostics;
    return read_encodings(path, graph, {}, diagnostics).table;
  }

  void recipe(const std::filesystem::path& folder, const GraphIndex& graph) {
    const auto newest = folder / "v2.0.0.encodings";
    if (!std::filesystem::exists(newest)) {
      return;
    }
    const EncodingTable expected = table(newest, graph);
    ++report_.files;
    for (const char* version : {"0.6.1", "1.0.0", "2.1.0"}) {
      const auto path = folder / ("v" + std::string(version) + ".encodings");
      if (!std::filesystem::exists(path)) {
        continue;
      }
      try {
        compare(path, table(path, graph), expected);
        ++report_.files;
      } catch (const Error& error) {
        report_.refusals.emplace_back(error.what());
        ++report_.refused;
        if (version != std::string("0.6.1")) {
          report_.faults.emplace_back(error.what());
        }
      }
    }
  }

  /// Older files have float entries and lack those of biases and data movement.
  void compare(const std::filesystem::path& path, const EncodingTable& old,
               const EncodingTable& expected) {
    report_.entries += static_cast<int>(old.size());
    for (const EncodingDifference& difference : diff_encodings(old, expected, 1e-6, true)) {
      if (difference.kind != EncodingDifference::Kind::only_in_second) {
        report_.faults.push_back(path.string() + ": " + difference.name + ": " + difference.text);
      }
    }
  }

  void variants(const std::filesystem::path& folder, const GraphIndex& graph) {
    const auto manifest = folder / "manifest.json";
    for (const Json& item : parse_json(read_text(manifest), manifest.string())) {
      const auto path = folder / item.at("file").get<std::string>();
      const std::string expect = item.at("expect");
      try {
        const EncodingTable read = table(path, graph);
        if (expect == "reject") {
          report_.faults.push_back(path.string() + " was accepted");
        } else if (expect == "accept") {
          ++report_.accepted;
        } else if (diff_encodings(
                       read,
                       table(folder.parent_path() / item.at("base").get<std::string>(), graph))
                       .empty()) {
          ++report_.equal;
        } else {
          report_.faults.push_back(path.string() + " differs from its base");
        }
      } catch (const Error& error) {
        report_.rejected += expect == "reject" ? 1 : 0;
        report_.refusals.emplace_back(error.what());
        if (expect != "reject") {
          report_.faults.emplace_back(error.what());
        }
      }
    }
  }

  FilesReport& report_;
};

}  // namespace halfstep
