#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "halfstep/calibration/recipe.h"
#include "halfstep/encodings/encoding_table.h"
#include "halfstep/encodings/schema/read.h"
#include "halfstep/model/graph_index.h"
#include "halfstep/plan.h"
#include "halfstep/support/diagnostic.h"
#include "halfstep/support/json.h"

namespace halfstep {

/// What became of one entry of an encodings file.
struct EntryOutcome {
  enum class Status : std::uint8_t { applied, adapted, unused };
  std::string name{};
  Status status = Status::applied;
  std::string reason{};  ///< why it is adapted or unused; of an applied one what is worth knowing
};
[[nodiscard]] std::string_view name(EntryOutcome::Status status) noexcept;

/// The account of an encodings file: every entry, in the order of the file.
struct EntryAccount {
  std::string file{};
  std::string version{};
  std::vector<EntryOutcome> entries{};
  [[nodiscard]] int count(EntryOutcome::Status status) const;
};
/// {"file", "version", "applied", "adapted", "unused", "entries": [{"name", "status", "reason"}]}
[[nodiscard]] Json to_json(const EntryAccount& account);

/// Encodings that exist before anything is measured: the model's own, and those of the user's file
/// laid over them.
class GivenEncodings {
 public:
  /// Takes Q/DQ (and integer operators) out of the model as encodings, and reads `file` (if not
  /// empty) for the float model that is left. `float16_casts`: pairs of Casts to float16 and back
  /// are encodings too.
  /// Errors: those of read_encodings.
  GivenEncodings(Model& model, const std::filesystem::path& file, bool lenient, bool float16_casts,
                 Diagnostics& diagnostics);

  [[nodiscard]] const EncodingTable& table() const noexcept { return table_; }
  /// How many tensors and uses the model itself had encodings for.
  [[nodiscard]] std::size_t from_model() const noexcept { return from_model_; }
  [[nodiscard]] bool has_file() const noexcept { return !path_.empty(); }
  /// Tensors with an encoding of their own, or with one of a use.
  [[nodiscard]] const std::set<std::string>& tensors() const noexcept { return tensors_; }

  /// Entries that only name a type become rules: of constants, and with `samples` of activations.
  void add_rules(const GraphIndex& graph, bool samples, Recipe& recipe) const;
  /// Takes out of a plan what has an encoding already; planned weights refer to theirs.
  void take_from(Plan& plan, const GraphIndex& graph) const;
  /// What became of each entry of the file, once `result` is what the model gets.
  [[nodiscard]] EntryAccount account(const GraphIndex& graph, const EncodingTable& result) const;

 private:
  void lay_over(const GraphIndex& graph);
  void drop_unusable(const GraphIndex& graph, Diagnostics& diagnostics);
  [[nodiscard]] EntryOutcome outcome(const std::string& entry, const GraphIndex& graph,
                                     const EncodingTable& result) const;

  EncodingTable table_{};
  std::string path_{};
  EncodingsFile file_{};
  std::map<std::string, std::string> unused_{};   // entry -> why
  std::map<std::string, std::string> remarks_{};  // entry -> what is worth knowing
  std::map<Use, std::string> use_tensors_{};
  std::set<std::string> tensors_{};
  std::size_t from_model_ = 0;
};

/// Float tensors of the main graph without an encoding in `table`: computed ones and graph inputs,
/// then constants that are the weight or bias of an operator. In graph order.
struct BareTensors {
  std::vector<std::string> activations{}, parameters{};
};
[[nodiscard]] BareTensors bare_tensors(const GraphIndex& graph, const EncodingTable& table);

}  // namespace halfstep
