#include "halfstep/outputs/onnx_storage.h"

#include <algorithm>
#include <array>
#include <string>
#include <string_view>
#include <variant>

#include "halfstep/core/minifloat.h"
#include "halfstep/support/error.h"

namespace halfstep {
namespace {

struct Row {
  Dtype dtype;
  OnnxStorage storage;
};

constexpr OnnxStorage kInt4{.dtype = Dtype::int4, .opset = 21, .ir_version = 10};
constexpr OnnxStorage kUint4{.dtype = Dtype::uint4, .opset = 21, .ir_version = 10};
constexpr OnnxStorage kInt8{.dtype = Dtype::int8, .opset = 10, .ir_version = 3};
constexpr OnnxStorage kUint8{.dtype = Dtype::uint8, .opset = 10, .ir_version = 3};
constexpr OnnxStorage kInt32{.dtype = Dtype::int32, .opset = 10, .ir_version = 3};

// From here on ONNX has float8_e8m0fnu, and DequantizeLinear takes it as a scale.
constexpr int kE8m0Opset = 24;
constexpr int kE8m0IrVersion = 12;

constexpr std::array kRows{
    Row{Dtype::int1, kInt4},
    Row{Dtype::int2, {.dtype = Dtype::int2, .opset = 25, .ir_version = 13}},
    Row{Dtype::int3, kInt4},
    Row{Dtype::int4, kInt4},
    Row{Dtype::int5, kInt8},
    Row{Dtype::int6, kInt8},
    Row{Dtype::int7, kInt8},
    Row{Dtype::int8, kInt8},
    Row{Dtype::uint1, kUint4},
    Row{Dtype::uint2, {.dtype = Dtype::uint2, .opset = 25, .ir_version = 13}},
    Row{Dtype::uint3, kUint4},
    Row{Dtype::uint4, kUint4},
    Row{Dtype::uint5, kUint8},
    Row{Dtype::uint6, kUint8},
    Row{Dtype::uint7, kUint8},
    Row{Dtype::uint8, kUint8},
    Row{Dtype::int16, {.dtype = Dtype::int16, .opset = 21, .ir_version = 10}},
    Row{Dtype::uint16, {.dtype = Dtype::uint16, .opset = 21, .ir_version = 10}},
    Row{Dtype::int32, kInt32},
    Row{Dtype::uint32, kInt32},
    Row{Dtype::float8_e4m3fn, {.dtype = Dtype::float8_e4m3fn, .opset = 19, .ir_version = 9}},
    Row{Dtype::float8_e5m2, {.dtype = Dtype::float8_e5m2, .opset = 19, .ir_version = 9}},
    Row{Dtype::float4_e2m1fn_x2, {.dtype = Dtype::float4_e2m1fn_x2, .opset = 23, .ir_version = 11}},
};

}  // namespace

std::optional<OnnxStorage> onnx_storage(const Encoding& encoding) noexcept {
  if (encoding.half_step) {
    return kInt4;
  }
  const auto* row = std::find_if(kRows.begin(), kRows.end(),
                                 [&](const Row& r) { return r.dtype == encoding.dtype; });
  return row == kRows.end() ? std::nullopt : std::optional(row->storage);
}

Encoding stored_encoding(const Encoding& encoding) {
  Encoding stored = encoding;
  stored.dtype = onnx_storage(encoding).value().dtype;
  if (encoding.half_step) {
    stored.half_step = false;
    stored.zero_point.assign(encoding.scale.size(), 0);
    for (float& scale : stored.scale) {
      scale *= 0.5F;
    }
  } else if (encoding.dtype == Dtype::uint32) {
    stored.zero_point.resize(encoding.scale.size());
    for (std::int64_t& zero_point : stored.zero_point) {
      zero_point -= std::int64_t{1} << 31;
    }
  }
  return stored;
}

bool onnx_can_quantize(const Encoding& encoding) noexcept {
  const auto storage = onnx_storage(encoding);
  return storage && storage->dtype == encoding.dtype && encoding.dtype != Dtype::int32 &&
         !encoding.half_step;
}

std::string_view narrow_type(const Encoding& encoding) noexcept {
  const auto storage = onnx_storage(encoding);
  const bool narrower = storage && is_integer(encoding.dtype) && bits(encoding.dtype) < 8 &&
                        storage->dtype != encoding.dtype && !encoding.half_step;
  return narrower ? name(encoding.dtype) : std::string_view();
}

bool onnx_can_saturate(const Encoding& encoding) noexcept {
  return !narrow_type(encoding).empty() && std::holds_alternative<PerTensor>(encoding.granularity);
}

Dtype onnx_scale_type(const Encoding& encoding) noexcept {
  const auto is_power_of_two = [](float scale) {
    return e8m0_to_float(float_to_e8m0(scale)) == scale;  // never true of NaN
  };
  const bool exact = encoding.dtype == Dtype::float4_e2m1fn_x2 &&
                     std::ranges::all_of(encoding.scale, is_power_of_two);
  return exact ? Dtype::float8_e8m0fnu : Dtype::float32;
}

int required_ir_version(const Encoding& encoding) {
  const int codes = onnx_storage(encoding).value().ir_version;
  return onnx_scale_type(encoding) == Dtype::float8_e8m0fnu ? std::max(codes, kE8m0IrVersion)
                                                            : codes;
}

int required_opset(const Encoding& encoding) {
  const auto storage = onnx_storage(encoding);
  if (!storage) {
    throw Error(ErrorKind::unsupported, "ONNX can't store type " +
                                            std::string(name(encoding.dtype)) +
                                            "; choose an integer or float8 type");
  }
  if (!encoding.minval.empty()) {
    throw Error(ErrorKind::unsupported,
                "ONNX can't say a minimum value instead of a zero point; use qformulation zp");
  }
  const int scale = onnx_scale_type(encoding) == Dtype::float8_e8m0fnu ? kE8m0Opset : 0;
  const int least = std::max(storage->opset, scale);
  if (std::holds_alternative<PerTensor>(encoding.granularity)) {
    return least;
  }
  const bool channel = std::holds_alternative<PerChannel>(encoding.granularity);
  return std::max(least, channel ? 13 : 21);
}

}  // namespace halfstep
