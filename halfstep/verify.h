#pragma once

#include <cstddef>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "halfstep/calibration/samples.h"
#include "halfstep/engines/engine.h"
#include "halfstep/evaluation/agreement.h"
#include "halfstep/evaluation/probe.h"
#include "halfstep/model/model.h"
#include "halfstep/support/diagnostic.h"
#include "halfstep/support/json.h"
#include "halfstep/support/progress.h"

/// A model on its target, beside its simulation and the float model, tensor by tensor.
namespace halfstep {

/// What `halfstep verify` is asked to do.
struct VerifyRequest {
  std::string backend = "HTP";  ///< --on; the only one with an emulator
  std::string arch{};           ///< --arch, "v75"; empty: of the DLC, else v75
  /// A DLC that runs as it is. Empty: the simulation is lowered to the target's operators.
  std::filesystem::path dlc{};
  std::filesystem::path dumps{};    ///< tensors of a device in place of the emulator
  std::string tensors = "outputs";  ///< see verified_tensors()
  std::size_t samples = 0;          ///< the first of the data; 0: all
  /// "target": with the integer arithmetic of the target where it is known; "qdq": Q/DQ as ONNX
  /// defines it.
  std::string arithmetic = "target";
  std::string qnn_libraries{};            ///< --qnn-libs; empty: see qnn::find_libraries
  std::optional<AgreementBound> bound{};  ///< --fail-on; the result says whether it was reached
  int threads = 1;                        ///< of the simulation
};

/// A tensor over all samples. "Target" is the emulator or the device.
struct VerifyRow {
  std::string tensor{};   ///< name in the user's model
  std::string op_name{};  ///< the target's operator that writes it
  std::string op_type{};
  std::string type{};  ///< "ufixed8"
  float step = 0;      ///< units of x per step; 0: none
  int group = -1;      ///< super group of the operator
  bool output = false;
  Agreement target_simulation{};  ///< reference: the simulation
  ErrorPower target_float{};      ///< reference: the float model; no values without one
  ErrorPower simulation_float{};
  bool departs = false;  ///< beyond the bound

  /// SQNR of target and simulation minus that of simulation and float, dB: how much closer the
  /// simulation is to the target than the quantization error. Empty without a float model.
  [[nodiscard]] std::optional<double> margin_db() const noexcept;
};

struct VerifyResult {
  std::string target{};      ///< "htp_v75"
  std::string source{};      ///< "emulator" or "dumps"
  std::string engine{};      ///< of the simulation
  std::string arithmetic{};  ///< of the simulation: "target" or "qdq"
  std::size_t followed = 0;  ///< operators that follow the arithmetic of the target
  std::size_t samples = 0;
  AgreementBound bound{};
  std::vector<VerifyRow> rows{};  ///< in the order of the target's operators
  int first = -1;                 ///< row of the first tensor that departs
  std::string cause{};            ///< its likely cause
  bool failed = false;            ///< a bound was asked for, and a tensor is beyond it
  Diagnostics diagnostics{};
};
[[nodiscard]] Json to_json(const VerifyResult& result);

/// Runs samples on the target's emulator (or takes what a device wrote down), on the simulation
/// (the Q/DQ model on the engine, without its optimizations, with the target's integer arithmetic
/// where it is known: see simulation/follow_target.h) and on the float model, and compares
/// every tensor that has a counterpart. A tensor departs if it breaks the bound (30 dB unless the
/// request says otherwise); the first one is the first whose nearest compared tensors before it do
/// not depart. Tensors that lie in another order are compared in the model's.
/// `simulation`: a Q/DQ model that halfstep wrote. `float_model`: null for none.
/// Errors: invalid_argument (backend, arch, pattern), invalid_file (samples, dumps, a DLC that is
/// none), unsupported (no libraries: how to get them; what the target refuses), interrupted.
[[nodiscard]] VerifyResult verify(const Model& simulation, const Model* float_model,
                                  SampleSource& samples, Engine& engine,
                                  const VerifyRequest& request, Progress& progress);

}  // namespace halfstep
