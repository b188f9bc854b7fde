#include <algorithm>
#include <array>
#include <string>
#include <vector>

#include "halfstep/frontends/tflite/ops.h"

namespace halfstep::tflite {
namespace {

// Operands of UNIDIRECTIONAL_SEQUENCE_LSTM. Source: LiteRT's lstm_shared.h.
constexpr std::size_t kInput = 0, kInputWeights = 1, kRecurrentWeights = 5, kPeepholes = 9,
                      kBiases = 12, kProjection = 16, kLayerNorm = 20;
// The file's gates are input, forget, cell, output; ONNX's input, output, forget, cell.
constexpr std::array<std::size_t, 4> kGates = {0, 3, 1, 2};

void check_form(Builder& b, const Operator& op) {
  if (!b.has_input(op, kInputWeights)) {
    refuse("coupled input and forget gates are not read");
  }
  for (std::size_t i = 0; i < 3; ++i) {
    if (b.has_input(op, kPeepholes + i)) {
      refuse("peephole connections are not read");
    }
  }
  if (b.has_input(op, kProjection)) {
    refuse("a projection is not read");
  }
  for (std::size_t i = 0; i < 4; ++i) {
    if (b.has_input(op, kLayerNorm + i)) {
      refuse("layer normalization inside of an LSTM is not read");
    }
  }
  if (op.options.get<std::int8_t>(0, 4) != 4) {
    refuse("its activation is not Tanh");
  }
}

/// The weights of the four gates below each other: int8 with a scale per row if all are so.
std::string gates(Builder& b, const Operator& op, std::size_t first, const std::string& name) {
  const Tensor& one = b.input(op, first);
  require_rank(one, 2);
  const Shape shape{1, 4 * one.shape[0], one.shape[1]};
  std::vector<std::byte> codes;
  std::vector<float> scales;
  std::vector<float> values;
  bool integers = true;
  for (const std::size_t gate : kGates) {
    const Tensor& w = b.input(op, first + gate);
    if (w.shape != one.shape || !w.constant) {
      refuse("the weights of its gates differ in shape or are computed");
    }
    const bool symmetric = std::all_of(w.zero_point.begin(), w.zero_point.end(),
                                       [](std::int64_t zero) { return zero == 0; });
    const bool rows = w.scale.size() == 1 || w.axis == 0;
    integers = integers && w.type == Type::int8 && w.quantized() && symmetric && rows;
    if (integers) {
      codes.insert(codes.end(), w.data.begin(), w.data.end());
      for (std::int64_t row = 0; row < one.shape[0]; ++row) {
        scales.push_back(w.scale[w.scale.size() == 1 ? 0 : static_cast<std::size_t>(row)]);
      }
    }
    const std::vector<float> real = b.floats(op.inputs[first + gate]);
    values.insert(values.end(), real.begin(), real.end());
  }
  return integers ? b.weights(name, shape, std::move(codes), scales, 1)
                  : b.weights(name, shape, values);
}

std::string biases(Builder& b, const Operator& op, std::int64_t units, const std::string& name) {
  std::vector<float> values;
  for (const std::size_t gate : kGates) {
    const std::size_t slot = kBiases + gate;
    if (!b.has_input(op, slot)) {
      values.resize(values.size() + static_cast<std::size_t>(units), 0.0F);
      continue;
    }
    const Tensor& bias = b.input(op, slot);
    if (bias.shape != Shape{units} || !bias.constant) {
      refuse("the bias of a gate is computed or does not fit");
    }
    const std::vector<float> real = b.floats(op.inputs[slot]);
    values.insert(values.end(), real.begin(), real.end());
  }
  values.resize(2 * values.size(), 0.0F);  // the recurrent biases
  return b.weights(name, {1, 8 * units}, values);
}

void sequence_lstm(Builder& b, const Operator& op) {
  check_form(b, op);
  const Tensor& x = b.input(op, kInput);
  require_rank(x, 3);
  const std::string name = b.output(op).name;
  const std::string w = gates(b, op, kInputWeights, name + "_W");
  const std::string r = gates(b, op, kRecurrentWeights, name + "_R");
  const std::int64_t units = b.input(op, kRecurrentWeights).shape[0];
  const std::string bias = biases(b, op, units, name + "_B");
  const bool time_major = op.options.get<std::uint8_t>(3, 0) != 0;
  std::string value = b.read(op, kInput);
  if (!time_major) {
    value = b.transpose(value, {1, 0, 2});
  }
  b.note("tflite/state", name,
         "the state of the LSTM is 0 at the start of every run; TFLite keeps it from run to run");
  const NodeRef lstm = b.node("LSTM", {value, w, r, bias}).set("hidden_size", units);
  // [T, 1, B, H]
  const std::string flat = b.node("Squeeze", {lstm.out(), b.constant({1})}).out();
  b.finish(op, 0, time_major ? flat : b.transpose(flat, {1, 0, 2}));
}

constexpr std::array kRows = {OpRow{.code = 44, .read = sequence_lstm}};

}  // namespace

std::span<const OpRow> recurrent_ops() { return kRows; }

}  // namespace halfstep::tflite
