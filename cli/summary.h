#pragma once

#include <string>
#include <vector>

#include "halfstep/pipeline.h"
#include "halfstep/support/diagnostic.h"

namespace halfstep::cli {

/// What stands around the summary: where the result went.
struct SummaryContext {
  std::vector<std::string> written{};  ///< files, in order
  bool dry_run = false;
  bool verbose = false;  ///< all rows
};

/// "44: recipe/block-fallback 41, qdq/opset-raised 3", of the notes or of what is worse; empty if
/// there are none.
[[nodiscard]] std::string rule_counts(const Diagnostics& diagnostics, bool notes);

/// The closing summary of `quantize` as aligned text: sizes, types, what stayed float, errors,
/// time.
[[nodiscard]] std::string summary_text(const QuantizeSummary& summary,
                                       const Diagnostics& diagnostics,
                                       const SummaryContext& context);

/// The closing summary of `calibrate`: what was seen, and whether ranges have settled.
[[nodiscard]] std::string statistics_text(const QuantizeSummary& summary,
                                          const Diagnostics& diagnostics,
                                          const SummaryContext& context);

}  // namespace halfstep::cli
