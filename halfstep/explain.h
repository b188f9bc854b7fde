#pragma once

#include <map>
#include <string>
#include <vector>

#include "halfstep/encodings/encoding_table.h"
#include "halfstep/model/model.h"
#include "halfstep/support/diagnostic.h"
#include "halfstep/support/json.h"

namespace halfstep {

/// Keeps what was given and the decisions of the adaptation (rules prepare/..., adapt/... and
/// write/...) with the model they are about: JSON in its metadata, key halfstep.decisions. What an
/// earlier adaptation for the same target recorded stays in front. Nothing of time, path or host is
/// in it.
void record_decisions(Model& model, const std::string& target, const EncodingTable& given,
                      const Diagnostics& diagnostics);

/// What is known about one tensor or node, or about all of them.
struct Explanation {
  std::string target{};
  std::string name{};      ///< empty: everything
  std::string encoding{};  ///< of the tensor in the model, in words; empty: float or a node
  std::string given{};     ///< what the road starts from: origin and encoding; empty: nothing
  std::vector<Diagnostic> decisions{};
  std::map<std::string, int> totals{};  ///< by rule, over the whole model
};
[[nodiscard]] Json to_json(const Explanation& explanation);

/// The road of `name` from what was given to what it is. Errors: nothing_to_do if the model was not
/// adapted by halfstep; invalid_argument for a name that the model does not have, with the closest.
[[nodiscard]] Explanation explain(const Model& model, const std::string& name);

}  // namespace halfstep
