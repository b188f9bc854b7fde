#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "halfstep/adaptation/state.h"
#include "halfstep/calibration/samples.h"
#include "halfstep/encodings/encoding_table.h"
#include "halfstep/engines/engine.h"
#include "halfstep/given_encodings.h"
#include "halfstep/model/model.h"
#include "halfstep/outputs/qdq_stream.h"
#include "halfstep/outputs/qnn/lower.h"
#include "halfstep/support/diagnostic.h"
#include "halfstep/support/json.h"
#include "halfstep/support/progress.h"
#include "halfstep/target_output.h"

namespace halfstep {

/// Statistics instead of samples, or of them.
struct StatisticsRequest {
  std::filesystem::path from{};    ///< --stats: ranges come from this file
  std::filesystem::path resume{};  ///< calibrate --resume: this file and the samples
  std::filesystem::path to{};      ///< calibrate -o: only statistics are wanted
};

/// What `halfstep quantize` is asked to do.
struct QuantizeRequest {
  std::filesystem::path
      output{};  ///< -o; empty: nothing is written (dry run, or Python keeps the model)
  std::filesystem::path encodings_out{};  ///< --encodings-out; empty: none
  std::filesystem::path encodings{};      ///< --encodings: wins over model, recipe and samples
  /// Shipped name or path of a recipe file. Empty: only what the model and `encodings` say, the
  /// rest stays float.
  std::string recipe = "a8w8";
  std::string
      method{};  ///< of calibration_methods(); empty: the recipe's, or that of the statistics
  std::optional<double> percentile{};  ///< of method percentile
  StatisticsRequest statistics{};
  std::vector<std::string> set{};      ///< --set 'tensor:m act=uint16'
  std::vector<std::string> exclude{};  ///< globs on node names, tensor names, op types
  std::string target = "cpu";          ///< shipped name or path of a target file
  int threads = 1;
  bool dry_run = false;   ///< decide everything, with placeholders for what samples would tell
  bool check = true;      ///< run the written model and measure it
  bool strict = false;    ///< warnings are errors
  bool lenient = false;   ///< names in `encodings` that the model lacks are warnings
  bool fallback = false;  ///< AdaptOptions::fallback
  /// Names of adaptation_steps() to leave out.
  std::vector<std::string> skip{};
  bool convert = false;  ///< adapt what is given: that nothing is quantized is no reason to stop
  bool force = false;    ///< overwrite existing outputs
  /// The encodings of large weights are measured when they are written and not kept: the result
  /// has them only after complete_encodings(). Of no effect where something else needs them.
  bool defer_weights = false;
  TargetOutput graph{};  ///< the result in the target's own operators
  std::size_t check_samples = 4;
};

/// Counts of one row of the closing table.
struct TypeRow {
  std::string op_type{};
  std::string activation{};  ///< "uint8", "float32"
  std::string weight{};      ///< "int8 per channel", "-"
  std::string bias{};        ///< "int32", "-"
  int nodes = 0;
};
struct TensorError {
  std::string tensor{};
  std::string op_type{};
  double sqnr_db = 0;
  std::string hint{};  ///< likely cause and the option that would help; may be empty
};
struct OutputError {
  std::string output{};
  double sqnr_db = 0;
};
/// How far a range moved in the last tenth of the samples, as a share of the range.
struct TensorMovement {
  std::string tensor{};
  double share = 0;
  /// On average over all orders of the samples (saved statistics do not know theirs).
  bool expected = false;
};
/// A reason why tensors or nodes stayed float, with how many and the first names.
struct FloatReason {
  std::string reason{};
  int count = 0;
  std::vector<std::string> examples{};
};

/// The closing summary of `quantize`.
struct QuantizeSummary {
  std::string model{}, recipe{}, target{}, engine{};
  std::string remark{};                           ///< what was chosen for the user, to be said
  std::map<std::string, int> prepared{};          ///< changes of the graph, by rule
  std::optional<ValidatedGraph> validated{};      ///< if the target's validator was asked
  std::optional<AdaptTotals> adapted{};           ///< of targets that adapt
  std::uint64_t size_before = 0, size_after = 0;  ///< bytes of the files
  std::uint64_t weights_before = 0, weights_after = 0;  ///< bytes of weights
  std::size_t samples = 0;
  std::string method{};  ///< how ranges were chosen; empty if none were, or in several ways
  std::vector<TensorMovement> movement{};  ///< largest first
  std::size_t observed = 0;                ///< tensors whose statistics were collected
  bool placeholders = false;               ///< of a dry run: ranges in messages are made up
  std::vector<TypeRow> types{};
  std::vector<FloatReason> stayed_float{};
  std::vector<OutputError> outputs{};  ///< empty without check
  std::vector<TensorError> worst{};    ///< five worst tensors
  int quantized_activations = 0, quantized_weights = 0, quantized_biases = 0;
  std::size_t model_encodings = 0;          ///< what the model itself said, as Q/DQ
  std::optional<EntryAccount> overrides{};  ///< of the encodings file, if one was given
  std::map<std::string, double> seconds{};  ///< by phase
  std::uint64_t peak_memory = 0;            ///< bytes, of the process
};
[[nodiscard]] Json to_json(const QuantizeSummary& summary);

struct QuantizeResult {
  Model model;              ///< the Q/DQ model (of a dry run: the float model)
  EncodingTable encodings;  ///< of a dry run: what was given
  QuantizeSummary summary;
  Diagnostics diagnostics;
  std::optional<qnn::LoweredGraph> lowered{};  ///< if it was asked for
  WeightStreams deferred{};                    ///< weights of which `encodings` has but the outline
};

/// Measures the deferred weights once more and completes `encodings`.
void complete_encodings(QuantizeResult& result);

/// The whole road: prepare, plan, calibrate, adapt, write, check. `samples` may be null for
/// weight-only recipes. Outputs appear only when everything succeeded. Errors: see each stage;
/// nothing_to_do if no tensor would change.
[[nodiscard]] QuantizeResult quantize(Model model, SampleSource* samples, Engine* engine,
                                      const QuantizeRequest& request, Progress& progress);

}  // namespace halfstep
