#include "halfstep/encodings/schema/entries.h"

#include <cmath>
#include <variant>

#include "halfstep/support/error.h"

namespace halfstep {

void refuse(const std::string& reason) { throw Error(ErrorKind::unsupported, reason); }

FileValues file_values(const NamedEncoding& tensor) {
  const Encoding& encoding = *tensor.encoding;
  if (!encoding.minval.empty()) {
    refuse("no version of the file can say a minimum value instead of a zero point");
  }
  FileValues values{
      .form = linear_form(encoding, tensor.facts.shape.value_or(encoding.shape), Spread::compact)};
  const auto zero_point = [&](std::size_t unit) {
    const std::int64_t whole = encoding.zero_point.empty() ? 0 : encoding.zero_point[unit];
    return static_cast<double>(whole) - (encoding.half_step ? 0.5 : 0.0);
  };
  if (std::holds_alternative<Lpbq>(encoding.granularity)) {
    for (std::size_t i = 0; i < encoding.scale.size(); ++i) {
      values.scale.push_back(encoding.scale[i]);
      values.zero_point.push_back(zero_point(i));
    }
    values.block_scale.assign(encoding.block_scale.begin(), encoding.block_scale.end());
    return values;
  }
  for (const std::size_t unit : values.form.units) {
    values.scale.push_back(encoding.scale[unit]);
    values.zero_point.push_back(zero_point(unit));
  }
  return values;
}

Json number(double value) {
  if (value == std::floor(value) && std::abs(value) < 9e15) {
    return static_cast<std::int64_t>(value);
  }
  return value;
}

double unsigned_shift(const Encoding& encoding) {
  return is_signed_integer(encoding.dtype) ? std::ldexp(1.0, bits(encoding.dtype) - 1) : 0.0;
}

}  // namespace halfstep
