#pragma once

#include <memory>
#include <string>

#include "halfstep/calibration/samples.h"
#include "halfstep/engines/engine.h"
#include "halfstep/support/diagnostic.h"
#include "halfstep/support/json.h"

namespace halfstep::cli {

/// Samples from a folder of images. A child process, `python -m halfstep._worker images`, decodes
/// and sends them one by one through a pipe, so that neither memory nor disk holds all of them.
/// `request`: see image_request. `python`: the one that prepares them (HALFSTEP_PYTHON); if empty
/// the one beside this program. Files that are no images become warnings.
/// Errors: invalid_file naming the image; unsupported if Python lacks a package.
[[nodiscard]] std::unique_ptr<SampleSource> open_images(const Json& request,
                                                        const TensorInfo& input,
                                                        const std::string& python,
                                                        Diagnostics& diagnostics);

}  // namespace halfstep::cli
