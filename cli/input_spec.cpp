#include "cli/input_spec.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <initializer_list>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include "halfstep/core/dtype.h"
#include "halfstep/engines/engine.h"
#include "halfstep/support/error.h"
#include "halfstep/support/file.h"
#include "halfstep/support/json.h"
#include "halfstep/support/json_reader.h"
#include "halfstep/support/tensor_view.h"

namespace halfstep::cli {
namespace {

std::string trimmed(std::string_view text) {
  const std::size_t first = text.find_first_not_of(" \t\n");
  const std::size_t last = text.find_last_not_of(" \t\n");
  return first == std::string_view::npos ? "" : std::string(text.substr(first, last - first + 1));
}

template <typename Number>
std::optional<Number> parse_number(std::string_view text) {
  Number value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) {
    return std::nullopt;
  }
  return value;
}

/// A number where the text is one, else the text.
Json json_value(const std::string& text) {
  const std::optional<double> number = parse_number<double>(text);
  return number ? Json(*number) : Json(text);
}

/// The keys and values of the short form, as the JSON form has them.
Json short_form(const std::string& text) {
  Json json = Json::object();
  std::string key;
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find(',', begin), text.size());
    const std::string piece = trimmed(std::string_view(text).substr(begin, end - begin));
    begin = end + 1;
    const std::size_t equals = piece.find('=');
    if (equals == std::string::npos) {
      require(!key.empty(),
              "--input-spec: expected KEY=VALUE pairs or an existing file, found '" + piece + "'");
      Json& value = json[key];
      value = value.is_array() ? value : Json::array({value});
      value.push_back(json_value(piece));
      continue;
    }
    key = trimmed(piece.substr(0, equals));
    require(!json.contains(key), "--input-spec: '" + key + "' is given twice");
    json[key] = json_value(trimmed(piece.substr(equals + 1)));
  }
  return json;
}

std::optional<std::array<std::int64_t, 2>> parse_size(const Json& value) {
  if (value.is_array() && value.size() == 2 && value[0].is_number_integer() &&
      value[1].is_number_integer()) {
    return std::array{value[0].get<std::int64_t>(), value[1].get<std::int64_t>()};
  }
  if (!value.is_string()) {
    return std::nullopt;
  }
  const auto text = value.get<std::string>();
  const std::size_t cross = text.find('x');
  if (cross == std::string::npos) {
    return std::nullopt;
  }
  const auto height = parse_number<std::int64_t>(std::string_view(text).substr(0, cross));
  const auto width = parse_number<std::int64_t>(std::string_view(text).substr(cross + 1));
  if (!height || !width) {
    return std::nullopt;
  }
  return std::array{*height, *width};
}

void read_size(const JsonReader& reader, InputSpec& spec) {
  if (!reader.has("size")) {
    return;
  }
  constexpr std::int64_t kMost = 65536;
  spec.size = parse_size(reader.value("size"));
  if (!spec.size || std::ranges::any_of(*spec.size, [](std::int64_t extent) {
        return extent < 1 || extent > kMost;
      })) {
    reader.fail("size", "HEIGHTxWIDTH such as 224x224");
  }
}

/// One finite number, or one or three in a list; not 0 if `divisor`.
std::vector<double> read_channels(const JsonReader& reader, std::string_view key, bool divisor) {
  constexpr std::string_view kExpected = "a finite number, or three of them";
  if (!reader.has(key)) {
    return {};
  }
  const Json& value = reader.value(key);
  const Json list = value.is_array() ? value : Json::array({value});
  std::vector<double> numbers;
  for (const Json& entry : list) {
    if (!entry.is_number() || !std::isfinite(entry.get<double>())) {
      reader.fail(key, kExpected);
    }
    numbers.push_back(entry.get<double>());
  }
  if ((numbers.size() != 1 && numbers.size() != 3) ||
      (divisor && std::ranges::count(numbers, 0.0) > 0)) {
    reader.fail(key, divisor ? "one or three numbers that are not 0" : kExpected);
  }
  return numbers;
}

std::string read_choice(const JsonReader& reader, std::string_view key, std::string fallback,
                        std::initializer_list<std::string_view> choices) {
  if (!reader.has(key)) {
    return fallback;
  }
  std::string list;
  for (const std::string_view choice : choices) {
    if (reader.value(key) == choice) {
      return std::string(choice);
    }
    list += (list.empty() ? "" : ", ") + std::string(choice);
  }
  reader.fail(key, "one of " + list);
}

/// Extents of the input by meaning; -1: any.
struct ImageShape {
  std::string layout{};
  std::int64_t channels = -1;
  std::int64_t height = -1;
  std::int64_t width = -1;
};

[[noreturn]] void refuse(const TensorInfo& input, const std::string& why) {
  throw Error(ErrorKind::invalid_argument,
              "--input-spec: input \"" + input.name + "\" " + to_text(input.shape) + ": " + why);
}

bool is_channel_count(std::int64_t extent) { return extent == 1 || extent == 3; }

