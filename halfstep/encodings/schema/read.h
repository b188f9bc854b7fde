#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "halfstep/encodings/encoding_table.h"
#include "halfstep/encodings/schema/format.h"
#include "halfstep/support/diagnostic.h"

namespace halfstep {

/// The tensor that a name in a file means.
struct NamedTensor {
  TensorFacts facts{};
  std::optional<Use> use{};  ///< the name is `<tensor>_<node>`: one use of the tensor
};

/// What a reader asks the model. Without a model, find() knows every name and no facts.
class TensorNames {
 public:
  virtual ~TensorNames() = default;
  /// Empty if the model has no such tensor.
  [[nodiscard]] virtual std::optional<NamedTensor> find(const std::string& name) const = 0;
  /// The closest name that exists, empty if none is close.
  [[nodiscard]] virtual std::string closest(const std::string& name) const = 0;
};

struct ReadEncodingsOptions {
  bool lenient = false;  ///< names that the model lacks are warnings, and left out
};

/// An encodings file as it was understood.
struct EncodingsFile {
  std::string version{};  ///< as it stands in the file; empty if there is none
  EncodingTable table{};
  /// Entries that only name a type: to be measured, but at this width.
  std::map<std::string, Dtype> precisions{};
  std::vector<std::string> names{};   ///< every entry, in the order of the file
  std::map<std::string, Use> uses{};  ///< entries that speak of a single use, by their name
  /// Entries that were left out because the model lacks their tensor (lenient), and why.
  std::map<std::string, std::string> unknown{};
};

/// Reads every known version: none, 0.x, 1.x, 2.x; tolerant in form, strict in meaning. The graph
/// decides what a tensor is, not the section it stands in.
/// Formula: 2.x: value = (q - y_zero_point) * y_scale; older: value = (q + offset) * scale, q from
/// 0. Errors:  invalid_file with `file`, the place in it, the tensor and the reason; all faults of
/// the
///          entries are added to `diagnostics`, the first one is thrown.
/// Source:  QAIRT quantization specification, appendix C, and the files that AIMET writes.
[[nodiscard]] EncodingsFile read_encodings_text(std::string_view text, const std::string& file,
                                                const TensorNames& names,
                                                const ReadEncodingsOptions& options,
                                                Diagnostics& diagnostics);

/// Everything that can be said about a file: its faults (severity error), what is doubtful
/// (warning), what was read in a tolerant way (note). Never throws for what stands in the file.
[[nodiscard]] Diagnostics lint_encodings_text(std::string_view text, const std::string& file,
                                              const TensorNames& names,
                                              const ReadEncodingsOptions& options = {});

}  // namespace halfstep
