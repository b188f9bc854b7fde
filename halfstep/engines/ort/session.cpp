#include "halfstep/engines/ort/session.h"

#include <algorithm>
#include <array>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include <onnxruntime_session_options_config_keys.h>

#include "halfstep/engines/feed.h"
#include "halfstep/engines/ort/messages.h"
#include "halfstep/engines/ort/values.h"

namespace halfstep::ort {
namespace {

std::vector<const char*> c_strings(const std::vector<std::string>& texts) {
  std::vector<const char*> pointers;
  for (const std::string& text : texts) {
    pointers.push_back(text.c_str());
  }
  return pointers;
}

/// One ReorderInput, the op that makes blocks of channels, from x [1, 32, 1, 2] to y.
onnx::ModelProto block_model() {
  onnx::ModelProto model;
  model.set_ir_version(8);
  model.add_opset_import()->set_version(17);
  onnx::OperatorSetIdProto& opset = *model.add_opset_import();
  opset.set_domain("com.microsoft.nchwc");
  opset.set_version(1);
  onnx::GraphProto& graph = *model.mutable_graph();
  graph.set_name("block");
  onnx::NodeProto& node = *graph.add_node();
  node.set_domain("com.microsoft.nchwc");
  node.set_op_type("ReorderInput");
  node.add_input("x");
  node.add_output("y");
  onnx::ValueInfoProto& input = *graph.add_input();
  input.set_name("x");
  auto& type = *input.mutable_type()->mutable_tensor_type();
  type.set_elem_type(onnx::TensorProto::FLOAT);
  for (const std::int64_t extent : {1, 32, 1, 2}) {
    type.mutable_shape()->add_dim()->set_dim_value(extent);
  }
  graph.add_output()->set_name("y");
  return model;
}

}  // namespace

Ort::SessionOptions session_options(int threads, bool optimize) {
  Ort::SessionOptions options;
  options.SetIntraOpNumThreads(std::max(threads, 1));
  options.SetInterOpNumThreads(1);
  options.SetExecutionMode(ORT_SEQUENTIAL);
  options.SetGraphOptimizationLevel(optimize ? ORT_ENABLE_ALL : ORT_DISABLE_ALL);
  options.SetLogSeverityLevel(ORT_LOGGING_LEVEL_ERROR);
  options.AddConfigEntry(kOrtSessionOptionsConfigAllowIntraOpSpinning, "0");
  options.AddConfigEntry(kOrtSessionOptionsConfigAllowInterOpSpinning, "0");
  options.AddConfigEntry(kOrtSessionOptionsUseDeviceAllocatorForInitializers, "1");
  return options;
}

Error engine_error(const std::string& model, const Ort::Exception& exception) {
  return Error(ErrorKind::unsupported,
               "ONNX Runtime refuses the model: " + clean_message(exception.what()) +
                   advice_for(exception.what()))
      .within(model);
}

/// The model could be loaded: what fails now depends on the values and shapes of the sample.
Error run_error(const std::string& model, const Ort::Exception& exception) {
  if (exception.GetOrtErrorCode() == ORT_NOT_IMPLEMENTED) {
    return engine_error(model, exception);
  }
  const std::string advice = advice_for(exception.what());
  return Error(ErrorKind::invalid_file,
               "ONNX Runtime fails while it runs the model: " + clean_message(exception.what()) +
                   (advice.empty() ? "; check the shapes and values of this sample" : advice))
      .within(model);
}

Ort::Session open_session(Runtime& runtime, const std::filesystem::path& path,
                          const std::string& model, Ort::SessionOptions& options,
                          Canceller& canceller) {
  canceller.throw_if_cancelled();
  const Canceller::Guard guard(canceller, [&options] { options.SetLoadCancellationFlag(true); });
  try {
    return {runtime.env(), path.c_str(), options};
  } catch (const Ort::Exception& exception) {
    canceller.throw_if_cancelled();
    throw engine_error(model, exception);
  }
}

std::int64_t channel_block(Runtime& runtime) {
  std::vector<float> x(64);
  for (std::size_t i = 0; i < x.size(); ++i) {
    x[i] = static_cast<float>(i);
  }
  const std::string bytes = block_model().SerializeAsString();
  const Ort::SessionOptions options = session_options(1, false);
  Ort::Session session(runtime.env(), bytes.data(), bytes.size(), options);
  constexpr std::array<std::int64_t, 4> kShape = {1, 32, 1, 2};
  const auto memory = Ort::MemoryInfo::CreateCpu(OrtDeviceAllocator, OrtMemTypeDefault);
  const auto input =
      Ort::Value::CreateTensor<float>(memory, x.data(), x.size(), kShape.data(), kShape.size());
  const char* const from = "x";
  const char* const to = "y";
  const auto outputs = session.Run(Ort::RunOptions(), &from, &input, 1, &to, 1);
  const float* y = outputs.front().GetTensorData<float>();
  // Channel 0 at position 1 (the value 1) comes right after the first block.
  return std::find(y, y + x.size(), 1.0F) - y;
}

OrtSession::OrtSession(std::shared_ptr<Runtime> runtime, Prepared prepared,
                       const SessionOptions& options)
    : runtime_(std::move(runtime)),
      prepared_(std::move(prepared)),
      watch_(options.watch),
      on_value_(options.on_value),
      canceller_(options.progress) {
  Ort::SessionOptions engine_options = session_options(options.threads, prepared_.optimize);
  engine_options.Add(target_ops_.domain());
  const std::vector<WatchPoint>& points = prepared_.plan.points;
  if (!points.empty()) {
    const bool blocked = std::any_of(points.begin(), points.end(),
                                     [](const WatchPoint& point) { return point.channels > 0; });
    sink_ = std::make_unique<WatchSink>(on_value_, points,
                                        blocked ? channel_block(*runtime_) : std::int64_t{1});
    op_ = std::make_unique<WatchOp>(sink_.get());
    domain_ = Ort::CustomOpDomain(kWatchDomain);
    domain_.Add(op_.get());
    engine_options.Add(domain_);
  }
  session_ = open_session(*runtime_, prepared_.path, prepared_.name, engine_options, canceller_);
  read_inputs();
  read_outputs();
}

void OrtSession::read_inputs() {
  Ort::AllocatorWithDefaultOptions allocator;
  for (std::size_t i = 0; i < session_.GetInputCount(); ++i) {
    const std::string name = session_.GetInputNameAllocated(i, allocator).get();
    auto info = tensor_info(name, session_.GetInputTypeInfo(i));
    if (!info) {
      throw Error(ErrorKind::unsupported,
                  "input \"" + name + "\" is not a tensor of numbers; halfstep can't feed it")
          .within(prepared_.name);
    }
    inputs_.push_back(std::move(*info));
  }
}

void OrtSession::read_outputs() {
  const std::unordered_set<std::string_view> added(prepared_.added.begin(), prepared_.added.end());
  std::unordered_map<std::string, std::size_t> places;
  Ort::AllocatorWithDefaultOptions allocator;
  for (std::size_t i = 0; i < session_.GetOutputCount(); ++i) {
    const std::string name = session_.GetOutputNameAllocated(i, allocator).get();
    auto info = tensor_info(name, session_.GetOutputTypeInfo(i));
    // Sequences and other values that are no tensors of numbers are not fetched at all.
    if (info && !added.contains(name)) {
      outputs_.push_back(std::move(*info));
      places.emplace(name, fetches_.size());
      fetches_.push_back(name);
    }
  }
  for (const std::size_t i : prepared_.plan.as_outputs) {
    if (places.emplace(watch_[i], fetches_.size()).second) {
      fetches_.push_back(watch_[i]);
    }
    watched_fetches_.emplace_back(i, places.at(watch_[i]));
  }
}

void OrtSession::watch_inputs(const Sample& sample) const {
  for (const std::size_t i : prepared_.inputs) {
    const auto found = sample.find(watch_[i]);
    if (found == sample.end() || !is_floating(found->second.dtype)) {
      continue;
    }
    const Tensor& tensor = found->second;
    if (tensor.dtype != Dtype::float32) {
      const std::vector<float> floats = to_floats(borrow(tensor));
      on_value_(i, {.data = floats.data(),
                    .count = static_cast<std::int64_t>(floats.size()),
                    .shape = tensor.shape});
      continue;
    }
    on_value_(i, {.data = reinterpret_cast<const float*>(tensor.data),
                  .count = element_count(tensor.shape),
                  .shape = tensor.shape});
  }
}

void OrtSession::watch_outputs(const std::vector<Ort::Value>& values) const {
  for (const auto& [i, place] : watched_fetches_) {
    const Ort::Value& value = values[place];
    try {
      const std::vector<float> floats = to_floats(value);
      on_value_(i, {.data = floats.data(),
                    .count = static_cast<std::int64_t>(floats.size()),
                    .shape = value.GetTensorTypeAndShapeInfo().GetShape()});
    } catch (const Error& error) {
      throw error.within("watched tensor \"" + watch_[i] + "\"").within(prepared_.name);
    }
  }
}

std::vector<Ort::Value> OrtSession::run_session(const Sample& sample) {
  std::vector<const char*> names;
  std::vector<Ort::Value> values;
  for (const auto& [name, tensor] : sample) {
    names.push_back(name.c_str());
    values.push_back(borrow(tensor));
  }
  const std::vector<const char*> fetches = c_strings(fetches_);
  Ort::RunOptions run_options;
  const Canceller::Guard guard(canceller_, [&run_options] { run_options.SetTerminate(); });
  try {
    return session_.Run(run_options, names.data(), values.data(), values.size(), fetches.data(),
                        fetches.size());
  } catch (const Ort::Exception& exception) {
    canceller_.throw_if_cancelled();
    throw run_error(prepared_.name, exception);
  }
}

std::vector<Tensor> OrtSession::run(const Sample& sample) {
  canceller_.throw_if_cancelled();
  check_feed(sample, inputs_);
  watch_inputs(sample);
  std::vector<Ort::Value> values = run_session(sample);
  if (sink_) {
    sink_->rethrow();
  }
  watch_outputs(values);
  std::vector<Tensor> outputs;
  for (std::size_t i = 0; i < outputs_.size(); ++i) {
    outputs.push_back(take(std::move(values[i])));
  }
  return outputs;
}

}  // namespace halfstep::ort
