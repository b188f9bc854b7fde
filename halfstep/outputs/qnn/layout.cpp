#include "halfstep/outputs/qnn/layout.h"

#include <algorithm>
#include <numeric>

namespace halfstep::qnn {
namespace {

/// A run of axes of the model's tensors, before and after a Reshape, of the same number of values.
struct AxisRun {
  std::vector<int> from{}, to{};
};

/// Axes of an extent other than 1.
std::vector<int> long_axes(const Shape& shape) {
  std::vector<int> axes;
  for (std::size_t i = 0; i < shape.size(); ++i) {
    if (shape[i] != 1) {
      axes.push_back(static_cast<int>(i));
    }
  }
  return axes;
}

std::vector<AxisRun> axis_runs(const Shape& from, const Shape& to) {
  const std::vector<int> before = long_axes(from), after = long_axes(to);
  std::vector<AxisRun> runs;
  std::size_t i = 0, j = 0;
  while (i < before.size() && j < after.size()) {
    AxisRun run{.from = {before[i]}, .to = {after[j]}};
    std::int64_t left = from[static_cast<std::size_t>(before[i++])];
    std::int64_t right = to[static_cast<std::size_t>(after[j++])];
    while (left != right) {
      if (left < right ? i == before.size() : j == after.size()) {
        return {};
      }
      if (left < right) {
        run.from.push_back(before[i]);
        left *= from[static_cast<std::size_t>(before[i++])];
      } else {
        run.to.push_back(after[j]);
        right *= to[static_cast<std::size_t>(after[j++])];
      }
    }
    runs.push_back(std::move(run));
  }
  return i == before.size() && j == after.size() ? runs : std::vector<AxisRun>();
}

/// The runs in the order in which their axes are stored; empty if those of one do not lie together.
std::optional<std::vector<int>> stored_order(const std::vector<int>& order,
                                             const std::vector<AxisRun>& runs) {
  std::vector<int> result;
  std::size_t at = 0;
  while (at < order.size()) {
    const auto run = std::find_if(runs.begin(), runs.end(), [&](const AxisRun& candidate) {
      return candidate.from.front() == order[at];
    });
    if (run == runs.end() || run->from.size() > order.size() - at ||
        !std::equal(run->from.begin(), run->from.end(),
                    order.begin() + static_cast<std::ptrdiff_t>(at))) {
      return std::nullopt;
    }
    at += run->from.size();
    result.insert(result.end(), run->to.begin(), run->to.end());
  }
  return result;
}

/// A layout with this order of long axes: a usual one if there is.
Layout layout_of_order(const std::vector<int>& order, const Shape& shape) {
  for (const Layout& usual : {identity_layout(shape.size()), channels_last(shape.size())}) {
    if (memory_order(shape, usual) == order) {
      return usual;
    }
  }
  Layout layout;
  for (std::size_t i = 0; i < shape.size(); ++i) {
    if (shape[i] == 1) {
      layout.push_back(static_cast<int>(i));
    }
  }
  layout.insert(layout.end(), order.begin(), order.end());
  return layout;
}

}  // namespace

Layout identity_layout(std::size_t rank) {
  Layout layout(rank);
  std::iota(layout.begin(), layout.end(), 0);
  return layout;
}

Layout channels_last(std::size_t rank) {
  if (rank < 3) {
    return identity_layout(rank);
  }
  Layout layout{0};
  if (rank == 3) {
    layout.push_back(-1);
  }
  for (std::size_t i = 2; i < rank; ++i) {
    layout.push_back(static_cast<int>(i));
  }
  layout.push_back(1);
  return layout;
}

bool is_channels_last(const Layout& layout) {
  Layout axes = layout;
  std::erase(axes, -1);
  Layout expected = channels_last(axes.size());
  std::erase(expected, -1);
  return axes.size() >= 3 && axes == expected;
}

bool is_identity(const Layout& layout) { return layout == identity_layout(layout.size()); }

bool travels(const Layout& layout) {
  Layout axes = layout;
  const bool inserted = std::erase(axes, -1) > 0;
  return is_channels_last(layout) || (inserted && is_identity(axes));
}

Shape stored_shape(const Shape& shape, const Layout& layout) {
  Shape stored;
  stored.reserve(layout.size());
  for (const int axis : layout) {
    stored.push_back(axis < 0 ? 1 : shape[static_cast<std::size_t>(axis)]);
  }
  return stored;
}

std::size_t stored_axis(const Layout& layout, std::int64_t axis) {
  const auto found = std::find(layout.begin(), layout.end(), static_cast<int>(axis));
  return static_cast<std::size_t>(found - layout.begin());
}

std::vector<int> memory_order(const Shape& shape, const Layout& layout) {
  std::vector<int> order;
  for (const int axis : layout) {
    if (axis >= 0 && shape[static_cast<std::size_t>(axis)] != 1) {
      order.push_back(axis);
    }
  }
  return order;
}

Layout broadcast_layout(const Layout& layout, std::size_t rank, std::size_t own) {
  const int missing = static_cast<int>(rank) - static_cast<int>(own);
  Layout result;
  result.reserve(layout.size());
  for (const int axis : layout) {
    result.push_back(axis < missing ? -1 : axis - missing);
  }
  return result;
}

std::optional<Layout> reshaped_layout(const Layout& layout, const Shape& from, const Shape& to) {
  const std::vector<int> order = memory_order(from, layout);
  const std::optional<std::vector<int>> moved = stored_order(order, axis_runs(from, to));
  return moved ? std::optional(layout_of_order(*moved, to)) : std::nullopt;
}

Layout transposed_layout(const Layout& layout, const std::vector<std::int64_t>& perm) {
  Layout result = layout;
  for (int& axis : result) {
    if (axis >= 0) {
      axis = static_cast<int>(std::find(perm.begin(), perm.end(), axis) - perm.begin());
    }
  }
  return result;
}

std::string layout_name(const Layout& layout) {
  if (layout == identity_layout(4)) {
    return "nchw";
  }
  if (layout == channels_last(4)) {
    return "nhwc";
  }
  std::string text;
  for (const int axis : layout) {
    text += axis < 0 ? "x" : std::to_string(axis);
  }
  return text.empty() ? "scalar" : text;
}

}  // namespace halfstep::qnn
