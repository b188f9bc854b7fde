#include <array>

#include "halfstep/frontends/tflite/arithmetic.h"
#include "halfstep/frontends/tflite/ops.h"

namespace halfstep::tflite {
namespace {

struct Grid {
  bool align_corners = false, half_pixels = false;
  [[nodiscard]] const char* name() const {
    return align_corners ? "align_corners" : half_pixels ? "half_pixel" : "asymmetric";
  }
};

std::string resize(Builder& b, const Operator& op, const char* mode, const Grid& grid,
                   const char* rounding) {
  const Tensor& x = b.input(op, 0);
  require_rank(x, 4);
  const Ints size = b.integers(op, 1);
  if (size.size() != 2 || size[0] < 1 || size[1] < 1) {
    damaged("its size is not a height and a width");
  }
  const std::string sizes = b.constant({x.shape[0], x.shape[3], size[0], size[1]});
  return b.node("Resize", {b.read(op, 0, Layout::channels_first), "", "", sizes})
      .set("mode", mode)
      .set("coordinate_transformation_mode", grid.name())
      .set("nearest_mode", rounding)
      .out();
}

void resize_bilinear(Builder& b, const Operator& op) {
  const Grid grid{.align_corners = op.options.get<std::uint8_t>(2, 0) != 0,
                  .half_pixels = op.options.get<std::uint8_t>(3, 0) != 0};
  const std::string value = resize(b, op, "linear", grid, "floor");
  b.finish(op, 0, round_up(b, op, value), Layout::channels_first);
}

// Half pixels: floor((i + 0.5) * scale), which is (i + 0.5) * scale - 0.5 rounded half up.
void resize_nearest_neighbor(Builder& b, const Operator& op) {
  const Grid grid{.align_corners = op.options.get<std::uint8_t>(0, 0) != 0,
                  .half_pixels = op.options.get<std::uint8_t>(1, 0) != 0};
  const bool rounds = grid.align_corners || grid.half_pixels;
  b.finish(op, 0, resize(b, op, "nearest", grid, rounds ? "round_prefer_ceil" : "floor"),
           Layout::channels_first);
}

constexpr std::array kRows = {OpRow{.code = 23, .read = resize_bilinear},
                              OpRow{.code = 97, .read = resize_nearest_neighbor}};

}  // namespace

std::span<const OpRow> resize_ops() { return kRows; }

}  // namespace halfstep::tflite
