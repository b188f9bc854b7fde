#include "halfstep/core/spec.h"

#include <limits>
#include <string>

#include <gtest/gtest.h>

#include "halfstep/support/error.h"
#include "tests/unit/core/fixtures.h"

namespace halfstep {
namespace {

std::string message_of(const QuantizationSpec& spec, Role role) {
  try {
    (void)resolve(spec, role);
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::invalid_argument);
    return error.what();
  }
  return "";
}

bool mentions(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

TEST(Spec, DefaultsAreTheSeeds) {
  const ResolvedSpec spec = resolve({}, Role::weight);
  EXPECT_EQ(spec->dtype, Dtype::int8);
  EXPECT_EQ(spec->policy, Policy::reference);
  EXPECT_EQ(spec.quant_min(), -128);
  EXPECT_EQ(spec.quant_max(), 127);
}

TEST(Spec, AllBrokenRulesAreReportedAtOnce) {
  const QuantizationSpec spec{.dtype = Dtype::float32,
                              .granularity = PerBlock{1, {0}},
                              .qparam_calculator_cls = "moving_averag",
                              .float_min = 1.0,
                              .float_max = -1.0,
                              .eps = -1};
  const std::string message = message_of(spec, Role::weight);
  for (const char* field : {"dtype", "granularity", "float_range", "eps", "moving_average"}) {
    EXPECT_TRUE(mentions(message, field)) << field << " in\n" << message;
  }
  EXPECT_EQ(broken_rules(spec).size(), 7U) << message;
}

TEST(Spec, RulesOfFloatFormatsAndPowerOfTwoScales) {
  EXPECT_TRUE(broken_rules({.dtype = Dtype::int8, .scale_dtype = Dtype::float8_e8m0fnu}).empty());
  EXPECT_FALSE(broken_rules({.dtype = Dtype::int6, .scale_dtype = Dtype::float8_e8m0fnu}).empty());
  EXPECT_FALSE(broken_rules({.dtype = Dtype::float8_e5m2, .qscheme = Scheme::asymmetric}).empty());
  EXPECT_EQ(resolve({.dtype = Dtype::float4_e2m1fn_x2}, Role::weight)->scale_dtype,
            Dtype::float8_e8m0fnu);
}

TEST(Spec, PolicyNeverDecidesWhatIsLegal) {
  for (QuantizationSpec spec : testing_core::legal_specs(PerTensor{})) {
    spec.policy = Policy::safe;
    EXPECT_TRUE(broken_rules(spec).empty()) << testing_core::describe(spec);
  }
}

TEST(Spec, BoundsMustBeFinite) {
  const double infinity = std::numeric_limits<double>::infinity();
  for (const double bound : {infinity, std::numeric_limits<double>::quiet_NaN(), 1e39}) {
    EXPECT_FALSE(broken_rules({.float_max = bound}).empty()) << bound;
  }
}

TEST(Spec, DynamicIsForActivationsWithoutBounds) {
  QuantizationSpec spec{.qparam_calculator_cls = "dynamic"};
  EXPECT_EQ(message_of(spec, Role::activation), "");
  EXPECT_TRUE(mentions(message_of(spec, Role::weight), "activations"));
  spec.float_max = 1.0;
  EXPECT_TRUE(mentions(message_of(spec, Role::activation), "float_range"));
}

TEST(Spec, LpbqNeedsRoomAboveTheCode) {
  QuantizationSpec spec{.dtype = Dtype::int4, .granularity = Lpbq{.axis = 1, .block_size = 16}};
  EXPECT_TRUE(broken_rules(spec).empty());
  spec.dtype = Dtype::int8;
  EXPECT_FALSE(broken_rules(spec).empty());
  spec.dtype = Dtype::uint4;
  EXPECT_FALSE(broken_rules(spec).empty());
}

TEST(Spec, ExportSaysWhatABackendLacks) {
  const QuantizationSpec minval{.qformulation = Formulation::minval};
  EXPECT_NO_THROW(check_export(minval, Backend::coreai, Role::weight));
  for (const Backend backend : {Backend::coreml, Backend::onnx, Backend::qnn}) {
    EXPECT_THROW(check_export(minval, backend, Role::weight), Error) << name(backend);
  }
  const QuantizationSpec narrow{.dtype = Dtype::int4};
  EXPECT_NO_THROW(check_export(narrow, Backend::coreml, Role::weight));
  EXPECT_THROW(check_export(narrow, Backend::coreml, Role::activation), Error);
  EXPECT_THROW(check_export({.dtype = Dtype::int3}, Backend::onnx, Role::weight), Error);
  EXPECT_THROW(check_export({.dtype = Dtype::float8_e4m3fn}, Backend::qnn, Role::weight), Error);
  const QuantizationSpec lpbq{.dtype = Dtype::int4,
                              .granularity = Lpbq{.axis = 1, .block_size = 16}};
  EXPECT_NO_THROW(check_export(lpbq, Backend::qnn, Role::weight));
  EXPECT_THROW(check_export(lpbq, Backend::onnx, Role::weight), Error);
  EXPECT_EQ(find_backend("qnn"), Backend::qnn);
  EXPECT_EQ(find_backend("tflite"), std::nullopt);
}

}  // namespace
}  // namespace halfstep
