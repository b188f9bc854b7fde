#include <algorithm>
#include <array>

#include "halfstep/outputs/qnn/families/families.h"

namespace halfstep::qnn {
namespace {

struct Row {
  std::string_view op;
  LowerNode lower;
};

constexpr std::array kRows = {
    Row{"Conv2d", lower_convolution},
    Row{"DepthWiseConv2d", lower_convolution},
    Row{"Conv3d", lower_convolution},
    Row{"TransposeConv2d", lower_transpose_convolution},
    Row{"TransposeConv3d", lower_transpose_convolution},
    Row{"FullyConnected", lower_product},
    Row{"MatMul", lower_product},
    Row{"ElementWiseAdd", lower_variadic},
    Row{"ElementWiseSubtract", lower_binary},
    Row{"ElementWiseMultiply", lower_multiply},
    Row{"ElementWiseDivide", lower_reciprocal_or_divide},
    Row{"ElementWiseMaximum", lower_variadic},
    Row{"ElementWiseMinimum", lower_variadic},
    Row{"ElementWisePower", lower_binary},
    Row{"ElementWiseMod", lower_binary},
    Row{"ElementWiseAnd", lower_binary},
    Row{"ElementWiseOr", lower_binary},
    Row{"ElementWiseXor", lower_binary},
    Row{"ElementWiseEqual", lower_binary},
    Row{"ElementWiseGreater", lower_binary},
    Row{"ElementWiseGreaterEqual", lower_binary},
    Row{"ElementWiseLess", lower_binary},
    Row{"ElementWiseLessEqual", lower_binary},
    Row{"ElementWiseSelect", lower_select},
    Row{"Relu", lower_unary},
    Row{"ReluMinMax", lower_relu_min_max},
    Row{"Prelu", lower_prelu},
    Row{"Sigmoid", lower_unary},
    Row{"Tanh", lower_unary},
    Row{"Gelu", lower_unary},
    Row{"Elu", lower_elu},
    Row{"HardSwish", lower_neuron},
    Row{"ElementWiseNeuron.Softplus", lower_neuron},
    Row{"ElementWiseNeuron.HardSigmoid", lower_neuron},
    Row{"ElementWiseAbs", lower_unary},
    Row{"ElementWiseNeg", lower_unary},
    Row{"ElementWiseExp", lower_unary},
    Row{"ElementWiseLog", lower_unary},
    Row{"ElementWiseSquareRoot", lower_unary},
    Row{"ElementWiseRsqrt", lower_unary},
    Row{"ElementWiseSin", lower_unary},
    Row{"ElementWiseCos", lower_unary},
    Row{"ElementWiseFloor", lower_unary},
    Row{"ElementWiseCeil", lower_unary},
    Row{"ElementWiseRound", lower_unary},
    Row{"ElementWiseSign", lower_unary},
    Row{"ElementWiseAtan", lower_unary},
    Row{"ElementWiseAsin", lower_unary},
    Row{"ElementWiseNot", lower_unary},
    Row{"Softmax", lower_softmax},
    Row{"LogSoftmax", lower_softmax},
    Row{"LayerNorm", lower_layer_norm},
    Row{"RmsNorm", lower_layer_norm},
    Row{"InstanceNorm", lower_channel_norm},
    Row{"GroupNorm", lower_channel_norm},
    Row{"Batchnorm", lower_batch_norm},
    Row{"L2Norm", lower_l2_norm},
    Row{"Lrn", lower_lrn},
    Row{"PoolMax2d", lower_pool},
    Row{"PoolAvg2d", lower_pool},
    Row{"PoolAvg3d", lower_pool},
    Row{"ReduceMean", lower_reduce},
    Row{"ReduceSum", lower_reduce},
    Row{"ReduceMax", lower_reduce},
    Row{"ReduceMin", lower_reduce},
    Row{"Argmax", lower_arg},
    Row{"Argmin", lower_arg},
    Row{"TopK", lower_top_k},
    Row{"CumulativeSum", lower_cumulative_sum},
    Row{"Reshape", lower_reshape},
    Row{"Transpose", lower_transpose},
    Row{"Concat", lower_concat},
    Row{"Split", lower_split},
    Row{"StridedSlice", lower_slice},
    Row{"Pad", lower_pad},
    Row{"Tile", lower_tile},
    Row{"ResizeNearestNeighbor", lower_resize},
    Row{"ResizeBilinear", lower_resize},
    Row{"Resize", lower_resize},
    Row{"DepthToSpace", lower_depth_space},
    Row{"SpaceToDepth", lower_depth_space},
    Row{"BatchToSpace", lower_batch_space},
    Row{"SpaceToBatch", lower_batch_space},
    Row{"ChannelShuffle", lower_channel_shuffle},
    Row{"GridSample", lower_grid_sample},
    Row{"RoiAlign", lower_roi_align},
    Row{"Gather", lower_gather},
    Row{"GatherElements", lower_gather_elements},
    Row{"GatherNd", lower_gather_nd},
    Row{"ScatterNd", lower_scatter},
    Row{"ScatterElements", lower_scatter},
    Row{"OneHot", lower_one_hot},
    Row{"Cast", lower_cast},
    Row{"Convert", lower_convert},
    Row{"Lstm.unrolled", lower_lstm},
    Row{"Gru.unrolled", lower_gru},
};

}  // namespace

LowerNode find_lowering(std::string_view op) noexcept {
  const auto* row = std::find_if(kRows.begin(), kRows.end(),
                                 [op](const Row& candidate) { return candidate.op == op; });
  return row == kRows.end() ? nullptr : row->lower;
}

}  // namespace halfstep::qnn
