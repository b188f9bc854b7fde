#pragma once

#include <string_view>

/// Names of the operators that `follow_target` puts into a model and an engine has to run. Domain
/// halfstep.target, version 1, float32 in and out.
namespace halfstep::simulation {

inline constexpr std::string_view kDomain = "halfstep.target";

/// Requantize(sums, factor?) -> sums: real values of sums of products become the values of the
/// output's codes. Attributes: `scale` (float, of the first operand), `scales` (floats, of the
/// second: one, or one a channel; a count is worth the exact product), `axis` (of the channels,
/// from the front), `step` (float, of the output). `factor`: second output of SecondOperand,
/// broadcast over the last but one axis. `highest` (float): above 0 the sums are those that an
/// activation reads, see activation_input; 0: they become codes, see Requantizer. `vector_unit` (1
/// or 0): whose sums, with `zero_point` (float, of unsigned codes).
inline constexpr std::string_view kRequantize = "Requantize";
inline constexpr std::string_view kScale = "scale";
inline constexpr std::string_view kScales = "scales";
inline constexpr std::string_view kAxis = "axis";
inline constexpr std::string_view kStep = "step";
inline constexpr std::string_view kHighest = "highest";
inline constexpr std::string_view kVectorUnit = "vector_unit";
inline constexpr std::string_view kZeroPoint = "zero_point";

/// Average(means) -> means: means of a pool's windows become the values of codes. Attributes:
/// `scale` and `step` (float, of its input and output), `count` (float, how many a window has),
/// `zero_point` (float, of unsigned output codes), `way` (int, of PoolWay).
inline constexpr std::string_view kAverage = "Average";
inline constexpr std::string_view kCount = "count";
inline constexpr std::string_view kWay = "way";

/// SecondOperand(matrices [..., rows, columns]) -> matrices, factor [..., 1, columns]. Attribute:
/// `step` (float), of the codes.
inline constexpr std::string_view kSecondOperand = "SecondOperand";

/// LayerNorm(x, gamma, beta?) -> y and RmsNorm over the last axis, InstanceNorm over each channel
/// (axis 1) of each image. Attributes: `step` and `zero_point` (float, of y), `scale` (float, of
/// x), `gamma_scale` (float, of the codes of gamma), `epsilon` (float).
inline constexpr std::string_view kLayerNorm = "LayerNorm";
inline constexpr std::string_view kRmsNorm = "RmsNorm";
inline constexpr std::string_view kInstanceNorm = "InstanceNorm";
inline constexpr std::string_view kGammaScale = "gamma_scale";
inline constexpr std::string_view kEpsilon = "epsilon";

/// Softmax(x) -> y and LogSoftmax along one axis. Attributes: `scale` (float, of x), `step` (float,
/// of y), `axis` (may be negative: from the back).
inline constexpr std::string_view kSoftmax = "Softmax";
inline constexpr std::string_view kLogSoftmax = "LogSoftmax";

}  // namespace halfstep::simulation
