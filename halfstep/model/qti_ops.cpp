#include "halfstep/model/qti_ops.h"

#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include <onnx/defs/schema.h>
#include <onnx/defs/shape_inference.h>

namespace halfstep {
namespace {

constexpr int kVersion = 1;
constexpr int kImageRank = 4;

std::vector<std::int64_t> ints(const onnx::InferenceContext& context, const char* name) {
  const onnx::AttributeProto* attribute = context.getAttribute(name);
  return attribute == nullptr
             ? std::vector<std::int64_t>()
             : std::vector<std::int64_t>(attribute->ints().begin(), attribute->ints().end());
}

/// The input's shape; null if it is unknown or no image.
const onnx::TensorShapeProto* image_shape(const onnx::InferenceContext& context) {
  if (!onnx::hasInputShape(context, 0)) {
    return nullptr;
  }
  const onnx::TensorShapeProto& shape = onnx::getInputShape(context, 0);
  return shape.dim_size() == kImageRank ? &shape : nullptr;
}

void infer_shuffle(onnx::InferenceContext& context) {
  onnx::propagateShapeAndTypeFromFirstInput(context);
}

/// BatchToSpace multiplies rows and columns by the block and cuts margins off; SpaceToBatch adds
/// margins and divides.
void infer_blocks(onnx::InferenceContext& context, bool to_space) {
  onnx::propagateElemTypeFromInputToOutput(context, 0, 0);
  const onnx::TensorShapeProto* input = image_shape(context);
  if (input == nullptr) {
    return;
  }
  const std::vector<std::int64_t> block = ints(context, "block_size");
  std::vector<std::int64_t> margins = ints(context, to_space ? "crops" : "pad_amount");
  if (margins.empty()) {
    margins.resize(4, 0);
  }
  onnx::TensorShapeProto output = *input;
  const bool usable = block.size() == 2 && block[0] > 0 && block[1] > 0 && margins.size() == 4;
  const onnx::AttributeProto* layout = context.getAttribute("layout");
  const int rows = layout != nullptr && layout->s() == "NHWC" ? 1 : 2;
  const auto set = [&](int axis, auto&& change) {
    onnx::TensorShapeProto_Dimension& dim = *output.mutable_dim(axis);
    if (usable && dim.has_dim_value()) {
      dim.set_dim_value(change(dim.dim_value()));
    } else {
      dim.Clear();
    }
  };
  for (int i = 0; i < 2; ++i) {
    const std::size_t at = static_cast<std::size_t>(i);
    const auto change = [&](std::int64_t extent) {
      const std::int64_t margin = margins[2 * at] + margins[2 * at + 1];
      return to_space ? extent * block[at] - margin : (extent + margin) / block[at];
    };
    set(rows + i, change);
  }
  set(0, [&](std::int64_t extent) {
    return to_space ? extent / (block[0] * block[1]) : extent * block[0] * block[1];
  });
  onnx::updateOutputShape(context, 0, output);
}

onnx::OpSchema schema(const char* name, onnx::InferenceFunction infer) {
  onnx::OpSchema schema(name, __FILE__, __LINE__);
  schema.SetDomain(std::string(kQtiDomain))
      .SinceVersion(kVersion)
      .Input(0, "input", "", "T")
      .Input(1, "more", "", "Any", onnx::OpSchema::Variadic, false, 0)
      .Output(0, "output", "", "T")
      .TypeConstraint("T", onnx::OpSchema::all_tensor_types_ir4(), "")
      .TypeConstraint("Any", onnx::OpSchema::all_tensor_types_ir4(), "")
      .AllowUncheckedAttributes()
      .TypeAndShapeInferenceFunction(std::move(infer));
  return schema;
}

void add_all() {
  auto& domains = onnx::OpSchemaRegistry::DomainToVersionRange::Instance();
  if (!domains.Map().contains(std::string(kQtiDomain))) {
    domains.AddDomainToVersion(std::string(kQtiDomain), kVersion, kVersion);
  }
  onnx::RegisterSchema(schema("ChannelShuffle", infer_shuffle), 0, false);
  onnx::RegisterSchema(
      schema("BatchToSpace", [](onnx::InferenceContext& c) { infer_blocks(c, true); }), 0, false);
  onnx::RegisterSchema(
      schema("SpaceToBatch", [](onnx::InferenceContext& c) { infer_blocks(c, false); }), 0, false);
}

}  // namespace

void register_qti_ops() {
  static std::once_flag done;
  std::call_once(done, add_all);
}

}  // namespace halfstep
