// Golden vectors of torch's observers and operators.
#include <cmath>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "halfstep/core/observers/histogram_observer.h"
#include "halfstep/core/observers/observer.h"
#include "halfstep/core/torch_ops.h"
#include "halfstep/support/error.h"
#include "tests/unit/core/golden/vectors.h"

namespace halfstep::golden {
namespace {

template <typename T>
void take(const Json& kwargs, const char* key, T& field) {
  if (kwargs.contains(key)) {
    field = kwargs[key].get<T>();
  }
}

ObserverOptions options_from(const Json& kwargs) {
  ObserverOptions options;
  if (kwargs.contains("dtype")) {
    options.dtype = parse_observer_dtype(kwargs["dtype"].get<std::string>());
  }
  if (kwargs.contains("qscheme")) {
    options.qscheme = parse_observer_scheme(kwargs["qscheme"].get<std::string>());
  }
  if (kwargs.contains("quant_min")) {
    options.quant_min = kwargs["quant_min"].get<std::int64_t>();
  }
  if (kwargs.contains("quant_max")) {
    options.quant_max = kwargs["quant_max"].get<std::int64_t>();
  }
  take(kwargs, "reduce_range", options.reduce_range);
  take(kwargs, "eps", options.eps);
  take(kwargs, "ch_axis", options.ch_axis);
  take(kwargs, "averaging_constant", options.averaging_constant);
  take(kwargs, "is_dynamic", options.is_dynamic);
  take(kwargs, "bins", options.bins);
  return options;
}

std::vector<float> copy(std::span<const float> values) { return {values.begin(), values.end()}; }

void compare(const Observer& observer, const Json& want, const std::string& where,
             Problems& problems) {
  const auto check = [&](const char* what, bool equal) {
    if (!equal) {
      problems.push_back(where + what);
    }
  };
  check("min", same_floats(copy(observer.min_val()), want["min"], false));
  check("max", same_floats(copy(observer.max_val()), want["max"], false));
  ObserverQParams params;
  try {
    params = observer.calculate_qparams();
  } catch (const Error& error) {
    check(error.what(), want.contains("error"));
    return;
  }
  check("an error", !want.contains("error"));
  check("scale", same_floats(params.scale, want["scale"]));
  if (want.contains("zp_float")) {
    const bool untouched = params.zero_point_float.empty() && params.zero_point[0] == 0;
    check("zp_float", untouched || same_floats(params.zero_point_float, want["zp_float"], false));
  } else {
    check("zp", same_integers(params.zero_point, want["zp"]));
  }
}

void check_state(const Observer& observer, const std::string& class_name, Problems& problems) {
  const std::unique_ptr<Observer> copied = make_observer(class_name, observer.options());
  copied->load_state(Json::parse(observer.state().dump()));
  if (copied->state() != observer.state()) {
    problems.emplace_back("state does not round trip");
  }
}

double value(const Json& tensor) { return read_tensor(tensor).floats()[0]; }

AffineParams params_from(const Json& test, const std::vector<float>& scale,
                         const std::vector<std::int64_t>& zero_point) {
  AffineParams params{.scale = scale, .zero_point = zero_point};
  if (test.contains("axis")) {
    params.axis = test["axis"].get<std::int64_t>();
  }
  if (test.contains("qmin")) {
    params.quant_min = test["qmin"].get<std::int64_t>();
    params.quant_max = test["qmax"].get<std::int64_t>();
    return params;
  }
  const std::string type = test["dtype"].get<std::string>();
  if (type != "quint8") {
    params.quant_min = type == "qint8" ? -128 : INT32_MIN;
    params.quant_max = type == "qint8" ? 127 : INT32_MAX;
  }
  const bool fused = test["kind"] == "q_tensor" && type != "qint32";
  params.rounding = fused ? Rounding::reciprocal_fused : Rounding::reciprocal_then_add;
  return params;
}

Problems check_codes(const Json& test, const GoldenTensor& x, const AffineParams& params) {
  std::vector<std::int64_t> codes(x.size());
  quantize_affine(x.view(), params, codes);
  return same_integers(codes, test["expect"]["q"]) ? Problems{} : Problems{"q"};
}

}  // namespace

Problems check_observer(const Json& test) {
  const Json& expect = test["expect"];
  const std::string class_name = test["class"].get<std::string>();
  std::unique_ptr<Observer> observer;
  try {
    observer = make_observer(class_name, options_from(test["kwargs"]));
  } catch (const Error& error) {
    return expect.contains("error") ? Problems{} : Problems{error.what()};
  }
  if (expect.contains("error")) {
    return {"expected " + expect["error"].get<std::string>()};
  }
  Problems problems;
  if (Json(observer->quant_min()) != expect["quant_min"] ||
      Json(observer->quant_max()) != expect["quant_max"]) {
    problems.emplace_back("quant range");
  }
  compare(*observer, expect["initial"], "initial ", problems);
  for (std::size_t i = 0; i < test["inputs"].size() && i < expect["steps"].size(); ++i) {
    const Json& want = expect["steps"][i];
    const std::string where = "step " + std::to_string(i) + " ";
    try {
      observer->observe(read_tensor(test["inputs"][i]).view());
    } catch (const Error& error) {
      return want.contains("min") ? Problems{where + error.what()} : problems;
    }
    if (!want.contains("min")) {
      return {where + "expected an error"};
    }
    compare(*observer, want, where, problems);
    check_state(*observer, class_name, problems);
    if (want.contains("after_reset")) {
      observer->reset_min_max_vals();
      compare(*observer, want["after_reset"], where + "after reset ", problems);
    }
  }
  return problems;
}

Problems check_histogram(const Json& test) {
  const Json& expect = test["expect"];
  HistogramObserver observer(options_from(test["kwargs"]));
  for (const Json& input : test["inputs"]) {
    observer.observe(read_tensor(input).view());
  }
  Problems problems;
  if (!same_floats(copy(observer.min_val()), expect["min"], false) ||
      !same_floats(copy(observer.max_val()), expect["max"], false)) {
    problems.emplace_back("range");
  }
  const std::vector<float> wanted = read_tensor(expect["hist"]).floats();
  double mass = 0;
  double moved = 0;
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    mass += wanted[i];
    moved += std::abs(observer.histogram()[i] - wanted[i]);
  }
  if (moved > 0.02 * mass) {
    problems.emplace_back("histogram");
  }
  const double bin = (observer.max_val()[0] - observer.min_val()[0]) /
                     static_cast<double>(observer.histogram().size());
  const auto [low, high] = observer.chosen_range();
  if (std::abs(low - value(expect["chosen_min"])) > 2.01 * bin ||
      std::abs(high - value(expect["chosen_max"])) > 2.01 * bin) {
    problems.emplace_back("chosen range");
  }
  check_state(observer, "HistogramObserver", problems);
  return problems;
}

Problems check_torch_op(const Json& test) {
  const Json& expect = test["expect"];
  GoldenTensor x = read_tensor(test["x"]);
  const std::vector<float> scale = read_tensor(test["scale"]).floats();
  const std::vector<std::int64_t> zero_point =
      test["zp"].is_array() ? test["zp"].get<std::vector<std::int64_t>>()
                            : std::vector<std::int64_t>{test["zp"].get<std::int64_t>()};
  const AffineParams params = params_from(test, scale, zero_point);
  try {
    if (test["kind"].get<std::string>().starts_with("q_")) {
      return check_codes(test, x, params);
    }
    const GoldenTensor input = x;
    fake_quantize_affine(input.view(), params, x.span());
  } catch (const Error& error) {
    return expect.contains("error") ? Problems{} : Problems{error.what()};
  }
  if (expect.contains("error")) {
    return {"expected " + expect["error"].get<std::string>()};
  }
  return same(x, expect["y"]) ? Problems{} : Problems{"y"};
}

}  // namespace halfstep::golden
