#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "halfstep/engines/qnn/graph.h"
#include "halfstep/model/graph_index.h"
#include "halfstep/model/node_keys.h"
#include "halfstep/outputs/qnn/lower.h"
#include "halfstep/outputs/qnn/tensor_type.h"

namespace halfstep::qnn {

/// A parameter that is a list of numbers.
[[nodiscard]] Param list_param(std::string name, std::span<const std::uint32_t> values,
                               std::vector<std::uint32_t> dims = {});
[[nodiscard]] Param list_param(std::string name, std::span<const std::int32_t> values,
                               std::vector<std::uint32_t> dims = {});

/// Grows the QNN graph. Knows in which layouts every tensor of the model is there, and brings it
/// into others: by nothing where the bytes are the same, by a Reshape where only the extents
/// differ, else by a Transpose, once for all readers.
class GraphBuilder {
 public:
  explicit GraphBuilder(const LowerRequest& request);

  [[nodiscard]] const GraphIndex& index() const noexcept { return index_; }
  [[nodiscard]] const Model& model() const noexcept { return request_.model; }
  /// Errors: unsupported if not every extent is known, or one is 0.
  [[nodiscard]] const Shape& shape(const std::string& tensor);
  /// Extents that shape inference does not find, where the operator says them.
  void assume_shape(const std::string& tensor, const Shape& extents) {
    if (!index_.type(tensor).shape) {
      shapes_.emplace(tensor, extents);
    }
  }
  [[nodiscard]] bool is_constant(const std::string& tensor) const {
    return index_.constant(tensor) != nullptr;
  }

  // ---- what is there ----------------------------------------------------------------------------

  /// What an operator that does not care about the order of axes should take: the layout that the
  /// tensor was made in if it travels, else as the model has it.
  [[nodiscard]] Layout preferred(const std::string& tensor);
  /// The layout in which the tensor was made.
  [[nodiscard]] Layout made_in(const std::string& tensor);
  /// The tensor in this layout. `tensor` is no constant.
  [[nodiscard]] std::string in_layout(const std::string& tensor, const Layout& layout);
  /// The constant that a node reads in a slot, in this layout and in the encoding of this use.
  [[nodiscard]] std::string constant(int node, int slot, const Layout& layout);
  /// The encoding of a constant in this use, null if it has none.
  [[nodiscard]] const Encoding* encoding_of(int node, int slot);
  /// Is the tensor inside a super group?
  [[nodiscard]] bool is_inner(const std::string& tensor) const {
    return request_.inner.contains(tensor);
  }
  /// The type of an activation: of its encoding, inside a super group that of its result.
  [[nodiscard]] TensorType type_of(const std::string& tensor);

  // ---- what is made -----------------------------------------------------------------------------

  /// Operators from here on belong to this node.
  void begin(int node);
  /// Another node is computed by this one, too, and gets no operator.
  void absorb(int node) { absorbed_.insert(node); }
  [[nodiscard]] bool absorbed(int node) const { return absorbed_.contains(node); }
  /// The tensor that the node writes.
  [[nodiscard]] std::string result(const std::string& tensor, const Layout& layout);
  /// `tensor` has the bytes of `source`, which must be there in `layout_of_source`.
  void alias(const std::string& tensor, const std::string& source, const Layout& layout_of_source,
             const Layout& layout);
  /// A tensor between two operators of one node.
  [[nodiscard]] std::string temporary(const std::string& base, const TensorType& type,
                                      const Shape& dims);
  /// A constant that the model does not have. `codes` as stored.
  [[nodiscard]] std::string add_constant(const std::string& base, const TensorType& type,
                                         const Shape& dims, std::vector<std::byte> codes);
  /// `count` times the same number, exact in the given type: its scale is chosen for it.
  [[nodiscard]] std::string add_number(const std::string& base, double value, DataType type,
                                       const Shape& dims);
  /// The first operator of a node without `suffix` has the node's name.
  void add(std::string type, std::vector<std::string> inputs, std::vector<std::string> outputs,
           std::vector<Param> params = {}, std::string_view suffix = {});
  [[nodiscard]] const Tensor& tensor(const std::string& name) const {
    return graph_.tensors[by_name_.at(name)];
  }

  /// Brings graph outputs into the layout of the model, and leaves out what nobody reads.
  [[nodiscard]] LoweredGraph finish();

 private:
  struct Form {
    std::string name{};
    Layout layout{};
  };

  void add_inputs();
  [[nodiscard]] const Encoding* given_encoding(int node, int slot) const;
  void number_groups();
  [[nodiscard]] std::vector<Form>& forms(const std::string& tensor);
  [[nodiscard]] std::string name_for(const std::string& tensor, const Layout& layout);
  std::string add_tensor(Tensor tensor);
  std::string make(const std::string& tensor, const Layout& layout);
  [[nodiscard]] std::string convert(const std::string& tensor, const Form& from, const Layout& to);
  std::string reshape(const std::string& from, const std::string& to);
  void remove_unread();
  void sort_tensors(const std::unordered_set<std::string>& named);
  [[nodiscard]] std::map<std::string, TensorPlace> places() const;

  const LowerRequest& request_;
  GraphIndex index_;
  NodeKeys keys_;
  NameMaker names_;
  Graph graph_{};
  std::vector<int> group_of_op_{};
  std::unordered_map<std::string, std::size_t> by_name_{};
  std::unordered_map<std::string, Shape> shapes_{};
  std::unordered_map<std::string, std::vector<Form>> forms_{};
  std::map<std::string, std::string> constants_{};  ///< by tensor, use and layout
  std::vector<int> group_of_node_{};
  std::unordered_set<int> absorbed_{};
  std::set<std::string> unpacked_{};
  int node_ = -1;
  bool named_ = false;  ///< has the node's name been given to an operator?
};

}  // namespace halfstep::qnn
