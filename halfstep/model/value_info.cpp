#include "halfstep/model/value_info.h"

#include <algorithm>

namespace halfstep {

void forget_types(onnx::GraphProto& graph, const std::set<std::string>& tensors) {
  auto& known = *graph.mutable_value_info();
  known.erase(std::remove_if(known.begin(), known.end(),
                             [&tensors](const onnx::ValueInfoProto& value) {
                               return tensors.contains(value.name());
                             }),
              known.end());
}

}  // namespace halfstep
