#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

#include "halfstep/core/spec.h"
#include "halfstep/core/spec_names.h"
#include "halfstep/support/error.h"

namespace halfstep {
namespace {

using Problems = std::vector<std::string>;

std::string shown(const Json& value) {
  return value.dump(-1, ' ', false, Json::error_handler_t::replace);
}

/// 1, 1.0 and "1" are the same axis, as in the seed.
std::optional<std::int64_t> as_integer(const Json& value) {
  if (value.is_number_integer()) {
    return value.get<std::int64_t>();
  }
  if (value.is_number_float()) {
    const double number = value.get<double>();
    const bool whole = std::abs(number) < 0x1p53 && number == std::floor(number);
    return whole ? std::optional(static_cast<std::int64_t>(number)) : std::nullopt;
  }
  if (value.is_string()) {
    const std::string text = value.get<std::string>();
    std::int64_t number = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    const bool all = error == std::errc() && end == text.data() + text.size();
    return all ? std::optional(number) : std::nullopt;
  }
  return std::nullopt;
}

void unknown_key(const std::string& where, const std::string& key,
                 const std::vector<std::string>& known, Problems& problems) {
  std::string problem = where + ": unknown key \"" + key + '"';
  if (const std::string closest = closest_match(key, known); !closest.empty()) {
    problem += "; did you mean \"" + closest + "\"?";
  }
  problems.push_back(problem);
}

void check_keys(const Json& json, const std::vector<std::string>& known, Problems& problems) {
  for (const auto& [key, value] : json.items()) {
    if (std::find(known.begin(), known.end(), key) == known.end()) {
      unknown_key("granularity", key, known, problems);
    }
  }
}

/// An axis of a granularity: absent and null leave it open.
std::optional<std::int64_t> read_axis(const Json& json, const char* key, Problems& problems) {
  if (!json.contains(key) || json[key].is_null()) {
    return std::nullopt;
  }
  const std::optional<std::int64_t> axis = as_integer(json[key]);
  if (!axis) {
    problems.push_back(std::string("granularity: ") + key + " is " + shown(json[key]) +
                       "; expected an integer or null");
  }
  return axis;
}

std::int64_t read_size(const Json& json, const char* key, std::int64_t missing,
                       Problems& problems) {
  if (!json.contains(key)) {
    return missing;
  }
  const std::optional<std::int64_t> size = as_integer(json[key]);
  if (!size) {
    problems.push_back(std::string("granularity: ") + key + " is " + shown(json[key]) +
                       "; expected an integer");
  }
  return size.value_or(1);
}

Granularity read_per_block(const Json& json, Problems& problems) {
  check_keys(json, {"type", "axis", "block_size"}, problems);
  PerBlock blocks{.axis = read_axis(json, "axis", problems)};
  if (json.contains("block_size") && json["block_size"].is_array()) {
    for (const Json& entry : json["block_size"]) {
      const std::optional<std::int64_t> size = as_integer(entry);
      if (!size) {
        problems.push_back("granularity: block_size holds " + shown(entry) + "; expected integers");
      }
      blocks.block_size.push_back(size.value_or(1));
    }
  } else if (json.contains("block_size")) {
    const std::int64_t size = read_size(json, "block_size", 1, problems);
    if (size <= 0) {
      problems.push_back("granularity: block_size is " + std::to_string(size) + "; it must be > 0");
    }
    blocks.block_size.push_back(std::max<std::int64_t>(size, 1));
  }
  return blocks;
}

Granularity read_lpbq(const Json& json, Problems& problems) {
  check_keys(json, {"type", "axis", "block_size", "channel_axis", "decompressed_bits"}, problems);
  return Lpbq{
      .axis = read_axis(json, "axis", problems),
      .block_size = read_size(json, "block_size", 0, problems),
      .channel_axis = read_axis(json, "channel_axis", problems),
      .decompressed_bits = static_cast<int>(read_size(json, "decompressed_bits", 8, problems))};
}

Granularity read_granularity(const Json& json, Problems& problems) {
  if (!json.is_object() || !json.contains("type") || !json["type"].is_string()) {
    problems.push_back("granularity: " + shown(json) +
                       "; expected an object with a key \"type\": \"per_tensor\", \"per_channel\", "
                       "\"per_block\" or \"lpbq\"");
    return PerTensor{};
  }
  const std::string type = json["type"].get<std::string>();
  if (type == "per_tensor") {
    check_keys(json, {"type", "axis"}, problems);
    if (json.contains("axis") && !json["axis"].is_null()) {
      problems.push_back("granularity: per_tensor has no axis, found " + shown(json["axis"]));
    }
    return PerTensor{};
  }
  if (type == "per_channel") {
    check_keys(json, {"type", "axis"}, problems);
    return PerChannel{.axis = read_axis(json, "axis", problems)};
  }
  if (type == "per_block") {
    return read_per_block(json, problems);
  }
  if (type == "lpbq") {
    return read_lpbq(json, problems);
  }
  const std::vector<std::string> known = {"per_tensor", "per_channel", "per_block", "lpbq"};
  const std::string closest = closest_match(type, known);
  problems.push_back("granularity: unknown type \"" + type + "\"; " +
                     (closest.empty() ? "expected per_tensor, per_channel, per_block or lpbq"
                                      : "did you mean \"" + closest + "\"?"));
  return PerTensor{};
}

/// Reads one field of a spec after the other and collects what is wrong with them.
class SpecReader {
 public:
  SpecReader(const Json& json, const std::vector<std::string>& extra_fields)
      : json_(json), extra_fields_(extra_fields) {}

