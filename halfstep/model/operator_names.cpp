#include "halfstep/model/operator_names.h"

#include <vector>

#include <onnx/defs/schema.h>

#include "halfstep/support/error.h"

namespace halfstep {

void require_onnx_operator(const std::string& op_type, const std::string& where) {
  if (onnx::OpSchemaRegistry::Schema(op_type) != nullptr) {
    return;
  }
  std::vector<std::string> names;
  for (const onnx::OpSchema& schema : onnx::OpSchemaRegistry::get_all_schemas()) {
    if (schema.domain().empty()) {
      names.push_back(schema.Name());
    }
  }
  const std::string closest = closest_match(op_type, names);
  throw Error(ErrorKind::invalid_argument,
              where + ": ONNX has no operator \"" + op_type + '"' +
                  (closest.empty() ? std::string() : "; did you mean \"" + closest + "\"?"));
}

}  // namespace halfstep
