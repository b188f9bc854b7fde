#include "halfstep/engines/feed.h"

#include <algorithm>
#include <vector>

namespace halfstep {
namespace {

/// Scalars and inputs of unknown rank look the same here; the engine itself tells them apart.
bool shape_fits(const Shape& wanted, const Shape& found) {
  return wanted.empty() ||
         std::equal(wanted.begin(), wanted.end(), found.begin(), found.end(),
                    [](std::int64_t want, std::int64_t have) { return want < 0 || want == have; });
}

std::string quoted_list(std::span<const TensorInfo> inputs) {
  std::string text;
  for (const TensorInfo& input : inputs) {
    text += (text.empty() ? "\"" : ", \"") + input.name + "\"";
  }
  return text.empty() ? "none" : text;
}

[[noreturn]] void refuse_unknown(const std::string& key, std::span<const TensorInfo> inputs) {
  std::vector<std::string> names;
  for (const TensorInfo& input : inputs) {
    names.push_back(input.name);
  }
  const std::string closest = closest_match(key, names);
  throw Error(ErrorKind::invalid_file,
              "the model has no input \"" + key + "\"" +
                  (closest.empty() ? "; its inputs: " + quoted_list(inputs)
                                   : "; did you mean \"" + closest + "\"?"));
}

}  // namespace

std::string type_text(Dtype dtype, const Shape& shape) {
  std::string text = std::string(name(dtype)) + " [";
  for (std::size_t axis = 0; axis < shape.size(); ++axis) {
    text += axis == 0 ? "" : ", ";
    text += shape[axis] < 0 ? "?" : std::to_string(shape[axis]);
  }
  return text + "]";
}

std::optional<std::string> feed_problem(const TensorInfo& input, const Tensor& tensor) {
  if (tensor.dtype == input.dtype && shape_fits(input.shape, tensor.shape)) {
    return std::nullopt;
  }
  return "input \"" + input.name + "\" is " + type_text(tensor.dtype, tensor.shape) +
         ", the model wants " + type_text(input.dtype, input.shape);
}

void check_feed(const Sample& sample, std::span<const TensorInfo> inputs) {
  const auto is_input = [&](const std::string& key) {
    return std::any_of(inputs.begin(), inputs.end(),
                       [&](const TensorInfo& input) { return input.name == key; });
  };
  for (const auto& [key, tensor] : sample) {
    if (!is_input(key)) {
      refuse_unknown(key, inputs);
    }
  }
  for (const TensorInfo& input : inputs) {
    const auto found = sample.find(input.name);
    if (found == sample.end()) {
      throw Error(ErrorKind::invalid_file, "no array for input \"" + input.name + "\" (" +
                                               type_text(input.dtype, input.shape) +
                                               "); a sample gives every input of the model");
    }
    if (const auto problem = feed_problem(input, found->second)) {
      throw Error(ErrorKind::invalid_file, *problem);
    }
  }
}

}  // namespace halfstep
