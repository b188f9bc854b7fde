#pragma once

#include <string_view>

namespace halfstep {

/// The domain of operators that qairt-converter knows beyond those of ONNX.
inline constexpr std::string_view kQtiDomain = "qti_aisw";

/// Tells the ONNX library what ChannelShuffle (axis, num_groups), BatchToSpace (block_size, crops)
/// and SpaceToBatch (block_size, pad_amount) of that domain write, so that the types and shapes
/// behind them are known; attributes that are missing leave the shape open. Images are
/// [N, C, H, W], or with the attribute layout = NHWC [N, H, W, C]. May be called often.
/// Source: QNN operator definitions.
void register_qti_ops();

}  // namespace halfstep
