#pragma once

#include "halfstep/outputs/qnn/node_context.h"

/// The lowerings, a file for each family of operators.
namespace halfstep::qnn {

// convolution.cpp: Conv2d, DepthWiseConv2d, Conv3d, TransposeConv2d, TransposeConv3d
void lower_convolution(const NodeContext& context);
void lower_transpose_convolution(const NodeContext& context);

// matrix.cpp: FullyConnected, MatMul
void lower_product(const NodeContext& context);

// element_wise.cpp: operators of one or more inputs that broadcast
void lower_unary(const NodeContext& context);
void lower_binary(const NodeContext& context);
void lower_variadic(const NodeContext& context);
void lower_reciprocal_or_divide(const NodeContext& context);
void lower_multiply(const NodeContext& context);
void lower_select(const NodeContext& context);

// activation.cpp
void lower_neuron(const NodeContext& context);
void lower_relu_min_max(const NodeContext& context);
void lower_elu(const NodeContext& context);
void lower_prelu(const NodeContext& context);
void lower_softmax(const NodeContext& context);

// pool_reduce.cpp
void lower_pool(const NodeContext& context);
void lower_reduce(const NodeContext& context);
void lower_arg(const NodeContext& context);
void lower_top_k(const NodeContext& context);
void lower_cumulative_sum(const NodeContext& context);

// norm.cpp
void lower_layer_norm(const NodeContext& context);
void lower_channel_norm(const NodeContext& context);
void lower_batch_norm(const NodeContext& context);
void lower_l2_norm(const NodeContext& context);
void lower_lrn(const NodeContext& context);

// movement.cpp: Reshape and its kin, Transpose, Concat, Split, StridedSlice, Pad, Tile
void lower_reshape(const NodeContext& context);
void lower_transpose(const NodeContext& context);
void lower_concat(const NodeContext& context);
void lower_split(const NodeContext& context);
void lower_slice(const NodeContext& context);
void lower_pad(const NodeContext& context);
void lower_tile(const NodeContext& context);

// spatial.cpp: Resize*, DepthToSpace, SpaceToDepth, BatchToSpace, SpaceToBatch, ChannelShuffle, ...
void lower_resize(const NodeContext& context);
void lower_depth_space(const NodeContext& context);
void lower_batch_space(const NodeContext& context);
void lower_channel_shuffle(const NodeContext& context);
void lower_grid_sample(const NodeContext& context);
void lower_roi_align(const NodeContext& context);

// gather_scatter.cpp
void lower_gather(const NodeContext& context);
void lower_gather_elements(const NodeContext& context);
void lower_gather_nd(const NodeContext& context);
void lower_scatter(const NodeContext& context);
void lower_one_hot(const NodeContext& context);

// convert.cpp: between encodings and types
void lower_convert(const NodeContext& context);
void lower_cast(const NodeContext& context);

// recurrent.cpp: LSTM, GRU
void lower_lstm(const NodeContext& context);
void lower_rnn(const NodeContext& context);
void lower_gru(const NodeContext& context);

}  // namespace halfstep::qnn
