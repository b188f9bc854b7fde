#pragma once

#include <cstddef>
#include <memory_resource>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "halfstep/engines/qnn/api.h"
#include "halfstep/engines/qnn/graph.h"

namespace halfstep::qnn {

/// The structures of the C API for a graph. They point into the graph (data of constants) and into
/// this object (everything else): both have to outlive their use.
class NativeGraph {
 public:
  /// `graph` has passed check_graph. Tensors named in `keep` become readable by the application.
  NativeGraph(const Graph& graph, std::span<const std::string> keep);

  [[nodiscard]] api::Tensor& tensor(const std::string& name) { return tensors_.at(name); }
  /// The operator as it is now: operands carry the ids that creating the tensors gave them.
  [[nodiscard]] api::OpConfig op(std::size_t index);
  /// The params of an operator that are tensors: they have to be created before the operator.
  [[nodiscard]] std::vector<api::Tensor*> tensor_params(std::size_t index);
  [[nodiscard]] const Graph& graph() const noexcept { return *graph_; }

  /// The same operator with all operands of a type that no kernel takes (64-bit integers) and no
  /// encodings: the refusal lists what would be taken.
  [[nodiscard]] api::OpConfig op_of_no_kernel(std::size_t index);

 private:
  [[nodiscard]] const char* text(std::string_view value);
  template <typename T>
  [[nodiscard]] T* array(std::size_t count);
  [[nodiscard]] api::Tensor make_tensor(const Tensor& tensor, std::string_view name);
  void fill(api::QuantizeParams& params, const Quantization& quantization);
  [[nodiscard]] api::ScaleOffset* scale_offsets(const Quantization& quantization);
  [[nodiscard]] api::Param make_param(const Op& op, const Param& param);

  const Graph* graph_;
  std::pmr::monotonic_buffer_resource memory_{};
  std::unordered_map<std::string, api::Tensor> tensors_{};
  std::vector<std::span<api::Param>> params_{};  ///< of each operator
};

}  // namespace halfstep::qnn
