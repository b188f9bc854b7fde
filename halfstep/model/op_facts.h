#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include <onnx/onnx_pb.h>

namespace halfstep {

/// Where the weight of a node is and which of its axes mean what. Axes are as stored: negative
/// ones count from the end, `swap_if` of the table is already applied.
struct WeightFacts {
  int slot = 1;
  std::int64_t channel_axis = 0;  ///< output channel: one scale each, per channel
  std::int64_t block_axis = 1;    ///< summed over: cut into blocks, per block
  std::int64_t channel_repeat =
      1;  ///< output channels that share a channel of the weight (ConvTranspose: group)
};

struct OpFacts {
  std::optional<WeightFacts> weight{};
  std::optional<WeightFacts> recurrence{};  ///< second weight: R of LSTM, GRU, RNN
  std::optional<WeightFacts> mirrored{};    ///< weight where the other input is constant: W x
  std::optional<int> bias_slot{};
  std::optional<int>
      data_inputs{};  ///< inputs from this one on are parameters; empty: all are data
};

/// Facts about one node, from data/ops.json, where operators of other domains than ai.onnx have
/// rows like "com.microsoft.FusedConv". An operator without a row has neither weight nor bias.
[[nodiscard]] OpFacts op_facts(const onnx::NodeProto& node);

/// The facts of the weight that `node` takes in input `slot`; empty if that is no weight.
[[nodiscard]] std::optional<WeightFacts> weight_facts(const onnx::NodeProto& node, int slot);
[[nodiscard]] bool is_weight_slot(const onnx::NodeProto& node, int slot);

/// "Conv", "com.microsoft.FusedConv".
[[nodiscard]] std::string qualified_op(const onnx::NodeProto& node);

/// Is the operator of the default domain (spelled "" or "ai.onnx")?
[[nodiscard]] bool is_onnx_domain(const onnx::NodeProto& node);

/// `axis` counted from the front. Errors: invalid_argument if it is outside [-rank, rank).
[[nodiscard]] std::int64_t normalized_axis(std::int64_t axis, std::size_t rank);

}  // namespace halfstep
