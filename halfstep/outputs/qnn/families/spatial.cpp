// Operators on images: channels last.
#include <algorithm>
#include <utility>

#include "halfstep/outputs/qnn/families/families.h"

namespace halfstep::qnn {
namespace {

void add_spatial(const NodeContext& context, std::vector<std::string> inputs,
                 std::vector<Param> params) {
  context.graph.add(
      context.op, std::move(inputs),
      {context.graph.result(context.out(), channels_last(context.out_shape().size()))},
      std::move(params));
}

std::string image(const NodeContext& context) {
  return context.operand(0, channels_last(context.rank()));
}

std::string transformation(const NodeContext& context) {
  // Resize 10 has no such attribute and means asymmetric.
  const bool old = context.graph.model().opset() < 11;
  return context.attribute("coordinate_transformation_mode", old ? "asymmetric" : "half_pixel");
}

std::vector<Param> generic_resize(const NodeContext& context) {
  const std::string mode = context.attribute("mode", "nearest");
  const std::string way = transformation(context);
  const std::string nearest = context.attribute(
      "nearest_mode", context.graph.model().opset() < 11 ? "floor" : "round_prefer_floor");
  const auto place = [&context](const std::string& value, std::initializer_list<const char*> known,
                                const char* what) {
    const auto* found = std::find(known.begin(), known.end(), value);
    if (found == known.end()) {
      context.refuse(std::string("its ") + what + " is " + value + ", which QNN's Resize lacks");
    }
    return static_cast<std::uint32_t>(found - known.begin());
  };
  std::vector<Param> params{
      {.name = "interpolation_mode", .value = place(mode, {"nearest", "linear", "cubic"}, "mode")},
      {.name = "transformation_mode",
       .value = place(way, {"half_pixel", "pytorch_half_pixel", "align_corners", "asymmetric"},
                      "coordinate_transformation_mode")}};
  if (mode == "nearest") {
    params.push_back(
        {.name = "nearest_mode",
         .value = place(nearest, {"round_prefer_floor", "round_prefer_ceil", "floor", "ceil"},
                        "nearest_mode")});
  } else if (mode == "cubic") {
    const bool outside = context.attribute("exclude_outside", std::int64_t{0}) != 0;
    params.push_back({.name = "exclude_outside", .value = outside});
    params.push_back({.name = "cubic_coeff", .value = context.attribute("cubic_coeff_a", -0.75F)});
  }
  return params;
}

/// Is the nearest pixel always that of QNN's ResizeNearestNeighbor with half pixel centers, which
/// rounds halves up? Round_prefer_floor differs where a half occurs.
bool is_nearest_neighbor(const NodeContext& context) {
  const std::string rounding = context.attribute("nearest_mode", "round_prefer_floor");
  if (std::string(context.attribute("mode", "nearest")) != "nearest" ||
      transformation(context) != "half_pixel" || context.rank() != 4 ||
      (rounding != "round_prefer_ceil" && rounding != "round_prefer_floor") ||
      !same_type(context.operand_type(0), context.graph.type_of(context.out()))) {
    return false;
  }
  for (std::size_t axis = 2; rounding == "round_prefer_floor" && axis < 4; ++axis) {
    const std::int64_t from = context.in_shape(0)[axis], to = context.out_shape()[axis];
    for (std::int64_t i = 0; i < to; ++i) {
      if ((2 * i + 1) * from % (2 * to) == 0) {  // (i + 1/2) from / to is whole: a half
        return false;
      }
    }
  }
  return true;
}

}  // namespace

void lower_resize(const NodeContext& context) {
  const Shape &from = context.in_shape(0), &to = context.out_shape();
  if (from[0] != to[0] || from[1] != to[1]) {
    context.refuse("it changes batch or channels, and QNN resizes images");
  }
  if (context.op == "Resize" && is_nearest_neighbor(context)) {
    const Layout layout = channels_last(4);
    context.graph.add(
        "ResizeNearestNeighbor", {image(context)}, {context.graph.result(context.out(), layout)},
        {{.name = "align_corners", .value = false}, {.name = "half_pixel_centers", .value = true}});
    return;
  }
  if (context.op == "Resize") {
    add_spatial(context, {image(context)}, generic_resize(context));
    return;
  }
  const std::string way = transformation(context);
  if (way == "tf_crop_and_resize" || way == "half_pixel_symmetric") {
    context.refuse("its coordinate_transformation_mode is " + way + ", which QNN lacks");
  }
  const bool half = way == "half_pixel" || way == "pytorch_half_pixel";
  add_spatial(context, {image(context)},
              {{.name = "align_corners", .value = way == "align_corners"},
               {.name = "half_pixel_centers", .value = half}});
}

void lower_depth_space(const NodeContext& context) {
  const auto block = static_cast<std::uint32_t>(context.attribute("blocksize", std::int64_t{1}));
  const std::vector<std::uint32_t> blocks{block, block};
  std::vector<Param> params{list_param("block_size", blocks)};
  if (context.op == "DepthToSpace") {
    const bool crd = std::string(context.attribute("mode", "DCR")) == "CRD";
    params.push_back({.name = "mode", .value = crd ? 1U : 0U});
  }
  add_spatial(context, {image(context)}, std::move(params));
}

/// Nodes of the domain qti_aisw carry QNN's parameters as attributes.
void lower_batch_space(const NodeContext& context) {
  const bool apart = context.op == "SpaceToBatch";
  const char* borders = apart ? "pad_amount" : "crops";
  const auto as_unsigned = [&context](const char* name, std::size_t count) {
    std::vector<std::uint32_t> values;
    for (const std::int64_t value : context.list(name)) {
      values.push_back(static_cast<std::uint32_t>(std::max<std::int64_t>(0, value)));
    }
    values.resize(count, 0);
    return values;
  };
  add_spatial(context, {image(context)},
              {list_param("block_size", as_unsigned("block_size", 2)),
               list_param(borders, as_unsigned(borders, 4), {2, 2})});
}

void lower_channel_shuffle(const NodeContext& context) {
  const Layout layout = channels_last(context.rank());
  const std::int64_t groups = context.attribute("num_groups", std::int64_t{1});
  add_spatial(context, {image(context)},
              {{.name = "num_groups", .value = static_cast<std::uint32_t>(groups)},
               {.name = "axis", .value = static_cast<std::uint32_t>(layout.size() - 1)}});
}

void lower_grid_sample(const NodeContext& context) {
  const std::string mode = context.attribute("mode", "linear");
  const std::string border = context.attribute("padding_mode", "zeros");
  if (mode == "cubic" || mode == "bicubic") {
    context.refuse("its mode is cubic; QNN samples linear or nearest");
  }
  add_spatial(
      context, {image(context), context.operand(1)},
      {{.name = "align_corners", .value = context.attribute("align_corners", std::int64_t{0}) != 0},
       {.name = "mode", .value = mode == "nearest" ? 1U : 0U},
       {.name = "padding_mode",
        .value = border == "zeros"    ? 0U
                 : border == "border" ? 1U
                                      : 2U}});
}

void lower_roi_align(const NodeContext& context) {
  if (std::string(context.attribute("mode", "avg")) != "avg") {
    context.refuse("its mode is max, and QNN's takes the average");
  }
  const float scale = context.attribute("spatial_scale", 1.0F);
  Param ratio = list_param("img_size_ratio", std::vector<std::int32_t>{0, 0});
  auto& tensor = std::get<Tensor>(ratio.value);
  tensor.type = DataType::float32;
  const std::vector<float> ratios{1.0F / scale, 1.0F / scale};
  const auto bytes = std::as_bytes(std::span(ratios));
  tensor.data.assign(bytes.begin(), bytes.end());
  const auto samples =
      static_cast<std::int32_t>(context.attribute("sampling_ratio", std::int64_t{0}));
  const bool aligned = std::string(context.attribute("coordinate_transformation_mode",
                                                     "half_pixel")) == "half_pixel";
  add_spatial(context, {image(context), context.operand(1), context.operand(2)},
              {std::move(ratio),
               {.name = "num_samples_y", .value = samples},
               {.name = "num_samples_x", .value = samples},
               {.name = "aligned", .value = aligned}});
}

}  // namespace halfstep::qnn
