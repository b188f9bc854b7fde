#include "halfstep/frontends/tflite/resize.h"

#include <algorithm>
#include <array>
#include <optional>
#include <set>
#include <vector>

#include "halfstep/support/error.h"

namespace halfstep::tflite {
namespace {

constexpr int kFullyConnected = 9, kReshape = 22, kBatchToSpace = 37, kSpaceToBatch = 38,
              kTranspose = 39, kSqueeze = 43, kExpandDims = 70;

using Extents = std::optional<Shape>;

Extents reshaped(const Builder& b, const Operator& op) {
  Shape to;
  if (b.has_input(op, 1)) {
    if (!b.input(op, 1).constant) {
      return std::nullopt;
    }
    to = b.integers(op, 1);
  } else {
    const auto shape = op.options.vector(0).values<std::int32_t>();
    to.assign(shape.begin(), shape.end());
  }
  const auto elements = static_cast<std::int64_t>(count(b.input(op, 0).shape));
  std::int64_t others = 1;
  for (const std::int64_t size : to) {
    others *= size < 0 ? 1 : size;
  }
  const auto open = std::find(to.begin(), to.end(), -1);
  if (open != to.end() && others > 0) {
    *open = elements / others;
    others *= *open;
  }
  if (others != elements) {
    throw Error(ErrorKind::invalid_argument,
                "it can't make " + std::to_string(elements) + " elements into the " +
                    std::to_string(others) +
                    " of the shape in the file: the model does not take the given extents");
  }
  return to;
}

Shape squeezed(const Builder& b, const Operator& op) {
  const Shape& from = b.input(op, 0).shape;
  std::set<std::int64_t> axes;
  for (const auto axis : op.options.vector(0).values<std::int32_t>()) {
    axes.insert(checked_axis(axis, from.size()));
  }
  Shape to;
  for (std::size_t k = 0; k < from.size(); ++k) {
    const bool named = axes.contains(static_cast<std::int64_t>(k));
    if (axes.empty() ? from[k] != 1 : !named) {
      to.push_back(from[k]);
    }
  }
  return to;
}

Shape expanded(const Builder& b, const Operator& op) {
  Shape to = b.input(op, 0).shape;
  const Ints axis = b.integers(op, 1);
  if (axis.size() != 1) {
    damaged("its axis is not one number");
  }
  to.insert(to.begin() + checked_axis(axis[0], to.size() + 1), 1);
  return to;
}

Shape fully_connected(const Builder& b, const Operator& op) {
  const Shape& x = b.input(op, 0).shape;
  const Tensor& w = b.input(op, 1);
  require_rank(w, 2);
  if (op.options.get<std::uint8_t>(2, 0) != 0 && !x.empty()) {
    Shape to = x;
    to.back() = w.shape[0];
    return to;
  }
  return {static_cast<std::int64_t>(count(x)) / w.shape[1], w.shape[0]};
}

Shape transposed(const Builder& b, const Operator& op) {
  const Shape& x = b.input(op, 0).shape;
  Shape to;
  for (const std::int64_t axis : b.integers(op, 1)) {
    to.push_back(x[static_cast<std::size_t>(checked_axis(axis, x.size()))]);
  }
  return to;
}

/// N, height, width, channels with blocks of height and width in the batch.
Extents blocks(const Builder& b, const Operator& op) {
  Shape to = b.input(op, 0).shape;
  const Ints sizes = b.integers(op, 1);
  const Ints edges = b.integers(op, 2);
  if (to.size() != 4 || sizes.size() != 2 || edges.size() != 4 || sizes[0] < 1 || sizes[1] < 1) {
    return std::nullopt;
  }
  for (std::size_t k = 0; k < 2; ++k) {
    const std::int64_t both = edges[2 * k] + edges[2 * k + 1];
    if (op.code == kSpaceToBatch) {
      to[0] *= sizes[k];
      to[k + 1] = (to[k + 1] + both) / sizes[k];
    } else {
      to[0] /= sizes[k];
      to[k + 1] = to[k + 1] * sizes[k] - both;
    }
  }
  return to;
}

}  // namespace

void resize_inputs(File& file, const std::map<std::string, Shape>& extents) {
  std::vector<std::string> names;
  for (Tensor& tensor : file.tensors) {
    tensor.dynamic = false;
  }
  names.reserve(file.inputs.size());
  for (const int i : file.inputs) {
    names.push_back(file.tensors[static_cast<std::size_t>(i)].name);
  }
  for (const auto& [name, shape] : extents) {
    const auto found = std::find(names.begin(), names.end(), name);
    const std::string close = closest_match(name, names);
    require(found != names.end(), "extents are given for '" + name + "', which is no input" +
                                      (close.empty() ? "" : "; did you mean '" + close + "'?"));
    const int i = file.inputs[static_cast<std::size_t>(found - names.begin())];
    Tensor& tensor = file.tensors[static_cast<std::size_t>(i)];
    require(shape.size() == tensor.shape.size(),
            std::to_string(shape.size()) + " extents are given for '" + name + "', which has " +
                std::to_string(tensor.shape.size()) + " axes");
    tensor.shape = shape;
  }
}

namespace {

Extents resized(const Builder& b, const Operator& op) {
  if (b.input(op, 0).dynamic) {
    return std::nullopt;
  }
  switch (op.code) {
    case kReshape:
      return reshaped(b, op);
    case kSqueeze:
      return squeezed(b, op);
    case kExpandDims:
      return expanded(b, op);
    case kFullyConnected:
      return fully_connected(b, op);
    case kTranspose:
      return transposed(b, op);
    case kSpaceToBatch:
    case kBatchToSpace:
      return blocks(b, op);
    default:
      return std::nullopt;
  }
}

}  // namespace

void resize_result(const Builder& b, const Operator& op, Tensor& result) {
  constexpr std::array kTold = {kFullyConnected, kReshape, kBatchToSpace, kSpaceToBatch,
                                kTranspose,      kSqueeze, kExpandDims};
  if (std::find(kTold.begin(), kTold.end(), op.code) == kTold.end()) {
    return;
  }
  const Extents shape = resized(b, op);
  result.dynamic = !shape;
  if (shape) {
    result.shape = *shape;
  }
}

}  // namespace halfstep::tflite
