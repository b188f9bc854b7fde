#pragma once

#include <string>
#include <string_view>

#include <onnx/onnx_pb.h>

namespace halfstep {

/// Keys of node metadata that halfstep writes.
inline constexpr std::string_view kOpKey = "halfstep.op";        ///< what an added node stands for
inline constexpr std::string_view kGroupKey = "halfstep.group";  ///< nodes that run as one share it
inline constexpr std::string_view kGroupOpKey = "halfstep.group_op";  ///< what the group computes

/// Of a QuantizeLinear or DequantizeLinear: the type that its codes are, where ONNX stores them in
/// a wider one ("uint6" in uint8).
inline constexpr std::string_view kDtypeKey = "halfstep.dtype";

/// Value of kOpKey: an Identity that goes from one encoding to another.
inline constexpr std::string_view kConvertMark = "Convert";
/// Value of kOpKey: a QuantizeLinear inside a super group, for an engine that asks for it; no
/// encoding of the model.
inline constexpr std::string_view kInnerPairMark = "InnerPair";

/// Key of nodes that only make ONNX round as the source of the model does; targets do without (see
/// remove_source_arithmetic). Its value says what stands for the output of the node then:
inline constexpr std::string_view kArithmeticKey = "halfstep.arithmetic";
inline constexpr std::string_view kArithmeticResult = "result";    ///< input 0, under its own name
inline constexpr std::string_view kArithmeticOperand = "operand";  ///< input 0
inline constexpr std::string_view kArithmeticAside = "aside";      ///< nothing reads it then

/// Value of kOpKey: a Clip in front of a QuantizeLinear, which keeps values where the codes of a
/// narrower type (kDtypeKey) end.
inline constexpr std::string_view kSaturateMark = "Saturate";

/// Sets one entry, in place of an older one of that key.
void set_metadata(onnx::NodeProto& node, std::string_view key, std::string_view value);

/// Null if there is no such entry.
[[nodiscard]] const std::string* find_metadata(const onnx::NodeProto& node, std::string_view key);

}  // namespace halfstep
