#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "halfstep/model/model.h"
#include "halfstep/support/diagnostic.h"
#include "halfstep/support/json.h"

namespace halfstep {

/// An input or output of a model.
struct PortReport {
  std::string name{};
  std::string type{};                ///< "float", "int64"; "sequence", "map", ...; "unknown"
  bool has_shape = false;            ///< false: not even the rank is known
  std::vector<std::string> shape{};  ///< "3", "batch"; "?" is unknown
};

/// Tensors of one element type.
struct TypeReport {
  int tensors = 0;
  std::uint64_t values = 0;
  std::uint64_t bytes = 0;
};

struct WeightReport {
  std::string name{};
  std::string type{};
  Shape shape{};
  std::uint64_t bytes = 0;
};

/// Encodings that the model carries already, as QuantizeLinear and DequantizeLinear.
struct EncodingReport {
  std::string of{};           ///< "weight", "bias" (int32), "activation"
  std::string type{};         ///< "int8", ...
  std::string granularity{};  ///< "per tensor", "per channel", "per block"
  int tensors = 0;
};

/// What is in a model file.
struct ModelReport {
  std::string name{};
  std::int64_t ir_version = 0;
  std::map<std::string, std::int64_t> opsets{};  ///< by domain; "ai.onnx" is the default one
  std::string producer{};                        ///< name and version; may be empty
  std::map<std::string, std::string> metadata{};
  std::vector<PortReport> inputs{}, outputs{};  ///< inputs without those that initializers fill
  int nodes = 0;                                ///< of the main graph
  int subgraphs = 0;                            ///< below If, Loop, Scan, ...
  std::vector<std::string> functions{};         ///< "domain.name"
  std::map<std::string, int>
      ops{};  ///< with subgraphs and functions; "domain.op" outside of ai.onnx
  std::vector<std::string> custom_domains{};  ///< whose operators the model uses
  std::uint64_t file_bytes = 0;               ///< as one file
  TypeReport weights_total{};
  std::map<std::string, TypeReport> weights{};  ///< constants, by element type
  std::map<std::string, int> activations{};     ///< tensors that nodes write, by element type
  std::vector<WeightReport> biggest{};          ///< at most ten, the largest first
  std::vector<EncodingReport> encodings{};
  Diagnostics diagnostics{};  ///< traps on the way to a quantized model
};

/// Describes a model. Reads every float weight once (to find NaN and infinity) and lets its pages
/// go. `loading`: what load_onnx() noticed; it comes first in the report's diagnostics.
[[nodiscard]] ModelReport inspect(const Model& model, Diagnostics loading = {});
[[nodiscard]] Json to_json(const ModelReport& report);

}  // namespace halfstep
