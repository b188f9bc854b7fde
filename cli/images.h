#pragma once

#include <memory>
#include <string>

#include "halfstep/calibration/samples.h"
#include "halfstep/engines/engine.h"
#include "halfstep/support/diagnostic.h"
#include "halfstep/support/json.h"

namespace halfstep::cli {

/// The Python that prepares images: `override_path` if not empty (HALFSTEP_PYTHON), else the one
/// beside this program. Errors: unsupported with the place looked at and the install command.
[[nodiscard]] std::string find_python(const std::string& override_path);

/// Samples from a folder of images. A child process, `python -m halfstep._worker images`, decodes
/// and sends them one by one through a pipe, so that neither memory nor disk holds all of them.
/// `request`: see image_request. Files that are no images become warnings.
/// Errors: invalid_file naming the image; unsupported if Python lacks a package.
[[nodiscard]] std::unique_ptr<SampleSource> open_images(const Json& request,
                                                        const TensorInfo& input,
                                                        const std::string& python,
                                                        Diagnostics& diagnostics);

}  // namespace halfstep::cli
