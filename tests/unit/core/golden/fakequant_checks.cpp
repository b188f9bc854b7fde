// Golden vectors of kinds fakequant and bulk.
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <optional>
#include <string>
#include <vector>

#include "halfstep/core/fake_quantizer.h"
#include "halfstep/core/minifloat.h"
#include "halfstep/core/torch_ops.h"
#include "halfstep/support/error.h"
#include "tests/unit/core/golden/vectors.h"

namespace halfstep::golden {
namespace {

Role role_of(const Json& target) {
  return target == "activation" ? Role::activation : target == "lut" ? Role::lut : Role::weight;
}

std::vector<std::byte> codes_of(const FakeQuantize& quantizer, const GoldenTensor& x) {
  std::vector<std::byte> codes(x.size() * storage_size(quantizer.spec()->dtype));
  quantizer.quantize(x.view(), codes, 2);
  return codes;
}

/// Signed bytes where the type is signed.
std::vector<int> as_integers(const std::vector<std::byte>& codes, Dtype dtype) {
  std::vector<int> values;
  for (const std::byte code : codes) {
    values.push_back(is_signed_integer(dtype) ? static_cast<std::int8_t>(code)
                                              : static_cast<int>(code));
  }
  return values;
}

std::vector<std::uint8_t> as_bytes(const std::vector<std::byte>& codes) {
  std::vector<std::uint8_t> bytes;
  for (const std::byte code : codes) {
    bytes.push_back(static_cast<std::uint8_t>(code));
  }
  return bytes;
}

/// Codes, values from one pass, and values from the codes again.
void check_outputs(const FakeQuantize& quantizer, GoldenTensor x, const Json& want,
                   const std::string& where, Problems& problems) {
  const Dtype dtype = quantizer.spec()->dtype;
  const std::vector<std::byte> codes = codes_of(quantizer, x);
  if (want.contains("q")) {
    const bool equal = want["q"].contains("codes")
                           ? same_codes(as_bytes(codes), want["q"])
                           : same_integers(as_integers(codes, dtype), want["q"]);
    if (!equal) {
      problems.push_back(where + "q");
    }
  }
  const GoldenTensor input = x;
  quantizer.fake_quantize(input.view(), x.span());
  if (want.contains("fq") && !same(x, want["fq"])) {
    problems.push_back(where + "fq");
  }
  GoldenTensor again = input;
  quantizer.fake_quantize(again.view(), again.span(), 2);  // in place, two threads
  if (want.contains("fq") && !same(again, want["fq"])) {
    problems.push_back(where + "fq in place");
  }
}

void check_params(const FakeQuantize& quantizer, const Json& want, const std::string& where,
                  Problems& problems) {
  const StoredQParams params = quantizer.calculate_qparams();
  const auto check = [&](const char* key, bool equal) {
    if (!equal) {
      problems.push_back(where + key);
    }
  };
  if (want.contains("scale")) {
    check("scale", same_floats(params.scale, want["scale"]));
    check("scale shape", Json(params.shape) == want["scale"]["shape"]);
  }
  if (want.contains("zp") && !want["zp"].is_null()) {
    check("zp", same_integers(params.zero_point, want["zp"]));
  }
  if (want.contains("minval") && !want["minval"].is_null()) {
    check("minval", same_floats(params.minval, want["minval"], false));
  }
  if (want.contains("scale_e8m0")) {
    std::vector<std::uint8_t> codes;
    for (const float scale : params.scale) {
      codes.push_back(float_to_e8m0(scale));
    }
    check("scale_e8m0", same_codes(codes, want["scale_e8m0"]));
  }
}

/// The range of one batch, zero and bounds joined, and the running one.
void check_ranges(const FakeQuantize& quantizer, const GoldenTensor& x, const Json& want,
                  const std::string& where, Problems& problems) {
  const ResolvedSpec& spec = quantizer.spec();
  if (want.contains("min")) {
    const UnitGrid grid = unit_grid(spec->granularity, x.shape, spec.role());
    const Ranges batch =
        with_zero_and_bounds(measure_range(x.view(), grid, spec->policy, 2), spec.spec());
    if (!same_floats(batch.min, want["min"], false) ||
        !same_floats(batch.max, want["max"], false)) {
      problems.push_back(where + "range of the batch");
    }
  }
  if (want.contains("run_min")) {
    const Ranges running = quantizer.range();
    if (!same_floats(running.min, want["run_min"], false) ||
        !same_floats(running.max, want["run_max"], false)) {
      problems.push_back(where + "running range");
    }
  }
}

/// False: the sequence ends here.
bool check_step(FakeQuantize& quantizer, const GoldenTensor& x, const Json& want,
                const std::string& where, Problems& problems) {
  try {
    quantizer.observe(x.view(), 2);
  } catch (const Error& error) {
    if (!want.contains("error")) {
      problems.push_back(where + error.what());
    }
    return false;
  }
  if (want.contains("error")) {
    problems.push_back(where + "expected " + want["error"].get<std::string>());
    return false;
  }
  if (want.contains("disabled")) {
    GoldenTensor y = x;
    quantizer.forward(x.view(), y.span());
    if (!quantizer.disabled() || !same(y, want["fq"])) {
      problems.push_back(where + "disabled");
    }
    return true;
  }
  check_ranges(quantizer, x, want, where, problems);
  check_params(quantizer, want, where, problems);
  check_outputs(quantizer, x, want, where, problems);
  return true;
}

/// A saved and loaded quantizer must go on like the first one.
void check_state(const FakeQuantize& quantizer, Problems& problems) {
  FakeQuantize copy(quantizer.spec());
  copy.load_state(Json::parse(quantizer.state().dump()));
  if (copy.state() != quantizer.state()) {
    problems.emplace_back("state does not round trip");
  }
}

std::uint32_t crc32(const std::byte* data, std::size_t size) {
  std::uint32_t crc = 0xffffffffU;
  for (std::size_t i = 0; i < size; ++i) {
    crc ^= static_cast<std::uint32_t>(data[i]);
    for (int bit = 0; bit < 8; ++bit) {
      crc = (crc >> 1) ^ ((crc & 1U) != 0 ? 0xedb88320U : 0U);
    }
  }
  return ~crc;
}

template <typename T>
std::string crc_text(const std::vector<T>& values) {
  char text[16];
  std::snprintf(
      text, sizeof text, "%08x",
      crc32(reinterpret_cast<const std::byte*>(values.data()), values.size() * sizeof(T)));
  return text;
}

std::vector<float> bulk_input(const Json& test) {
  const auto count = static_cast<std::size_t>(element_count(test["shape"].get<Shape>()));
  std::uint64_t state = test["seed"].get<std::uint64_t>();
  std::vector<float> x(count);
  for (float& value : x) {
    state += 0x9E3779B97F4A7C15U;
    std::uint64_t z = state;
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9U;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBU;
    z ^= z >> 31;
    if (test["mode"] == "uniform") {
      value = static_cast<float>((static_cast<double>(z >> 40) - 0x1p23) * 0x1p-20);
    } else {
      const std::uint64_t bits = (z >> 63 << 31) | ((117 + (z >> 40) % 14) << 23) | (z & 0x7FFFFFU);
      value = std::bit_cast<float>(static_cast<std::uint32_t>(bits));
    }
  }
  return x;
}

void check_crc(const std::string& found, const Json& expect, const char* key, Problems& problems) {
  if (expect.contains(key) && expect[key] != found) {
    problems.emplace_back(key);
  }
}

Problems check_bulk_spec(const Json& test, const GoldenTensor& x) {
  const Json& expect = test["expect"];
  FakeQuantize quantizer(spec_from_json(test["spec"]), role_of(test["target"]));
  quantizer.observe(x.view(), 2);
  Problems problems;
  const StoredQParams params = quantizer.calculate_qparams();
  if (Json(params.shape) != expect["scale_shape"]) {
    problems.emplace_back("scale_shape");
  }
  check_crc(crc_text(params.scale), expect, "scale", problems);
  check_crc(crc_text(params.zero_point), expect, "zp", problems);
  check_crc(crc_text(codes_of(quantizer, x)), expect, "q", problems);
  GoldenTensor y = x;
  quantizer.fake_quantize(x.view(), y.span());
  check_crc(crc_text(y.floats()), expect, "fq", problems);
  return problems;
}

Problems check_bulk_torch(const Json& test, const GoldenTensor& x) {
  const std::vector<float> scale = read_tensor(test["scale"]).floats();
  const std::vector<std::int64_t> zero{test["zp"].get<std::int64_t>()};
  GoldenTensor y = x;
  fake_quantize_affine(x.view(),
                       {.scale = scale,
                        .zero_point = zero,
                        .quant_min = test["qmin"].get<std::int64_t>(),
                        .quant_max = test["qmax"].get<std::int64_t>()},
                       y.span());
  Problems problems;
  check_crc(crc_text(y.floats()), test["expect"], "fq", problems);
  return problems;
}

}  // namespace

Problems check_fakequant(const Json& test) {
  const Json& expect = test["expect"];
  std::optional<FakeQuantize> quantizer;
  try {
    quantizer.emplace(spec_from_json(test["spec"]), role_of(test["target"]));
  } catch (const Error& error) {
    return expect.contains("error") ? Problems{} : Problems{error.what()};
  }
  if (expect.contains("error")) {
    return {"expected " + expect["error"].get<std::string>()};
  }
  Problems problems;
  const ResolvedSpec& spec = quantizer->spec();
  if (Json(bits(spec->dtype)) != expect["n_bits"] ||
      Json(spec.quant_min()) != expect["quant_min"] ||
      Json(spec.quant_max()) != expect["quant_max"] ||
      Json(name(get_target_dtype(spec->dtype))) != expect["target_dtype"]) {
    problems.emplace_back("fields");
  }
  bool going_on = true;
  for (std::size_t i = 0; going_on && i < test["inputs"].size() && i < expect["steps"].size();
       ++i) {
    going_on = check_step(*quantizer, read_tensor(test["inputs"][i]), expect["steps"][i],
                          "step " + std::to_string(i) + " ", problems);
  }
  if (going_on && expect.contains("probe")) {
    check_outputs(*quantizer, read_tensor(test["probe"]), expect["probe"], "probe ", problems);
  }
  check_state(*quantizer, problems);
  return problems;
}

Problems check_bulk(const Json& test) {
  const GoldenTensor x{.shape = test["shape"].get<Shape>(), .values = bulk_input(test)};
  if (crc_text(x.floats()) != test["expect"]["x"]) {
    return {"the input is made wrongly"};
  }
  return test.contains("spec") ? check_bulk_spec(test, x) : check_bulk_torch(test, x);
}

}  // namespace halfstep::golden
