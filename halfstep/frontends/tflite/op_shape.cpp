#include <algorithm>
#include <array>
#include <set>

#include "halfstep/frontends/tflite/ops.h"

namespace halfstep::tflite {
namespace {

constexpr int kSqueeze = 43, kExpandDims = 70;

/// The extents that are not 1, without the first and the last.
Shape inner(const Shape& shape) {
  Shape result;
  for (std::size_t k = 1; k + 1 < shape.size(); ++k) {
    if (shape[k] != 1) {
      result.push_back(shape[k]);
    }
  }
  return result;
}

/// Only axes of extent 1 between batch and channels come or go: channels may stay first.
bool keeps_channels(const Tensor& from, const Tensor& to) {
  return !from.dynamic && !to.dynamic && from.shape.size() >= 3 && to.shape.size() >= 3 &&
         from.shape.front() == to.shape.front() && from.shape.back() == to.shape.back() &&
         inner(from.shape) == inner(to.shape);
}

/// Between batch and channels there are only axes of extent 1 (or there is one channel): both
/// layouts are the same in memory.
bool same_in_memory(const Tensor& tensor) {
  return !tensor.dynamic && (inner(tensor.shape).empty() || tensor.shape.back() == 1);
}

void reshape_to(Builder& b, const Operator& op, const std::string& shape) {
  b.finish(op, 0, b.node("Reshape", {b.read(op, 0), shape}).out());
}

void reshape(Builder& b, const Operator& op) {
  const Tensor& from = b.input(op, 0);
  const Tensor& to = b.output(op);
  const bool first = b.layout(op, 0) == Layout::channels_first;
  if (first && keeps_channels(from, to)) {
    const std::string x = b.read(op, 0, Layout::channels_first);
    const Shape shape = permuted(to.shape, to_channels_first(to.shape.size()));
    b.finish(op, 0, b.reshape(x, shape), Layout::channels_first);
    return;
  }
  if (first && same_in_memory(from) && !to.dynamic) {
    b.finish(op, 0, b.reshape(b.read(op, 0, Layout::channels_first), to.shape));
    return;
  }
  if (!to.dynamic) {
    reshape_to(b, op, b.constant(to.shape));
  } else if (op.code == kExpandDims) {
    b.finish(op, 0, b.node("Unsqueeze", {b.read(op, 0), b.constant(b.integers(op, 1))}).out());
  } else if (op.code == kSqueeze) {
    const auto dropped = op.options.vector(0).values<std::int32_t>();
    Names operands{b.read(op, 0)};
    if (!dropped.empty()) {
      operands.push_back(b.constant(Ints(dropped.begin(), dropped.end())));
    }
    b.finish(op, 0, b.node("Squeeze", operands).out());
  } else if (b.has_input(op, 1)) {
    reshape_to(b, op, b.read_int64(op, 1));
  } else {
    const auto shape = op.options.vector(0).values<std::int32_t>();
    reshape_to(b, op, b.constant(Ints(shape.begin(), shape.end())));
  }
}

Ints permutation(const Builder& b, const Operator& op) {
  Ints order = b.integers(op, 1);
  const std::size_t rank = b.input(op, 0).shape.size();
  std::set<std::int64_t> seen;
  for (std::int64_t& axis : order) {
    axis = checked_axis(axis, rank);
    seen.insert(axis);
  }
  if (seen.size() != rank || order.size() != rank) {
    damaged("its order of axes is no order");
  }
  return order;
}

/// Do only axes of extent 1 change their place?
bool stays_in_memory(const Tensor& from, const Tensor& to, const Ints& order) {
  Ints moved;
  for (const std::int64_t axis : order) {
    if (from.shape[static_cast<std::size_t>(axis)] != 1) {
      moved.push_back(axis);
    }
  }
  return !from.dynamic && !to.dynamic && std::is_sorted(moved.begin(), moved.end());
}

void transpose(Builder& b, const Operator& op) {
  Ints order = permutation(b, op);
  const std::size_t rank = order.size();
  if (b.layout(op, 0) == Layout::source) {
    const std::string x = b.read(op, 0);
    const bool still = stays_in_memory(b.input(op, 0), b.output(op), order);
    b.finish(op, 0, still ? b.reshape(x, b.output(op).shape) : b.transpose(x, order));
    return;
  }
  // What is wanted is the source's order of a value that has its channels first.
  for (std::int64_t& axis : order) {
    axis = axis_in(Layout::channels_first, axis, rank);
  }
  const std::string x = b.read(op, 0, Layout::channels_first);
  const bool nothing = std::is_sorted(order.begin(), order.end());
  b.finish(op, 0, nothing ? b.node("Identity", {x}).out() : b.transpose(x, order));
}

/// The paddings of the file, one row per axis, as ONNX has them.
Ints paddings(const Builder& b, const Operator& op, Layout layout) {
  const Ints rows = b.integers(op, 1);
  const std::size_t rank = b.input(op, 0).shape.size();
  if (rows.size() != 2 * rank) {
    damaged("its paddings do not fit the axes of its input");
  }
  Ints pads(2 * rank, 0);
  for (std::size_t k = 0; k < rank; ++k) {
    const auto to = static_cast<std::size_t>(axis_in(layout, static_cast<std::int64_t>(k), rank));
    pads[to] = rows[2 * k];
    pads[to + rank] = rows[2 * k + 1];
  }
  return pads;
}

void pad(Builder& b, const Operator& op) {
  const Layout layout = b.layout(op, 0);
  const Tensor& x = b.input(op, 0);
  Names operands{b.read(op, 0, layout), b.constant(paddings(b, op, layout))};
  if (b.has_input(op, 2)) {
    operands.push_back(b.read_reshaped(op, 2, {}));
  } else if (is_float(x.type) || x.quantized()) {
    operands.push_back(b.scalar(0.0F));
  }
  b.finish(op, 0, b.node("Pad", operands).set("mode", "constant").out(), layout);
}

/// A file of a few bytes can claim any extent: this many places are written down.
constexpr std::int64_t kMostPlaces = 1 << 20;

/// The edge is repeated: the places of every padded axis are gathered.
void symmetric_pad(Builder& b, const Operator& op) {
  const Layout layout = b.layout(op, 0);
  const Tensor& x = b.input(op, 0);
  const std::size_t rank = x.shape.size();
  require_rank(x, rank);
  const Ints pads = paddings(b, op, layout);
  std::string value = b.read(op, 0, layout);
  for (std::size_t k = 0; k < rank; ++k) {
    const auto axis = static_cast<std::size_t>(axis_in(layout, static_cast<std::int64_t>(k), rank));
    const std::int64_t before = pads[axis];
    const std::int64_t after = pads[axis + rank];
    const std::int64_t size = x.shape[k];
    if (before < 0 || after < 0 || before > size || after > size) {
      damaged("it pads more than the " + std::to_string(size) + " values along an axis");
    }
    if (before == 0 && after == 0) {
      continue;
    }
    if (size + before + after > kMostPlaces) {
      refuse("it repeats the edge of an axis of " + std::to_string(size) + " values; at most " +
             std::to_string(kMostPlaces) + " are taken");
    }
    Ints places;
    for (std::int64_t i = -before; i < size + after; ++i) {
      places.push_back(i < 0 ? -1 - i : i < size ? i : 2 * size - 1 - i);
    }
    value = b.node("Gather", {value, b.constant(places)})
                .set("axis", static_cast<std::int64_t>(axis))
                .out();
  }
  b.finish(op, 0, value, layout);
}

void mirror_pad(Builder& b, const Operator& op) {
  if (op.options.get<std::int8_t>(0, 0) != 0) {
    symmetric_pad(b, op);
    return;
  }
  const Layout layout = b.layout(op, 0);
  const std::string pads = b.constant(paddings(b, op, layout));
  b.finish(op, 0, b.node("Pad", {b.read(op, 0, layout), pads}).set("mode", "reflect").out(),
           layout);
}

void tile(Builder& b, const Operator& op) {
  b.finish(op, 0, b.node("Tile", {b.read(op, 0), b.read_int64(op, 1)}).out());
}

void broadcast_to(Builder& b, const Operator& op) {
  b.finish(op, 0, b.node("Expand", {b.read(op, 0), b.read_int64(op, 1)}).out());
}

void fill(Builder& b, const Operator& op) {
  b.finish(op, 0, b.node("Expand", {b.read(op, 1), b.read_int64(op, 0)}).out());
}

void zeros_like(Builder& b, const Operator& op) {
  const Layout layout = b.layout(op, 0);
  const Tensor& x = b.input(op, 0);
  const std::string x_value = b.read(op, 0, layout);
  const std::string zero = b.scalar(0.0F, x.quantized() ? Type::float32 : x.type);
  const std::string shape = b.node("Shape", {x_value}).out();
  b.finish(op, 0, b.node("Expand", {zero, shape}).out(), layout);
}

void shape(Builder& b, const Operator& op) {
  const Tensor& x = b.input(op, 0);
  const std::string sizes =
      x.dynamic ? b.node("Shape", {b.read(op, 0)}).out() : b.constant(x.shape);
  const int type = onnx_type(b.output(op).type);
  b.finish(op, 0, b.node("Cast", {sizes}).set("to", type).out());
}

void rank(Builder& b, const Operator& op) {
  const auto axes = static_cast<float>(b.input(op, 0).shape.size());
  b.finish(op, 0, b.node("Identity", {b.scalar(axes, b.output(op).type)}).out());
}

struct Blocks {
  std::int64_t height = 1, width = 1;
  Ints before{0, 0}, after{0, 0};
};

Blocks blocks(const Builder& b, const Operator& op) {
  require_rank(b.input(op, 0), 4);
  const Ints sizes = b.integers(op, 1);
  const Ints edges = b.integers(op, 2);
  if (sizes.size() != 2 || edges.size() != 4) {
    refuse("its blocks do not lie along height and width");
  }
  for (const std::int64_t size : sizes) {
    if (size < 1 || size > 1048576) {
      damaged("a block has the size " + std::to_string(size));
    }
  }
  return {.height = sizes[0],
          .width = sizes[1],
          .before = {edges[0], edges[2]},
          .after = {edges[1], edges[3]}};
}

// [N, C, H, W] to [bh*bw*N, C, H/bh, W/bw], the batch innermost.
void space_to_batch_nd(Builder& b, const Operator& op) {
  const Blocks k = blocks(b, op);
  const Shape& x = b.input(op, 0).shape;
  const Shape& y = b.output(op).shape;
  require_rank(b.output(op), 4);
  const std::string pads =
      b.constant({0, 0, k.before[0], k.before[1], 0, 0, k.after[0], k.after[1]});
  const std::string zero = b.scalar(0.0F);
  const std::string padded =
      b.node("Pad", {b.read(op, 0, Layout::channels_first), pads, zero}).out();
  const std::string split = b.reshape(padded, {x[0], x[3], y[1], k.height, y[2], k.width});
  const std::string turned = b.transpose(split, {3, 5, 0, 1, 2, 4});
  b.finish(op, 0, b.reshape(turned, {y[0], y[3], y[1], y[2]}), Layout::channels_first);
}

void batch_to_space_nd(Builder& b, const Operator& op) {
  const Blocks k = blocks(b, op);
  const Shape& x = b.input(op, 0).shape;
  const Shape& y = b.output(op).shape;
  require_rank(b.output(op), 4);
  const std::string value = b.read(op, 0, Layout::channels_first);
  const std::string split = b.reshape(value, {k.height, k.width, y[0], x[3], x[1], x[2]});
  const std::string turned = b.transpose(split, {2, 3, 4, 0, 5, 1});
  const std::string whole = b.reshape(turned, {y[0], x[3], x[1] * k.height, x[2] * k.width});
  const std::string starts = b.constant({k.before[0], k.before[1]});
  const std::string ends = b.constant({k.before[0] + y[1], k.before[1] + y[2]});
  const std::string axes = b.constant({2, 3});
  b.finish(op, 0, b.node("Slice", {whole, starts, ends, axes}).out(), Layout::channels_first);
}

void space_depth(Builder& b, const Operator& op, const char* type) {
  require_rank(b.input(op, 0), 4);
  const std::int64_t block = positive(op, 0);
  const std::string x = b.read(op, 0, Layout::channels_first);
  b.finish(op, 0, b.node(type, {x}).set("blocksize", block).out(), Layout::channels_first);
}
void space_to_depth(Builder& b, const Operator& op) { space_depth(b, op, "SpaceToDepth"); }
void depth_to_space(Builder& b, const Operator& op) { space_depth(b, op, "DepthToSpace"); }

constexpr std::array kRows = {OpRow{.code = 5, .read = depth_to_space},
                              OpRow{.code = 22, .read = reshape},
                              OpRow{.code = 26, .read = space_to_depth},
                              OpRow{.code = 34, .read = pad},
                              OpRow{.code = 37, .read = batch_to_space_nd},
                              OpRow{.code = 38, .read = space_to_batch_nd},
                              OpRow{.code = 39, .read = transpose},
                              OpRow{.code = 43, .read = reshape},
                              OpRow{.code = 60, .read = pad},
                              OpRow{.code = 69, .read = tile},
                              OpRow{.code = 70, .read = reshape},
                              OpRow{.code = 77, .read = shape},
                              OpRow{.code = 93, .read = zeros_like},
                              OpRow{.code = 94, .read = fill},
                              OpRow{.code = 100, .read = mirror_pad},
                              OpRow{.code = 110, .read = rank},
                              OpRow{.code = 130, .read = broadcast_to}};

}  // namespace

std::span<const OpRow> shape_ops() { return kRows; }

}  // namespace halfstep::tflite
