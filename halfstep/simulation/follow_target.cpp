#include "halfstep/simulation/follow_target.h"

#include <string>

#include "halfstep/simulation/follow.h"
#include "halfstep/simulation/target_ops.h"

namespace halfstep::simulation {

std::size_t follow_target(Model& model) {
  Following following(model);
  follow_products(following);
  follow_sums(following);
  follow_swishes(following);
  follow_floats(following);
  follow_conversions(following);
  follow_pools(following);
  follow_resizes(following);
  follow_norms(following);
  follow_softmaxes(following);
  following.editor.apply();
  if (following.followed > 0) {
    onnx::OperatorSetIdProto& opset = *model.proto().add_opset_import();
    opset.set_domain(std::string(kDomain));
    opset.set_version(1);
  }
  return following.followed;
}

}  // namespace halfstep::simulation
