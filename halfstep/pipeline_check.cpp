#include "halfstep/pipeline_check.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <unordered_map>

#include "halfstep/calibration/cast.h"
#include "halfstep/support/tensor_view.h"

namespace halfstep {
namespace {

constexpr double kMuchWorseDb = 10.0;
constexpr int kMostNodes = 2000;  // of the float model, for a second run with optimizations

Tensor copy_of(const Tensor& tensor) {
  std::vector<std::byte> bytes(tensor.bytes());
  if (!bytes.empty()) {
    std::memcpy(bytes.data(), tensor.data, bytes.size());
  }
  return make_tensor(tensor.dtype, tensor.shape, std::move(bytes));
}

bool is_float(const Tensor& tensor) { return is_floating(tensor.dtype); }

Tensor as_float32(const Tensor& tensor) {
  return tensor.dtype == Dtype::float32 ? tensor : cast_tensor(tensor, Dtype::float32);
}

/// For each tensor of the float model: what its readers see in the Q/DQ model, which is the output
/// of the DequantizeLinear behind it, or the tensor itself (a graph output keeps its name).
std::vector<std::string> seen_names(const Model& qdq, const std::vector<std::string>& tensors) {
  std::unordered_map<std::string_view, const onnx::NodeProto*> quantize, dequantize;
  for (const onnx::NodeProto& node : qdq.graph().node()) {
    if (node.op_type() == "QuantizeLinear") {
      quantize.emplace(node.input(0), &node);
    } else if (node.op_type() == "DequantizeLinear") {
      dequantize.emplace(node.input(0), &node);
    }
  }
  std::vector<std::string> names;
  for (const std::string& tensor : tensors) {
    const auto first = quantize.find(tensor);
    const auto second =
        first == quantize.end() ? dequantize.end() : dequantize.find(first->second->output(0));
    names.push_back(second == dequantize.end() ? tensor : second->second->output(0));
  }
  return names;
}

/// Why a tensor's error is what it is, and the option that would help; empty if nothing differs.
/// Rounding to steps of `scale` has the power scale^2 / 12 a value: an error of that size is the
/// tensor's own, a much larger one was there before.
std::string likely_cause(const std::string& tensor, const ErrorPower& power,
                         const Encoding* encoding) {
  constexpr double kInherited = 4;   // of the error by rounding
  constexpr double kWideRange = 32;  // range over the root mean square; about 6 if normal
  if (power.error == 0 || power.values == 0) {
    return {};
  }
  if (!std::isfinite(power.error)) {
    return "NaN in the quantized run only; --exclude '" + tensor + "' keeps it float";
  }
  const auto count = static_cast<double>(power.values);
  const bool stepped = encoding != nullptr && !encoding->is_float() &&
                       encoding->scale.size() == 1 && is_integer(encoding->dtype);
  const double scale = stepped ? static_cast<double>(encoding->scale[0]) : 0.0;
  const bool narrow = !stepped || bits(encoding->dtype) <= 8;
  if (power.error > kInherited * count * scale * scale / 12) {
    return std::string("error of weights and ops before it; ") +
           (narrow ? "--recipe a16w8 helps" : "weights of more bits help (a16w8)");
  }
  const double range = scale * std::ldexp(1.0, bits(encoding->dtype));
  const double typical = std::sqrt(power.signal / count);
  const std::string wider =
      narrow ? "--set 'tensor:" + tensor + " act=uint16'" : "--exclude '" + tensor + "'";
  if (range > kWideRange * typical) {
    return "few large values set the range; " + wider + " helps";
  }
  return "rounding to " + std::to_string(bits(encoding->dtype)) + " bits; " + wider + " helps";
}

}  // namespace

QuantizedCheck::QuantizedCheck(const GraphIndex& graph, const std::vector<ObservedTensor>& tensors,
                               std::size_t samples)
    : probe_(tensors.size()), wanted_(samples), nodes_(graph.graph().node_size()) {
  for (const ObservedTensor& tensor : tensors) {
    const int producer = graph.producer(tensor.name);
    tensors_.push_back(tensor.name);
    op_types_.push_back(producer < 0 ? "input" : graph.graph().node(producer).op_type());
  }
}

void QuantizedCheck::attach(CalibrateOptions& options) {
  options.hook_samples = wanted_;
  options.on_value = [this](std::size_t tensor, std::size_t sample, const WatchedValue& value) {
    if (tensor < tensors_.size()) {  // what follows is only watched for NaN
      probe_.remember(tensor, sample, value);
    }
  };
  options.on_outputs = [this](std::size_t, const Sample& inputs,
                              const std::vector<Tensor>& outputs) {
    Sample copy;
    for (const auto& [name, tensor] : inputs) {
      copy.emplace(name, copy_of(tensor));
    }
    inputs_.push_back(std::move(copy));
    std::vector<Tensor> kept;
    std::transform(outputs.begin(), outputs.end(), std::back_inserter(kept), copy_of);
    float_outputs_.push_back(std::move(kept));
  };
}

std::unique_ptr<Session> QuantizedCheck::open(Engine& engine, const Model& qdq,
                                              const std::filesystem::path& path,
                                              const SessionOptions& options) const {
  try {
    // The file is what users get, so the file is what is tried.
    return path.empty() || !options.watch.empty() ? engine.open(qdq, options)
                                                  : engine.open(path, options);
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::unsupported) {
      throw;
    }
    throw Error(error.kind(),
                error.context().back() + "; --no-check (check=False) writes it without running it")
        .within("the quantized form of " + qdq.name());
  }
}

