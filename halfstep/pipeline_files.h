#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

#include "halfstep/calibration/samples.h"
#include "halfstep/model/model.h"
#include "halfstep/model/model_file.h"
#include "halfstep/pipeline.h"
#include "halfstep/support/file.h"
#include "halfstep/support/progress.h"

namespace halfstep {

/// Before the work starts, and above all before anything could be replaced that it reads.
/// `samples` may be null. Errors: as those of check_output().
void require_free_outputs(const QuantizeRequest& request, const Model& model,
                          const SampleSource* samples);

/// The files of one request: all appear together at commit(), or none does.
class OutputFiles {
 public:
  /// `request` and `progress` must outlive this.
  OutputFiles(const QuantizeRequest& request, Progress& progress)
      : request_(request), progress_(progress) {}

  /// Returns where the model can be tried; empty if it was not asked for or has external data.
  [[nodiscard]] std::filesystem::path write_model(const Model& model);
  /// Of what was written; if nothing was asked for, of what would be.
  [[nodiscard]] std::uint64_t model_size(const Model& model) const;
  /// Empty: none.
  void write_encodings(const std::string& text);
  /// Where the DLC is to be written for now.
  [[nodiscard]] std::filesystem::path dlc();
  void commit();

 private:
  const QuantizeRequest& request_;
  Progress& progress_;
  std::optional<ModelFile> model_{};
  std::optional<AtomicFile> encodings_{}, dlc_{};
};

}  // namespace halfstep
