// LSTM and GRU.
#include "halfstep/outputs/qnn/families/families.h"

namespace halfstep::qnn {

void lower_lstm(const NodeContext& context) {
  context.refuse(
      "recurrent layers are not written as QNN graphs yet; the Q/DQ model (-o x.onnx) runs them");
}

void lower_gru(const NodeContext& context) { lower_lstm(context); }

}  // namespace halfstep::qnn
