// Golden vectors of kinds spec, dtype, block and cast.
#include <cmath>
#include <functional>
#include <string>
#include <vector>

#include "halfstep/core/minifloat.h"
#include "halfstep/core/quantize.h"
#include "halfstep/core/spec.h"
#include "halfstep/support/error.h"
#include "tests/unit/core/golden/vectors.h"

namespace halfstep::golden {
namespace {

/// {"num": "nan"} and the like become numbers, which JSON text can't say.
Json with_numbers(const Json& json) {
  if (json.is_object() && json.size() == 1 && json.contains("num")) {
    return std::stod(json["num"].get<std::string>());
  }
  Json result = json;
  for (auto& member : result) {
    if (json.is_structured()) {
      member = with_numbers(member);
    }
  }
  return result;
}

void expect_equal(const Json& found, const Json& expected, const std::string& what,
                  Problems& problems) {
  if (found != expected) {
    problems.push_back(what + " is " + found.dump() + ", not " + expected.dump());
  }
}

Role role_of(const Json& target) {
  return target == "activation" ? Role::activation : target == "lut" ? Role::lut : Role::weight;
}

/// The reference writes a block size of one axis as a number, a tuple as a list.
Json granularity_json(const Json& ours) {
  Json json = Json::object();
  for (const auto& [key, value] : ours.items()) {
    json[key] = value;
  }
  if (json["type"] == "per_tensor") {
    json["axis"] = nullptr;
  }
  return json;
}

Json sorted(const Json& json) { return Json::parse(nlohmann::json::parse(json.dump()).dump()); }

std::vector<std::uint8_t> encoded(const std::vector<float>& x,
                                  std::uint8_t (*encode)(float) noexcept) {
  std::vector<std::uint8_t> codes;
  for (const float value : x) {
    codes.push_back(encode(value));
  }
  return codes;
}

Problems check_decode(const Json& test, std::size_t count, float (*decode)(std::uint8_t) noexcept) {
  std::vector<float> values;
  for (std::size_t code = 0; code < count; ++code) {
    values.push_back(decode(static_cast<std::uint8_t>(code)));
  }
  return same_floats(values, test["expect"]["y"]) ? Problems{} : Problems{"y"};
}

Problems check_scales(const Json& test) {
  const Dtype dtype = parse_dtype(test["dtype"].get<std::string>());
  std::vector<float> scales;
  for (const float value : read_tensor(test["x"]).floats()) {
    scales.push_back(e8m0_scale(value, dtype, E8m0Mode::floor));
  }
  Problems problems;
  if (!same_floats(scales, test["expect"]["y"])) {
    problems.push_back("y");
  }
  if (!same_codes(encoded(scales, float_to_e8m0), test["expect"]["codes"])) {
    problems.push_back("codes");
  }
  return problems;
}

}  // namespace

Problems check_spec(const Json& test) {
  const Json& expect = test["expect"];
  QuantizationSpec spec;
  try {
    spec = spec_from_json(with_numbers(test["spec"]));
  } catch (const Error& error) {
    return expect.contains("error") ? Problems{} : Problems{error.what()};
  }
  if (expect.contains("error")) {
    return {"expected " + expect["error"].get<std::string>()};
  }
  Problems problems;
  const Json ours = to_json(spec);
  const QuantRange range = get_quant_range(spec.dtype, spec.qscheme);
  for (const char* field : {"dtype", "qscheme", "qformulation", "scale_dtype"}) {
    expect_equal(ours[field], expect[field], field, problems);
  }
  expect_equal(Json(bits(spec.dtype)), expect["n_bits"], "n_bits", problems);
  expect_equal(Json(range.min), expect["quant_min"], "quant_min", problems);
  expect_equal(Json(range.max), expect["quant_max"], "quant_max", problems);
  expect_equal(Json(name(get_target_dtype(spec.dtype))), expect["target_dtype"], "target_dtype",
               problems);
  expect_equal(sorted(granularity_json(ours["granularity"])), sorted(expect["granularity"]),
               "granularity", problems);
  expect_equal(ours["float_range"], with_numbers(expect["float_range"]), "float_range", problems);
  if (spec_from_json(ours) != spec) {
    problems.emplace_back("JSON does not round trip");
  }
  return problems;
}

Problems check_dtype(const Json& test) {
  const Json& expect = test["expect"];
  const std::string name_text = test["dtype"].get<std::string>();
  const Dtype dtype = parse_dtype(name_text);
  Problems problems;
  const auto check = [&](const std::string& what, const std::function<Json()>& compute) {
    Json found;
    try {
      found = compute();
    } catch (const Error&) {
      found = Json{{"error", "RuntimeError"}};
    }
    expect_equal(found, expect[what], what, problems);
  };
  const auto range = [&](Scheme scheme) {
    const QuantRange values = get_quant_range(dtype, scheme);
    return Json::array({values.min, values.max});
  };
  check("n_bits", [&] { return Json(get_n_bits_from_dtype(dtype)); });
  check("target_dtype", [&] { return Json(name(get_target_dtype(dtype))); });
  check("range_symmetric", [&] { return range(Scheme::symmetric); });
  check("range_asymmetric", [&] { return range(Scheme::asymmetric); });
  check("range_symmetric_with_clipping", [&] { return range(Scheme::symmetric_with_clipping); });
  expect_equal(Json(broken_rules({.dtype = dtype}).empty()), expect["spec_accepts"], "spec_accepts",
               problems);
  return problems;
}

Problems check_block(const Json& test) {
  const Json& expect = test["expect"];
  try {
    const UnitGrid grid = unit_grid(granularity_from_json(test["granularity"]),
                                    test["shape"].get<Shape>(), role_of(test["target"]));
    if (expect.contains("error")) {
      return {"expected " + expect["error"].get<std::string>()};
    }
    Problems problems;
    expect_equal(Json(grid.sizes), expect["block_size"], "block_size", problems);
    if (expect.contains("scale_shape")) {
      expect_equal(Json(grid.counts), expect["scale_shape"], "scale_shape", problems);
    }
    return problems;
  } catch (const Error& error) {
    return expect.contains("error") ? Problems{} : Problems{error.what()};
  }
}

Problems check_cast(const Json& test) {
  const std::string cast = test["cast"].get<std::string>();
  if (cast == "e4m3fn_to_f32") {
    return check_decode(test, 256, e4m3fn_to_float);
  }
  if (cast == "e5m2_to_f32") {
    return check_decode(test, 256, e5m2_to_float);
  }
  if (cast == "e2m1_to_f32") {
    return check_decode(test, 16, e2m1_to_float);
  }
  if (cast == "e8m0_to_f32") {
    return check_decode(test, 256, e8m0_to_float);
  }
  if (cast == "e8m0_scale_of") {
    return check_scales(test);
  }
  const auto encode = cast == "f32_to_e4m3fn" ? float_to_e4m3fn
                      : cast == "f32_to_e5m2" ? float_to_e5m2
                      : cast == "f32_to_e2m1" ? float_to_e2m1
                                              : float_to_e8m0;
  const bool equal =
      same_codes(encoded(read_tensor(test["x"]).floats(), encode), test["expect"]["codes"]);
  return equal ? Problems{} : Problems{"codes"};
}

}  // namespace halfstep::golden