  QuantizationSpec read() {
    if (!json_.is_object()) {
      problems_.push_back("expected an object, found " + shown(json_));
      return {};
    }
    for (const auto& [key, value] : json_.items()) {
      read_field(key, value);
    }
    return std::move(spec_);
  }
  [[nodiscard]] const Problems& problems() const { return problems_; }

 private:
  static constexpr std::array<std::string_view, 15> kFields = {"dtype",
                                                               "qscheme",
                                                               "qformulation",
                                                               "granularity",
                                                               "fake_quantize_cls",
                                                               "qparam_calculator_cls",
                                                               "range_calculator_cls",
                                                               "float_range",
                                                               "scale_dtype",
                                                               "eps",
                                                               "averaging_constant",
                                                               "policy",
                                                               "e8m0_mode",
                                                               "uneven_blocks",
                                                               "extra"};

  void wrong(const std::string& field, const Json& value, const std::string& expected) {
    problems_.push_back(field + ": " + shown(value) + "; expected " + expected);
  }

  void read_field(const std::string& key, const Json& value) {
    if (key == "granularity") {
      spec_.granularity = read_granularity(value, problems_);
    } else if (key == "float_range") {
      read_float_range(value);
    } else if (key == "extra" && value.is_object()) {
      spec_.extra.update(value);
    } else if (key == "extra") {
      wrong(key, value, "an object");
    } else if (!read_enum(key, value) && !read_text(key, value) && !read_number(key, value) &&
               !read_dtype(key, value)) {
      read_other(key, value);
    }
  }

  template <typename Table, typename Enum>
  void take(const Table& table, const std::string& key, const Json& value, Enum& field) {
    const auto found = value.is_string()
                           ? internal::find_in(table, value.get_ref<const std::string&>())
                           : std::optional<Enum>();
    if (found) {
      field = *found;
    } else {
      wrong(key, value, internal::choices(table));
    }
  }

  bool read_enum(const std::string& key, const Json& value) {
    if (key == "qscheme") {
      take(internal::kSchemes, key, value, spec_.qscheme);
    } else if (key == "qformulation") {
      take(internal::kFormulations, key, value, spec_.qformulation);
    } else if (key == "policy") {
      take(internal::kPolicies, key, value, spec_.policy);
    } else if (key == "e8m0_mode") {
      take(internal::kE8m0Modes, key, value, spec_.e8m0_mode);
    } else if (key == "uneven_blocks") {
      if (!value.is_null()) {
        take(internal::kUnevenBlocks, key, value, spec_.uneven_blocks);
      }
    } else {
      return false;
    }
    return true;
  }

  bool read_text(const std::string& key, const Json& value) {
    std::string* field = key == "fake_quantize_cls"       ? &spec_.fake_quantize_cls
                         : key == "qparam_calculator_cls" ? &spec_.qparam_calculator_cls
                         : key == "range_calculator_cls"  ? &spec_.range_calculator_cls
                                                          : nullptr;
    if (field == nullptr) {
      return false;
    }
    if (value.is_string()) {
      *field = value.get<std::string>();
    } else {
      wrong(key, value, "the name of a registered class");
    }
    return true;
  }