ImageShape image_shape(const TensorInfo& input, const std::string& wanted_layout) {
  const Shape& shape = input.shape;
  if (shape.size() != 3 && shape.size() != 4) {
    refuse(input, "images need rank 4 (or 3 without batch); give samples as .npz or .npy");
  }
  const std::size_t first = shape.size() - 3;
  if (first == 1 && shape[0] > 1) {
    refuse(input, "the batch is fixed to " + std::to_string(shape[0]) +
                      ", an image fills one; give samples as .npz or .npy");
  }
  const std::int64_t c_first = shape[first];
  const std::int64_t c_last = shape[first + 2];
  ImageShape result{.layout = wanted_layout};
  if (result.layout.empty()) {
    result.layout = !is_channel_count(c_first) && is_channel_count(c_last) ? "NHWC" : "NCHW";
  }
  const bool channels_first = result.layout == "NCHW";
  result.channels = channels_first ? c_first : c_last;
  result.height = shape[first + (channels_first ? 1 : 0)];
  result.width = shape[first + (channels_first ? 2 : 1)];
  if (result.channels == -1) {
    result.channels = 3;
  }
  if (!is_channel_count(result.channels)) {
    refuse(input, "with layout " + result.layout + " it has " + std::to_string(result.channels) +
                      " channels; images have 1 or 3 (is layout=" +
                      (channels_first ? "NHWC" : "NCHW") + " meant?)");
  }
  return result;
}

void apply_size(const TensorInfo& input, const InputSpec& spec, ImageShape& shape) {
  if (spec.size) {
    const auto [height, width] = *spec.size;
    if ((shape.height != -1 && shape.height != height) ||
        (shape.width != -1 && shape.width != width)) {
      refuse(input, "size=" + std::to_string(height) + "x" + std::to_string(width) +
                        " does not fit; the model wants " + std::to_string(shape.height) + "x" +
                        std::to_string(shape.width) + " (HEIGHTxWIDTH, -1: any)");
    }
    shape.height = height;
    shape.width = width;
  }
  if (shape.height < 1 || shape.width < 1) {
    refuse(input, "the model leaves height or width open; add size=HEIGHTxWIDTH");
  }
}

std::vector<double> per_channel(const TensorInfo& input, std::vector<double> values,
                                std::int64_t channels, double fallback) {
  const auto count = static_cast<std::size_t>(channels);
  if (values.empty()) {
    values.push_back(fallback);
  }
  if (values.size() == 1) {
    values.resize(count, values.front());
  }
  if (values.size() != count) {
    refuse(input, "mean and std have " + std::to_string(values.size()) + " numbers for " +
                      std::to_string(count) + (count == 1 ? " channel" : " channels"));
  }
  return values;
}

}  // namespace

InputSpec input_spec_from_json(const Json& json, const std::string& where) {
  const JsonReader reader(json, where);
  reader.allow_only({"size", "mean", "std", "scale", "layout", "order", "resize"});
  InputSpec spec;
  read_size(reader, spec);
  spec.mean = read_channels(reader, "mean", false);
  spec.std = read_channels(reader, "std", true);
  const std::vector<double> scale = read_channels(reader, "scale", true);
  if (scale.size() > 1) {
    reader.fail("scale", "one number");
  }
  if (!scale.empty()) {
    spec.scale = scale.front();
  }
  spec.layout = read_choice(reader, "layout", spec.layout, {"NCHW", "NHWC"});
  spec.order = read_choice(reader, "order", spec.order, {"RGB", "BGR"});
  spec.resize = read_choice(reader, "resize", spec.resize, {"stretch", "crop", "pad"});
  return spec;
}

InputSpec read_input_spec(const std::string& file_or_text) {
  std::error_code error;
  if (std::filesystem::exists(file_or_text, error)) {
    return input_spec_from_json(parse_json(read_text(file_or_text), file_or_text), file_or_text);
  }
  return input_spec_from_json(short_form(file_or_text), "--input-spec");
}

Json image_request(const InputSpec& spec, const std::string& folder,
                   std::span<const TensorInfo> inputs) {
  require(inputs.size() == 1, "--input-spec is for models with one input; this one has " +
                                  std::to_string(inputs.size()) +
                                  ": give samples as .npz, arrays by input name");
  const TensorInfo& input = inputs.front();
  const bool raw = input.dtype == Dtype::uint8;
  if (!raw && input.dtype != Dtype::float32 && input.dtype != Dtype::float16) {
    refuse(input, "images become float32, float16 or uint8, not " + std::string(name(input.dtype)));
  }
  if (raw && (!spec.mean.empty() || !spec.std.empty() || spec.scale)) {
    refuse(input, "a uint8 input takes the pixels themselves; leave out mean, std and scale");
  }
  ImageShape shape = image_shape(input, spec.layout);
  apply_size(input, spec, shape);
  return {{"folder", folder},
          {"batch", input.shape.size() == 4},
          {"channels", shape.channels},
          {"height", shape.height},
          {"width", shape.width},
          {"layout", shape.layout},
          {"order", spec.order},
          {"resize", spec.resize},
          {"scale", raw ? 1.0 : spec.scale.value_or(1.0 / 255)},
          {"mean", per_channel(input, spec.mean, shape.channels, 0)},
          {"std", per_channel(input, spec.std, shape.channels, 1)},
          {"dtype", name(input.dtype)}};
}

}  // namespace halfstep::cli