void QuantizedCheck::run(Engine& engine, const Model& qdq, const std::filesystem::path& path,
                         int threads, Progress& progress, Diagnostics& diagnostics) {
  std::size_t sample = 0;
  SessionOptions options{.threads = threads, .optimize = false, .progress = &progress};
  options.watch = seen_names(qdq, tensors_);
  options.on_value = [this, &sample](std::size_t tensor, const WatchedValue& value) {
    probe_.compare(tensor, sample, value);
  };
  {
    const std::unique_ptr<Session> session = open(engine, qdq, path, options);
    for (const TensorInfo& output : session->outputs()) {
      output_names_.push_back(output.name);
    }
    output_errors_.resize(output_names_.size());
    uncompared_.resize(output_names_.size());
    progress.begin("check", inputs_.size());
    for (; sample < inputs_.size(); ++sample) {
      progress.throw_if_cancelled();
      compare_outputs(sample, session->run(inputs_[sample]));
      progress.update(sample + 1);
    }
    progress.end();
  }
  report_uncompared(diagnostics);
  compare_optimized(engine, qdq, path, threads, diagnostics);
}

void QuantizedCheck::compare_outputs(std::size_t sample, const std::vector<Tensor>& outputs) {
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    const Tensor& reference = float_outputs_[sample][i];
    if (!is_float(outputs[i])) {
      uncompared_[i] =
          "holds " + std::string(name(outputs[i].dtype)) + " values, for which there is no SQNR";
    } else if (reference.shape != outputs[i].shape) {
      uncompared_[i] = "has the shape " + to_text(outputs[i].shape) + ", in the float model " +
                       to_text(reference.shape);
    } else {
      const ErrorPower power = error_power(as_float32(reference), as_float32(outputs[i]));
      output_errors_[i].signal += power.signal;
      output_errors_[i].error += power.error;
      output_errors_[i].values += power.values;
    }
  }
}

void QuantizedCheck::report_uncompared(Diagnostics& diagnostics) const {
  for (std::size_t i = 0; i < output_names_.size(); ++i) {
    if (output_errors_[i].values > 0 || inputs_.empty()) {
      continue;
    }
    // Codes and classes are no reason to worry, values that are not there are.
    const bool other_type = uncompared_[i].starts_with("holds");
    diagnostics.push_back(
        {.severity = other_type ? Severity::note : Severity::warning,
         .rule = "check/output-not-compared",
         .subject = output_names_[i],
         .message = "output '" + output_names_[i] + "' " +
                    (uncompared_[i].empty() ? "holds no finite value in the float model's run"
                                            : uncompared_[i]) +
                    "; its error was not measured"});
  }
}

void QuantizedCheck::compare_optimized(Engine& engine, const Model& qdq,
                                       const std::filesystem::path& path, int threads,
                                       Diagnostics& diagnostics) const {
  if (inputs_.empty()) {
    return;
  }
  if (nodes_ > kMostNodes) {
    diagnostics.push_back(
        {.severity = Severity::note,
         .rule = "check/optimized-not-run",
         .subject = qdq.name(),
         .message = "the model has " + std::to_string(nodes_) +
                    " nodes: the result was run without the engine's optimizations only, which "
                    "take more than linear time on a large graph"});
    return;
  }
  const std::unique_ptr<Session> session =
      open(engine, qdq, path, {.threads = threads, .optimize = true});
  const std::vector<Tensor> outputs = session->run(inputs_[0]);
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    if (!is_float(outputs[i]) || float_outputs_[0][i].shape != outputs[i].shape) {
      continue;
    }
    const double optimized =
        error_power(as_float32(float_outputs_[0][i]), as_float32(outputs[i])).sqnr_db();
    const double plain = output_errors_[i].sqnr_db();
    if (optimized < plain - kMuchWorseDb) {
      diagnostics.push_back(
          {.severity = Severity::warning,
           .rule = "check/optimized-differs",
           .subject = output_names_[i],
           .message = "output '" + output_names_[i] + "': " + std::to_string(optimized) +
                      " dB with all optimizations of the engine, " + std::to_string(plain) +
                      " dB without. The engine's integer kernels lose accuracy here: run the model "
                      "with fewer optimizations, or keep the ops before this output float"});
    }
  }
}

std::vector<OutputError> QuantizedCheck::outputs() const {
  std::vector<OutputError> errors;
  for (std::size_t i = 0; i < output_names_.size(); ++i) {
    if (output_errors_[i].values > 0) {
      errors.push_back({.output = output_names_[i], .sqnr_db = output_errors_[i].sqnr_db()});
    }
  }
  return errors;
}

std::vector<TensorError> QuantizedCheck::worst(std::size_t count,
                                               const EncodingTable& encodings) const {
  std::vector<TensorError> errors;
  for (std::size_t i = 0; i < tensors_.size(); ++i) {
    const ErrorPower& power = probe_.errors()[i];
    if (power.signal > 0 || power.error > 0) {
      errors.push_back({.tensor = tensors_[i],
                        .op_type = op_types_[i],
                        .sqnr_db = power.sqnr_db(),
                        .hint = likely_cause(tensors_[i], power, encodings.find(tensors_[i]))});
    }
  }
  std::stable_sort(errors.begin(), errors.end(), [](const TensorError& a, const TensorError& b) {
    return a.sqnr_db < b.sqnr_db;
  });
  errors.resize(std::min(count, errors.size()));
  return errors;
}

}  // namespace halfstep
