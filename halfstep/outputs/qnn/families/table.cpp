#include <algorithm>
#include <array>

#include "halfstep/outputs/qnn/families/families.h"

namespace halfstep::qnn {
namespace {

struct Row {
  std::string_view op;
  LowerNode lower;
};

constexpr Row row(std::string_view op, LowerNode lower) { return {.op = op, .lower = lower}; }

constexpr std::array kRows = {
    row("Conv2d", lower_convolution),
    row("DepthWiseConv2d", lower_convolution),
    row("Conv3d", lower_convolution),
    row("TransposeConv2d", lower_transpose_convolution),
    row("TransposeConv3d", lower_transpose_convolution),
    row("FullyConnected", lower_product),
    row("MatMul", lower_product),
    row("ElementWiseAdd", lower_variadic),
    row("ElementWiseSubtract", lower_binary),
    row("ElementWiseMultiply", lower_multiply),
    row("ElementWiseDivide", lower_reciprocal_or_divide),
    row("ElementWiseMaximum", lower_variadic),
    row("ElementWiseMinimum", lower_variadic),
    row("ElementWisePower", lower_binary),
    row("ElementWiseMod", lower_binary),
    row("ElementWiseAnd", lower_binary),
    row("ElementWiseOr", lower_binary),
    row("ElementWiseXor", lower_binary),
    row("ElementWiseEqual", lower_binary),
    row("ElementWiseGreater", lower_binary),
    row("ElementWiseGreaterEqual", lower_binary),
    row("ElementWiseLess", lower_binary),
    row("ElementWiseLessEqual", lower_binary),
    row("ElementWiseSelect", lower_select),
    row("Relu", lower_unary),
    row("ReluMinMax", lower_relu_min_max),
    row("Prelu", lower_prelu),
    row("Sigmoid", lower_unary),
    row("Tanh", lower_unary),
    row("Gelu", lower_unary),
    row("Elu", lower_elu),
    row("HardSwish", lower_neuron),
    row("ElementWiseNeuron.Softplus", lower_neuron),
    row("ElementWiseNeuron.HardSigmoid", lower_neuron),
    row("ElementWiseAbs", lower_unary),
    row("ElementWiseNeg", lower_unary),
    row("ElementWiseExp", lower_unary),
    row("ElementWiseLog", lower_unary),
    row("ElementWiseSquareRoot", lower_unary),
    row("ElementWiseRsqrt", lower_unary),
    row("ElementWiseSin", lower_unary),
    row("ElementWiseCos", lower_unary),
    row("ElementWiseFloor", lower_unary),
    row("ElementWiseCeil", lower_unary),
    row("ElementWiseRound", lower_unary),
    row("ElementWiseSign", lower_unary),
    row("ElementWiseAtan", lower_unary),
    row("ElementWiseAsin", lower_unary),
    row("ElementWiseNot", lower_unary),
    row("Softmax", lower_softmax),
    row("LogSoftmax", lower_softmax),
    row("LayerNorm", lower_layer_norm),
    row("RmsNorm", lower_layer_norm),
    row("InstanceNorm", lower_channel_norm),
    row("GroupNorm", lower_channel_norm),
    row("Batchnorm", lower_batch_norm),
    row("L2Norm", lower_l2_norm),
    row("Lrn", lower_lrn),
    row("PoolMax2d", lower_pool),
    row("PoolAvg2d", lower_pool),
    row("PoolAvg3d", lower_pool),
    row("ReduceMean", lower_reduce),
    row("ReduceSum", lower_reduce),
    row("ReduceMax", lower_reduce),
    row("ReduceMin", lower_reduce),
    row("Argmax", lower_arg),
    row("Argmin", lower_arg),
    row("TopK", lower_top_k),
    row("CumulativeSum", lower_cumulative_sum),
    row("Reshape", lower_reshape),
    row("Transpose", lower_transpose),
    row("Concat", lower_concat),
    row("Split", lower_split),
    row("StridedSlice", lower_slice),
    row("Pad", lower_pad),
    row("Tile", lower_tile),
    row("ResizeNearestNeighbor", lower_resize),
    row("ResizeBilinear", lower_resize),
    row("Resize", lower_resize),
    row("DepthToSpace", lower_depth_space),
    row("SpaceToDepth", lower_depth_space),
    row("BatchToSpace", lower_batch_space),
    row("SpaceToBatch", lower_batch_space),
    row("ChannelShuffle", lower_channel_shuffle),
    row("GridSample", lower_grid_sample),
    row("RoiAlign", lower_roi_align),
    row("Gather", lower_gather),
    row("GatherElements", lower_gather_elements),
    row("GatherNd", lower_gather_nd),
    row("ScatterNd", lower_scatter),
    row("ScatterElements", lower_scatter),
    row("OneHot", lower_one_hot),
    row("Cast", lower_cast),
    row("Convert", lower_convert),
    row("Lstm.unrolled", lower_lstm),
    row("Gru.unrolled", lower_gru),
    row("Rnn.unrolled", lower_rnn),
};

}  // namespace

LowerNode find_lowering(std::string_view op) noexcept {
  const auto* found = std::find_if(kRows.begin(), kRows.end(),
                                   [op](const Row& candidate) { return candidate.op == op; });
  return found == kRows.end() ? nullptr : found->lower;
}

}  // namespace halfstep::qnn
