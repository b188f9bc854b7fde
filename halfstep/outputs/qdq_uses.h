#pragma once

#include <map>
#include <string>
#include <vector>

#include "halfstep/encodings/encoding_table.h"
#include "halfstep/model/graph_index.h"

namespace halfstep {

/// A consumer that reads its tensor with an encoding of its own.
struct EncodedUse {
  Consumer consumer{};
  std::string derived{};  ///< name of the tensor this consumer reads: `<tensor>_<node>`
  const Encoding* encoding = nullptr;
};
using EncodedUses = std::map<std::string, std::vector<EncodedUse>, std::less<>>;

/// The single uses of `table` by tensor, in node order. Uses by one node with equal encodings share
/// a derived name. To be called before other names are taken from `names`, so that the model and
/// the encodings file agree on derived names. Errors: invalid_argument for a node that does not
/// exist (naming the closest) or whose name is not unique, and for a slot it does not have.
[[nodiscard]] EncodedUses find_uses(const EncodingTable& table, const GraphIndex& index,
                                    NameMaker& names);

/// Is there such a tensor in the main graph?
[[nodiscard]] bool has_tensor(const GraphIndex& index, std::string_view tensor);
/// Errors: invalid_argument naming `tensor` and the closest name of the graph.
void require_tensor(const GraphIndex& index, const std::string& tensor);

}  // namespace halfstep
