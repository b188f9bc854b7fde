// Version 2.0.0: one list of entries that follow the operator QuantizeLinear of ONNX.
#include <algorithm>
#include <array>
#include <string>
#include <utility>
#include <variant>

#include "halfstep/encodings/schema/entries.h"
#include "halfstep/encodings/schema/v2.h"
#include "halfstep/support/error.h"

namespace halfstep {
namespace {

struct TypeName {
  Dtype dtype;
  std::string_view text;
};
constexpr std::array kTypeNames{
    TypeName{Dtype::int2, "int2"},
    TypeName{Dtype::uint2, "uint2"},
    TypeName{Dtype::int4, "int4"},
    TypeName{Dtype::uint4, "uint4"},
    TypeName{Dtype::int8, "int8"},
    TypeName{Dtype::uint8, "uint8"},
    TypeName{Dtype::int16, "int16"},
    TypeName{Dtype::uint16, "uint16"},
    TypeName{Dtype::int32, "int32"},
    TypeName{Dtype::uint32, "uint32"},
    TypeName{Dtype::float8_e4m3fn, "float8e4m3fn"},
    TypeName{Dtype::float8_e5m2, "float8e5m2"},
    TypeName{Dtype::float4_e2m1fn_x2, "float4e2m1"},
};

bool all_zero(const std::vector<double>& values) {
  return std::all_of(values.begin(), values.end(), [](double value) { return value == 0.0; });
}

/// Channel scales with the rank of the tensor, 1 on every axis but the channels'.
Shape channel_shape(const Encoding& encoding, const Lpbq& lpbq) {
  Shape shape(encoding.shape.size(), 1);
  shape[static_cast<std::size_t>(*lpbq.channel_axis)] =
      static_cast<std::int64_t>(encoding.scale.size());
  return shape;
}

}  // namespace

std::string_view type_name_v2(Dtype dtype) {
  const auto* found = std::find_if(kTypeNames.begin(), kTypeNames.end(),
                                   [&](const TypeName& row) { return row.dtype == dtype; });
  if (found == kTypeNames.end()) {
    refuse("version 2 of the file has no type " + std::string(name(dtype)));
  }
  return found->text;
}

Dtype parse_type_v2(const std::string& text) {
  std::string plain = text;
  std::erase(plain, '_');
  std::vector<std::string> known;
  for (const TypeName& row : kTypeNames) {
    if (row.text == plain) {
      return row.dtype;
    }
    known.emplace_back(row.text);
  }
  for (const Dtype dtype : {Dtype::float16, Dtype::float32, Dtype::bfloat16}) {
    if (name(dtype) == plain) {
      return dtype;
    }
  }
  const std::string closest = closest_match(plain, known);
  throw Error(ErrorKind::invalid_file,
              "output_dtype \"" + text + "\" is unknown" +
                  (closest.empty() ? "" : "; did you mean \"" + closest + "\"?"));
}

Json entry_start_v2(const NamedEncoding& tensor) {
  Json entry;
  entry["name"] = tensor.name;
  entry["output_dtype"] = type_name_v2(tensor.encoding->dtype);
  return entry;
}

void add_axis_v2(const FileValues& values, Json& entry) {
  if (values.form.axis) {
    entry["axis"] = *values.form.axis;
  }
  if (values.form.block_size > 0) {
    entry["block_size"] = values.form.block_size;
  }
}

Json linear_entry_v2(const NamedEncoding& tensor) {
  const FileValues values = file_values(tensor);
  Json entry = entry_start_v2(tensor);
  entry["y_scale"] = nested<double>(values.scale, values.form.shape);
  if (!all_zero(values.zero_point)) {
    std::vector<Json> zero_points;
    std::transform(values.zero_point.begin(), values.zero_point.end(),
                   std::back_inserter(zero_points), number);
    entry["y_zero_point"] = nested<Json>(zero_points, values.form.shape);
  }
  add_axis_v2(values, entry);
  return entry;
}

Json entry_v2_0_0(const NamedEncoding& tensor) {
  const Encoding& encoding = *tensor.encoding;
  const auto* lpbq = std::get_if<Lpbq>(&encoding.granularity);
  if (lpbq == nullptr) {
    return linear_entry_v2(tensor);
  }
  if (lpbq->decompressed_bits != 2 * bits(encoding.dtype)) {
    refuse("version 2.0.0 of the file takes LPBQ to decompress to twice the width; " +
           std::string(name(encoding.dtype)) + " to " + std::to_string(lpbq->decompressed_bits) +
           " bits needs version 1.0.0");
  }
  const FileValues values = file_values(tensor);
  Json entry = entry_start_v2(tensor);
  entry["per_block_int_scale"] = nested<std::int64_t>(values.block_scale, values.form.shape);
  entry["per_channel_float_scale"] = nested<double>(values.scale, channel_shape(encoding, *lpbq));
  add_axis_v2(values, entry);
  return entry;
}

}  // namespace halfstep
