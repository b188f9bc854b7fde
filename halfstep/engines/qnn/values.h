#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "halfstep/engines/qnn/graph.h"

namespace halfstep::qnn {

/// Codes (or floats) of a tensor, row-major, in the type of its graph.
struct Value {
  DataType type = DataType::float32;
  std::vector<std::uint32_t> dims{};
  std::vector<std::byte> data{};
};

/// By tensor name.
using Values = std::map<std::string, Value>;

/// What can be written to and read from a prepared graph. Tensors carry no data.
struct Prepared {
  std::string name{};
  std::vector<Tensor> inputs{}, outputs{};
};

struct PrepareOptions {
  /// float32 tensors of the graph are computed as float16; without it the backend computes some
  /// graphs in true float32 and refuses others.
  bool float16 = true;
  /// Tensors between operators that execute gives back as well.
  std::vector<std::string> keep{};
};

}  // namespace halfstep::qnn