  bool read_number(const std::string& key, const Json& value) {
    double* field = key == "eps"                  ? &spec_.eps
                    : key == "averaging_constant" ? &spec_.averaging_constant
                                                  : nullptr;
    if (field == nullptr) {
      return false;
    }
    if (value.is_number()) {
      *field = value.get<double>();
    } else {
      wrong(key, value, "a number");
    }
    return true;
  }

  bool read_dtype(const std::string& key, const Json& value) {
    if (key != "dtype" && key != "scale_dtype") {
      return false;
    }
    if (key == "scale_dtype" && value.is_null()) {
      return true;
    }
    if (!value.is_string()) {
      wrong(key, value, "the name of a dtype");
      return true;
    }
    try {
      const Dtype dtype = parse_dtype(value.get_ref<const std::string&>());
      if (key == "dtype") {
        spec_.dtype = dtype;
      } else {
        spec_.scale_dtype = dtype;
      }
    } catch (const Error& error) {
      problems_.push_back(key + ": " + error.what());
    }
    return true;
  }

  void read_float_range(const Json& value) {
    const auto is_bound = [](const Json& bound) { return bound.is_null() || bound.is_number(); };
    if (!value.is_array() || value.size() != 2 || !is_bound(value[0]) || !is_bound(value[1])) {
      wrong("float_range", value, "[lower, upper], each a number or null");
      return;
    }
    const auto bound = [](const Json& number) {
      return number.is_null() ? std::optional<double>() : number.get<double>();
    };
    spec_.float_min = bound(value[0]);
    spec_.float_max = bound(value[1]);
  }

  void read_other(const std::string& key, const Json& value) {
    if (key == "n_bits" || key == "target_dtype" || key == "quant_min" || key == "quant_max") {
      derived_.emplace_back(key, value);
    } else if (std::find(extra_fields_.begin(), extra_fields_.end(), key) != extra_fields_.end()) {
      spec_.extra[key] = value;
    } else {
      std::vector<std::string> known(kFields.begin(), kFields.end());
      known.insert(known.end(), extra_fields_.begin(), extra_fields_.end());
      unknown_key("spec", key, known, problems_);
    }
  }

 public:
  /// The derived fields that were given must be what the others imply.
  void check_derived(const QuantizationSpec& spec) {
    if (spec.dtype == Dtype::boolean) {
      return;
    }
    const QuantRange range = get_quant_range(spec.dtype, spec.qscheme);
    for (const auto& [key, value] : derived_) {
      const Json expected = key == "n_bits"      ? Json(bits(spec.dtype))
                            : key == "quant_min" ? Json(range.min)
                            : key == "quant_max" ? Json(range.max)
                                                 : Json(name(get_target_dtype(spec.dtype)));
      if (value != expected) {
        wrong(key, value, shown(expected) + ", which follows from the other fields");
      }
    }
  }

 private:
  const Json& json_;
  const std::vector<std::string>& extra_fields_;
  QuantizationSpec spec_{};
  std::vector<std::pair<std::string, Json>> derived_{};
  Problems problems_{};
};

void throw_if_any(std::string_view what, const Problems& problems) {
  if (problems.empty()) {
    return;
  }
  std::string message(what);
  for (const std::string& problem : problems) {
    message += (problems.size() == 1 ? " " : "\n  ") + problem;
  }
  throw Error(ErrorKind::invalid_argument, message);
}

}  // namespace

QuantizationSpec spec_from_json(const Json& json, const std::vector<std::string>& extra_fields) {
  SpecReader reader(json, extra_fields);
  QuantizationSpec spec = reader.read();
  reader.check_derived(spec);
  Problems problems = reader.problems();
  const Problems rules = broken_rules(spec);
  problems.insert(problems.end(), rules.begin(), rules.end());
  throw_if_any("quantization spec:", problems);
  if (spec.dtype == Dtype::float4_e2m1fn_x2) {
    spec.scale_dtype = Dtype::float8_e8m0fnu;  // the only one it can have
  }
  return spec;
}

Granularity granularity_from_json(const Json& json) {
  Problems problems;
  Granularity granularity = read_granularity(json, problems);
  if (problems.empty() && !std::holds_alternative<Lpbq>(granularity)) {
    problems = broken_rules({.granularity = granularity});
  }
  throw_if_any("quantization spec:", problems);
  return granularity;
}

}  // namespace halfstep
