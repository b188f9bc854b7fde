#include "halfstep/frontends/tflite/file.h"

#include <algorithm>
#include <cmath>
#include <set>
#include <utility>

#include <onnx/onnx_pb.h>

#include "halfstep/frontends/tflite/sparse.h"
#include "halfstep/support/error.h"

namespace halfstep::tflite {
namespace {

// Field numbers, by table. Source: schema.fbs of LiteRT.
namespace model_field {
constexpr int kOperatorCodes = 1, kSubgraphs = 2, kDescription = 3, kBuffers = 4, kSignatures = 7;
}
namespace graph_field {
constexpr int kTensors = 0, kInputs = 1, kOutputs = 2, kOperators = 3;
}
namespace tensor_field {
constexpr int kShape = 0, kType = 1, kBuffer = 2, kName = 3, kQuantization = 4, kVariable = 5,
              kSparsity = 6, kSignature = 7;
}
namespace quantization_field {
constexpr int kScale = 2, kZeroPoint = 3, kDetailsType = 4, kAxis = 6;
}

std::string label(const Tensor& tensor) { return "tensor '" + tensor.name + "'"; }

[[noreturn]] void damaged_tensor(const Tensor& tensor, const std::string& what) {
  damaged(label(tensor) + ": " + what);
}

bool fits(std::int64_t zero_point, Type type) {
  const bool is_unsigned = type == Type::uint4 || type == Type::uint8 || type == Type::uint16;
  const int width = std::min(bits(type), 32);
  const std::int64_t low = is_unsigned ? 0 : -(std::int64_t{1} << (width - 1));
  return zero_point >= low && zero_point < low + (std::int64_t{1} << width);
}

Bytes buffer_content(Bytes file, const Table& buffer) {
  const auto offset = buffer.get<std::uint64_t>(1, 0);
  const auto size = buffer.get<std::uint64_t>(2, 0);
  if (offset <= 1) {
    return buffer.vector(0).bytes();
  }
  if (offset > file.size() || size > file.size() - offset) {
    damaged("a buffer lies outside of the file");
  }
  return file.subspan(offset, size);
}

void read_quantization(const Table& table, Tensor& tensor) {
  // 0: none or scales and zero points, 1: a custom one, 2: blocks.
  const auto details = table.get<std::uint8_t>(quantization_field::kDetailsType, 0);
  if (details != 0) {
    throw Error(ErrorKind::unsupported, label(tensor) + ": is quantized " +
                                            (details == 2 ? "in blocks" : "in a custom way") +
                                            "; only scales per tensor or per axis are read");
  }
  tensor.scale = table.vector(quantization_field::kScale).values<float>();
  tensor.zero_point = table.vector(quantization_field::kZeroPoint).values<std::int64_t>();
  tensor.axis = table.get<std::int32_t>(quantization_field::kAxis, 0);
  // Converters write an empty or a zero scale for integers that are just integers.
  if (tensor.scale.size() == 1 && tensor.scale[0] == 0.0F) {
    tensor.scale.clear();
  }
  if (tensor.scale.empty() || !is_integer(tensor.type)) {
    tensor.scale.clear();
    tensor.zero_point.clear();
    return;
  }
  if (tensor.zero_point.empty()) {
    tensor.zero_point.assign(tensor.scale.size(), 0);
  }
  if (tensor.zero_point.size() == 1) {
    tensor.zero_point.assign(tensor.scale.size(), tensor.zero_point[0]);
  }
  if (tensor.zero_point.size() != tensor.scale.size()) {
    damaged_tensor(tensor, "it has " + std::to_string(tensor.scale.size()) + " scales and " +
                               std::to_string(tensor.zero_point.size()) + " zero points");
  }
  for (const std::int64_t zero : tensor.zero_point) {
    if (!fits(zero, tensor.type)) {
      damaged_tensor(tensor, "its zero point " + std::to_string(zero) + " is none of its type");
    }
  }
  for (const float scale : tensor.scale) {
    if (!std::isfinite(scale) || scale <= 0.0F) {
      damaged_tensor(tensor, "a scale is " + std::to_string(scale) + ", expected > 0");
    }
  }
  if (tensor.scale.size() > 1 &&
      (tensor.axis < 0 || tensor.axis >= static_cast<std::int64_t>(tensor.shape.size()) ||
       tensor.shape[static_cast<std::size_t>(tensor.axis)] !=
           static_cast<std::int64_t>(tensor.scale.size()))) {
    damaged_tensor(tensor, "its " + std::to_string(tensor.scale.size()) +
                               " scales do not fit axis " + std::to_string(tensor.axis));
  }
}

void check_content(Tensor& tensor) {
  const std::uint64_t expected =
      (count(tensor.shape) * static_cast<std::uint64_t>(bits(tensor.type)) + 7) / 8;
  if (tensor.type == Type::string || bits(tensor.type) == 0) {
    throw Error(ErrorKind::unsupported,
                label(tensor) + ": is a constant of strings or of another type without numbers");
  }
  if (tensor.data.size() != expected) {
    damaged_tensor(tensor, "it holds " + std::to_string(tensor.data.size()) + " bytes, expected " +
                               std::to_string(expected));
  }
}

Tensor read_tensor(Bytes file, const Table& table, const Vector& buffers) {
  Tensor tensor;
  tensor.name = table.text(tensor_field::kName);
  for (const auto extent : table.vector(tensor_field::kShape).values<std::int32_t>()) {
    tensor.shape.push_back(std::max(extent, -1));
    tensor.dynamic = tensor.dynamic || extent < 0;
  }
  for (const auto extent : table.vector(tensor_field::kSignature).values<std::int32_t>()) {
    tensor.dynamic = tensor.dynamic || extent < 0;
    tensor.open = tensor.open || extent < 0;
  }
  tensor.type = static_cast<Type>(table.get<std::int8_t>(tensor_field::kType, 0));
  tensor.variable = table.get<std::uint8_t>(tensor_field::kVariable, 0) != 0;
  const Table quantization = table.table(tensor_field::kQuantization);
  read_quantization(quantization, tensor);
  const auto buffer = table.get<std::uint32_t>(tensor_field::kBuffer, 0);
  if (buffer != 0) {
    tensor.data = buffer_content(file, buffers.table(buffer));
    tensor.constant = !tensor.data.empty() && !tensor.variable;
  }
  if (table.has(tensor_field::kSparsity) && tensor.constant) {
    tensor.sparse = true;
    tensor.sparsity = table.table(tensor_field::kSparsity);
  } else if (tensor.constant && tensor.type != Type::string && bits(tensor.type) != 0) {
    check_content(tensor);
  }
  return tensor;
}

// Names of a file need not be unique, nor there at all; ONNX asks for both.
void name_tensors(File& file) {
  std::set<std::string> used;
  for (const Tensor& tensor : file.tensors) {
    used.insert(tensor.name);
  }
  std::set<std::string> taken;
  for (std::size_t i = 0; i < file.tensors.size(); ++i) {
    std::string& name = file.tensors[i].name;
    if (!name.empty() && taken.insert(name).second) {
      continue;
    }
    const std::string base = name.empty() ? "tensor_" + std::to_string(i) : name;
    std::string candidate = name.empty() ? base : base + "_" + std::to_string(i);
    while (used.contains(candidate)) {
      candidate += '_';
    }
    used.insert(candidate);
    taken.insert(candidate);
    name = candidate;
  }
}

std::vector<int> tensor_numbers(const Vector& vector, std::size_t tensors, bool optional) {
  const std::vector<int> numbers = vector.values<std::int32_t>();
  for (const int number : numbers) {
    if (number == -1 && optional) {
      continue;
    }
    if (number < 0 || static_cast<std::size_t>(number) >= tensors) {
      damaged("tensor " + std::to_string(number) + " is named, but there are only " +
              std::to_string(tensors));
    }
  }
  return numbers;
}

Operator read_operator(const Table& table, const Vector& codes, std::size_t index,
                       std::size_t tensors) {
  Operator result;
  result.index = index;
  const Table code = codes.table(table.get<std::uint32_t>(0, 0));
  // Older files say the number in 8 bits, newer ones in 32; the larger one counts.
  result.code = std::max<int>(code.get<std::int8_t>(0, 0), code.get<std::int32_t>(3, 0));
  result.custom = code.text(1);
  result.inputs = tensor_numbers(table.vector(1), tensors, true);
  result.outputs = tensor_numbers(table.vector(2), tensors, false);
  result.options = table.has(4) ? table.table(4) : table.table(12);
  result.custom_options = table.vector(5).bytes();
  return result;
}

std::vector<SignatureName> signature_names(const Vector& maps, std::size_t tensors) {
  std::vector<SignatureName> names;
  for (std::size_t i = 0; i < maps.size(); ++i) {
    const Table map = maps.table(i);
    const auto tensor = map.get<std::uint32_t>(1, 0);
    if (tensor >= tensors) {
      damaged("a signature names tensor " + std::to_string(tensor) + ", but there are only " +
              std::to_string(tensors));
    }
    names.push_back({.name = map.text(0), .tensor = static_cast<int>(tensor)});
  }
  return names;
}

/// The first signature of the main graph; the names of others are told.
void read_signatures(const Table& model, File& file, Diagnostics& diagnostics) {
  const Vector signatures = model.vector(model_field::kSignatures);
  for (std::size_t i = 0; i < signatures.size(); ++i) {
    const Table signature = signatures.table(i);
    const std::string key = signature.text(2);
    if (signature.get<std::uint32_t>(4, 0) != 0 || !file.signature.empty()) {
      diagnostics.push_back({.severity = Severity::warning,
                             .rule = "tflite/other-signature",
                             .subject = key,
                             .message = "only the first signature of the main graph is read"});
      continue;
    }
    file.signature = key;
    file.signature_inputs = signature_names(signature.vector(0), file.tensors.size());
    file.signature_outputs = signature_names(signature.vector(1), file.tensors.size());
  }
}

/// Does the operator make a result whose size depends on the values?
bool depends_on_values(int code) {
  return code == 96 || code == 103 || code == 109;  // RANGE, UNIQUE, WHERE
}

/// Converters write 1 for an extent that is only known at run time. Where the extents of the file
/// fit each other they are what a run has that does not ask for others, and all are taken as known.
void settle_shapes(File& file) {
  for (const Operator& op : file.operators) {
    const bool reshapes = op.code == 22 || op.code == 43 || op.code == 70;
    if (depends_on_values(op.code)) {
      return;
    }
    if (!reshapes || op.inputs.empty() || op.outputs.empty() || op.inputs[0] < 0) {
      continue;
    }
    const Shape& from = file.tensors[static_cast<std::size_t>(op.inputs[0])].shape;
    const Shape& to = file.tensors[static_cast<std::size_t>(op.outputs[0])].shape;
    const auto known = [](const Shape& shape) {
      return std::all_of(shape.begin(), shape.end(), [](std::int64_t size) { return size >= 0; });
    };
    if (!known(from) || !known(to) || count(from) != count(to)) {
      return;
    }
  }
  for (Tensor& tensor : file.tensors) {
    tensor.dynamic = std::any_of(tensor.shape.begin(), tensor.shape.end(),
                                 [](std::int64_t size) { return size < 0; });
  }
}

}  // namespace

bool is_float(Type type) noexcept {
  return type == Type::float32 || type == Type::float16 || type == Type::float64 ||
         type == Type::bfloat16;
}

bool is_integer(Type type) noexcept {
  switch (type) {
    case Type::int64:
    case Type::int32:
    case Type::int16:
    case Type::uint16:
    case Type::int8:
    case Type::uint8:
    case Type::int4:
    case Type::uint4:
      return true;
    default:
      return false;
  }
}

int bits(Type type) noexcept {
  switch (type) {
    case Type::float32:
    case Type::int32:
    case Type::uint32:
      return 32;
    case Type::int64:
    case Type::uint64:
    case Type::float64:
      return 64;
    case Type::float16:
    case Type::bfloat16:
    case Type::int16:
    case Type::uint16:
      return 16;
    case Type::uint8:
    case Type::int8:
    case Type::boolean:
      return 8;
    case Type::int4:
    case Type::uint4:
      return 4;
    case Type::int2:
      return 2;
    default:
      return 0;
  }
}

int onnx_type(Type type) {
  using onnx::TensorProto;
  switch (type) {
    case Type::float32:
      return TensorProto::FLOAT;
    case Type::float16:
      return TensorProto::FLOAT16;
    case Type::float64:
      return TensorProto::DOUBLE;
    case Type::bfloat16:
      return TensorProto::BFLOAT16;
    case Type::int32:
      return TensorProto::INT32;
    case Type::uint32:
      return TensorProto::UINT32;
    case Type::int64:
      return TensorProto::INT64;
    case Type::uint64:
      return TensorProto::UINT64;
    case Type::int16:
      return TensorProto::INT16;
    case Type::uint16:
      return TensorProto::UINT16;
    case Type::int8:
      return TensorProto::INT8;
    case Type::uint8:
      return TensorProto::UINT8;
    case Type::boolean:
      return TensorProto::BOOL;
    case Type::int4:
      return TensorProto::INT4;
    case Type::uint4:
      return TensorProto::UINT4;
    default:
      throw Error(ErrorKind::unsupported,
                  "type " + std::to_string(static_cast<int>(type)) +
                      " of the file (strings, resources, complex or 2-bit numbers) is not read");
  }
}

std::uint64_t count(const Shape& shape) {
  std::uint64_t product = 1;
  for (const std::int64_t extent : shape) {
    if (extent < 0) {
      damaged("a constant has an extent that is not known");
    }
    if (extent != 0 && product > (std::uint64_t{1} << 40U) / static_cast<std::uint64_t>(extent)) {
      damaged("a tensor has more than 2^40 elements");
    }
    product *= static_cast<std::uint64_t>(extent);
  }
  return product;
}

File read_file(Bytes bytes, Diagnostics& diagnostics) {
  const Table model = Table::root(bytes);
  const Vector graphs = model.vector(model_field::kSubgraphs);
  if (graphs.size() == 0) {
    damaged("it holds no graph");
  }
  const Table graph = graphs.table(0);
  const Vector codes = model.vector(model_field::kOperatorCodes);
  const Vector buffers = model.vector(model_field::kBuffers);
  File file;
  file.description = model.text(model_field::kDescription);
  const Vector tensors = graph.vector(graph_field::kTensors);
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    file.tensors.push_back(read_tensor(bytes, tensors.table(i), buffers));
  }
  read_signatures(model, file, diagnostics);
  for (const auto* names : {&file.signature_inputs, &file.signature_outputs}) {
    for (const SignatureName& entry : *names) {
      std::string& name = file.tensors[static_cast<std::size_t>(entry.tensor)].name;
      name = name.empty() ? entry.name : name;
    }
  }
  name_tensors(file);
  make_dense(file.tensors, bytes.size());
  file.inputs = tensor_numbers(graph.vector(graph_field::kInputs), file.tensors.size(), false);
  file.outputs = tensor_numbers(graph.vector(graph_field::kOutputs), file.tensors.size(), false);
  const Vector operators = graph.vector(graph_field::kOperators);
  for (std::size_t i = 0; i < operators.size(); ++i) {
    file.operators.push_back(read_operator(operators.table(i), codes, i, file.tensors.size()));
  }
  settle_shapes(file);
  return file;
}

}  // namespace halfstep::tflite
