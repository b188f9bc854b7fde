#include <string>

#include <gtest/gtest.h>

#include "halfstep/core/spec.h"
#include "halfstep/support/error.h"
#include "tests/unit/core/fixtures.h"

namespace halfstep {
namespace {

QuantizationSpec read(const std::string& text) { return spec_from_json(Json::parse(text)); }

std::string error_of(const std::string& text) {
  try {
    (void)read(text);
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::invalid_argument);
    return error.what();
  }
  return "";
}

TEST(SpecJson, EveryLegalSpecRoundTrips) {
  std::size_t count = 0;
  for (const Granularity& granularity : testing_core::granularities()) {
    for (QuantizationSpec spec : testing_core::legal_specs(granularity)) {
      if (spec.dtype == Dtype::float4_e2m1fn_x2 && !spec.scale_dtype) {
        continue;  // reads back with the only scale_dtype it can have
      }
      spec.float_max = 0.7;
      spec.policy = Policy::safe;
      spec.e8m0_mode = E8m0Mode::even;
      EXPECT_EQ(spec_from_json(Json::parse(to_json(spec).dump())), spec);
      ++count;
    }
  }
  EXPECT_GT(count, 500U);
  const QuantizationSpec lpbq{
      .dtype = Dtype::int4,
      .granularity = Lpbq{.axis = -1, .block_size = 32, .channel_axis = 0, .decompressed_bits = 7}};
  EXPECT_EQ(spec_from_json(to_json(lpbq)), lpbq);
}

TEST(SpecJson, ReadsTheForms) {
  EXPECT_EQ(read(R"({"granularity": {"type": "per_block", "axis": 1, "block_size": [32]}})"),
            read(R"({"granularity": {"type": "per_block", "axis": "1", "block_size": 32.0}})"));
  const QuantizationSpec bounded = read(R"({"float_range": [null, 1]})");
  EXPECT_EQ(bounded.float_min, std::nullopt);
  EXPECT_EQ(bounded.float_max, 1.0);
  EXPECT_EQ(read(R"({"dtype": "float4_e2m1fn"})").scale_dtype, Dtype::float8_e8m0fnu);
}

TEST(SpecJson, EverythingWrongIsReportedAtOnce) {
  const std::string message = error_of(
      R"({"dtyp": "int8", "qscheme": "affine", "eps": "x", "float_range": [1], "policy": 3,
          "granularity": {"type": "per_chanel"}, "scale_dtype": "float32"})");
  for (const char* part : {"\"dtype\"", "\"asymmetric\"", "eps", "float_range", "policy",
                           "per_channel", "scale_dtype"}) {
    EXPECT_NE(message.find(part), std::string::npos) << part << " in\n" << message;
  }
}

TEST(SpecJson, DerivedFieldsMustBeRight) {
  EXPECT_EQ(read(R"({"dtype": "int4", "n_bits": 4, "quant_min": -8, "quant_max": 7,
                     "target_dtype": "int8"})")
                .dtype,
            Dtype::int4);
  EXPECT_NE(error_of(R"({"dtype": "int4", "n_bits": 8})"), "");
}

TEST(SpecJson, ExtraFieldsOfASubclass) {
  const Json json = Json::parse(R"({"percentile": 99.9})");
  EXPECT_THROW((void)spec_from_json(json), Error);
  const QuantizationSpec spec = spec_from_json(json, {"percentile"});
  EXPECT_EQ(get_extra_args(spec)["percentile"], 99.9);
  EXPECT_EQ(spec_from_json(to_json(spec)), spec);
  EXPECT_TRUE(get_extra_args(QuantizationSpec{}).empty());
}

TEST(SpecJson, Granularities) {
  for (const Granularity& granularity : testing_core::granularities()) {
    EXPECT_EQ(granularity_from_json(to_json(granularity)), granularity);
  }
  for (const char* wrong :
       {R"("per_tensor")", "null", R"({"axis": 1})", R"({"type": "per_tensor", "axis": 0})",
        R"({"type": "per_block", "axis": 1})", R"({"type": "per_channel", "axis": 1.5})",
        R"({"type": "per_channel", "axes": 1})", R"({"type": "lpbq", "axis": 1})"}) {
    EXPECT_THROW((void)spec_from_json(Json{{"granularity", Json::parse(wrong)}}), Error) << wrong;
  }
}

}  // namespace
}  // namespace halfstep
