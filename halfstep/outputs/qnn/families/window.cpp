#include "halfstep/outputs/qnn/families/window.h"

#include <algorithm>

namespace halfstep::qnn {
namespace {

std::vector<std::int64_t> filled(std::vector<std::int64_t> values, std::size_t count,
                                 std::int64_t value) {
  values.resize(count, value);
  return values;
}

void prepend(std::vector<std::uint32_t>& values, std::uint32_t value) {
  values.insert(values.begin(), value);
}

}  // namespace

Window read_window(const NodeContext& context, std::vector<std::int64_t> kernel) {
  const Shape &in = context.in_shape(0), &out = context.out_shape();
  const std::size_t axes = in.size() - 2;
  const std::vector<std::int64_t> strides = filled(context.list("strides"), axes, 1);
  const std::vector<std::int64_t> dilations = filled(context.list("dilations"), axes, 1);
  const std::vector<std::int64_t> given = filled(context.list("pads"), 2 * axes, 0);
  const std::string automatic = context.attribute("auto_pad", "NOTSET");
  Window window;
  for (std::size_t i = 0; i < axes; ++i) {
    const std::int64_t reach = (kernel[i] - 1) * dilations[i] + 1;
    const std::int64_t needed = (out[i + 2] - 1) * strides[i] + reach - in[i + 2];
    std::int64_t before = given[i], after = given[i + axes];
    if (automatic == "SAME_UPPER" || automatic == "SAME_LOWER") {
      const std::int64_t all = std::max<std::int64_t>(0, needed);
      before = automatic == "SAME_UPPER" ? all / 2 : all - all / 2;
      after = all - before;
    } else if (automatic == "VALID") {
      before = after = 0;
    }
    after = std::max(after, needed - before);
    if (before < 0 || after < 0) {
      context.refuse("it has negative pads, and QNN takes none; put a Slice before it");
    }
    window.kernel.push_back(static_cast<std::uint32_t>(kernel[i]));
    window.stride.push_back(static_cast<std::uint32_t>(strides[i]));
    window.dilation.push_back(static_cast<std::uint32_t>(dilations[i]));
    window.pads.push_back(static_cast<std::uint32_t>(before));
    window.pads.push_back(static_cast<std::uint32_t>(after));
  }
  if (axes == 1) {
    prepend(window.kernel, 1);
    prepend(window.stride, 1);
    prepend(window.dilation, 1);
    prepend(window.pads, 0);
    prepend(window.pads, 0);
  }
  return window;
}

Param pad_param(const std::vector<std::uint32_t>& pads) {
  return list_param("pad_amount", pads, {static_cast<std::uint32_t>(pads.size() / 2), 2});
}

}  // namespace halfstep::qnn
