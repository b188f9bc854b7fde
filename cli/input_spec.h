#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "halfstep/engines/engine.h"
#include "halfstep/support/json.h"

namespace halfstep::cli {

/// --input-spec: how a picture becomes the model's input.
/// Formula: x[c] = (pixel[c] * scale - mean[c]) / std[c], pixels 0 to 255, channels in `order`
struct InputSpec {
  std::optional<std::array<std::int64_t, 2>> size{};  ///< height, width; else the model's
  std::vector<double> mean{};                         ///< one, or one per channel; empty: 0
  std::vector<double> std{};                          ///< likewise; empty: 1
  std::optional<double> scale{};                      ///< 1/255 if not given
  std::string layout{};            ///< NCHW, NHWC; empty: as the model's shape says
  std::string order = "RGB";       ///< RGB, BGR
  std::string resize = "stretch";  ///< bilinear: stretch, crop, pad
};

/// From a JSON file, or from `key=value` pairs between commas; a piece without `=` continues the
/// value before it ("mean=0.5,0.4,0.3"). Errors: invalid_argument naming the key, what was found,
/// what was expected.
[[nodiscard]] InputSpec read_input_spec(const std::string& file_or_text);
[[nodiscard]] InputSpec input_spec_from_json(const Json& json, const std::string& where);

/// What the image worker is told: folder, channels, height, width and the spec with nothing left
/// open. Shapes: the model must have one input of rank 4 (batch 1 or free) or 3, with 1 or 3
/// channels. Errors: invalid_argument where spec and input disagree or leave something open.
[[nodiscard]] Json image_request(const InputSpec& spec, const std::string& folder,
                                 std::span<const TensorInfo> inputs);

}  // namespace halfstep::cli
