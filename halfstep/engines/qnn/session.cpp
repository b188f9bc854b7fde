#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "halfstep/engines/qnn/api.h"
#include "halfstep/engines/qnn/backend.h"
#include "halfstep/engines/qnn/check_graph.h"
#include "halfstep/engines/qnn/library.h"
#include "halfstep/engines/qnn/log.h"
#include "halfstep/engines/qnn/native.h"
#include "halfstep/support/error.h"

namespace halfstep::qnn {
namespace {

/// The options of a graph, as long as they are needed.
class GraphOptions {
 public:
  explicit GraphOptions(bool float16) {
    if (float16) {
      list_[0] = &option_;
    }
  }
  [[nodiscard]] const api::Option* const* get() const noexcept { return list_.data(); }
  [[nodiscard]] std::uint32_t count() const noexcept { return list_[0] == nullptr ? 0 : 1; }

 private:
  api::HtpGraphOption precision_{.option = 2, .value = 1};
  api::Option option_{.option = 0, .custom = &precision_};
  std::array<const api::Option*, 2> list_{};
};

Quantization read_quantization(const api::QuantizeParams& params) {
  using Kind = Quantization::Kind;
  if (params.definition != 1) {
    return {};
  }
  if (params.encoding == api::Encoding::scale_offset) {
    return {.kind = Kind::per_tensor,
            .scales = {params.scale_offset.scale},
            .offsets = {params.scale_offset.offset}};
  }
  if (params.encoding == api::Encoding::bits_scale_offset) {
    return {.kind = Kind::per_tensor_bits,
            .scales = {params.bits.scale},
            .offsets = {params.bits.offset},
            .bits = params.bits.bits};
  }
  return {};  // inputs and outputs of a graph have no other
}

[[noreturn]] void refuse_input(const Prepared& graph, const std::string& name,
                               const std::string& what) {
  throw Error(ErrorKind::invalid_argument,
              "QNN graph \"" + graph.name + "\": input \"" + name + "\": " + what);
}

/// Names, shapes and encodings of a NativeGraph end with it; those of `described` stay.
void own(std::vector<api::Tensor>& tensors, std::vector<Tensor>& described) {
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    api::TensorV1& v1 = tensors[i].v1;
    v1.name = described[i].name.c_str();
    v1.dims = described[i].dims.data();
    if (described[i].quantization.kind != Quantization::Kind::per_tensor) {
      v1.quantization.definition = api::kUndefined;
      v1.quantization.encoding = api::Encoding::undefined;
    }
  }
}

void bind(api::Tensor& tensor, std::vector<std::byte>& data) {
  tensor.v1.memory_type = 0;
  tensor.v1.buffer = {.data = data.data(), .size = static_cast<std::uint32_t>(data.size())};
}

}  // namespace

Session::Session(Backend& backend, const Graph& graph, const PrepareOptions& options)
    : backend_(backend), context_(std::make_unique<Context>(backend)) {
  (void)take_log();
  prepared_.name = graph.name;
  NativeGraph native(graph, options.keep);
  const GraphOptions graph_options(options.float16);
  const api::Error error = backend_.api().graph_create(context_->get(), graph.name.c_str(),
                                                       graph_options.get(), &graph_);
  if (api::code(error) != 0) {
    fail_call("refused to make the graph \"" + graph.name + "\"", error);
  }
  add_to_graph(backend_, graph_, native);
  prepare();
  for (const Tensor& tensor : graph.tensors) {
    const api::Tensor& made = native.tensor(tensor.name);
    const auto kind = static_cast<TensorKind>(made.v1.type);
    if (kind == TensorKind::app_write || kind == TensorKind::app_read) {
      Tensor copy = tensor;
      copy.kind = kind;
      const bool input = kind == TensorKind::app_write;
      (input ? prepared_.inputs : prepared_.outputs).push_back(std::move(copy));
      (input ? inputs_ : outputs_).push_back(made);
    }
  }
  own(inputs_, prepared_.inputs);
  own(outputs_, prepared_.outputs);
}

Session::Session(Backend& backend, const std::filesystem::path& system_library,
                 const std::filesystem::path& dlc, const std::string& graph_name, bool float16)
    : backend_(backend), context_(std::make_unique<Context>(backend)) {
  (void)take_log();
  const api::SystemInterface& system = open_system(system_library);
  const api::Version core = backend.api().core_version;
  if (core.minor != api::kWholeInterfaceMinor) {
    throw Error(ErrorKind::unsupported, "loading a DLC is known for QNN core API 2." +
                                            std::to_string(api::kWholeInterfaceMinor) +
                                            " only, found " + to_text(core) +
                                            "; install the tested release with: " + install_hint());
  }
  api::Handle file = nullptr;
  if (const api::Error error = system.dlc_create_from_file(nullptr, dlc.c_str(), &file);
      api::code(error) != 0) {
    fail_call("cannot load " + dlc.string(), error);
  }
  api::WholeInterface whole{};
  std::memcpy(&whole, &backend.api(), sizeof(whole));
  const GraphOptions graph_options(float16);
  api::GraphInfo* graphs = nullptr;
  std::uint32_t count = 0;
  const api::DlcGraphOptions options{.version = 1,
                                     .graph = graph_name.c_str(),
                                     .options = graph_options.get(),
                                     .option_count = graph_options.count()};
  const std::array<const api::DlcGraphOptions*, 1> list = {&options};
  api::Error error = system.dlc_compose_graphs(file, list.data(), 1, backend.backend(),
                                               context_->get(), whole, 1, &graphs, &count);
  if (api::code(error) != 0 || count != 1 || graphs == nullptr) {
    fail_call("cannot make the graph \"" + graph_name + "\" of " + dlc.string(), error);
  }
  prepared_.name = graph_name;
  error = backend.api().graph_retrieve(context_->get(), prepared_.name.c_str(), &graph_);
  if (api::code(error) != 0) {
    fail_call("lost the graph \"" + prepared_.name + "\"", error);
  }
  prepare();
  for (const api::Tensor& tensor : std::span(graphs->inputs, graphs->input_count)) {
    describe(tensor, true);
  }
  for (const api::Tensor& tensor : std::span(graphs->outputs, graphs->output_count)) {
    describe(tensor, false);
  }
}

void Session::prepare() {
  const api::Error error = backend_.api().graph_finalize(graph_, nullptr, nullptr);
  if (api::code(error) != 0) {
    fail_call("cannot prepare the graph \"" + prepared_.name + "\"", error);
  }
}

void Session::describe(const api::Tensor& tensor, bool input) {
  const api::TensorV1& v1 = tensor.v1;  // version 2 begins like it
  const std::span<const std::uint32_t> dims(v1.dims, v1.rank);
  (input ? prepared_.inputs : prepared_.outputs)
      .push_back({.name = v1.name,
                  .kind = input ? TensorKind::app_write : TensorKind::app_read,
                  .type = static_cast<DataType>(v1.data_type),
                  .dims = {dims.begin(), dims.end()},
                  .quantization = read_quantization(v1.quantization)});
  (input ? inputs_ : outputs_).push_back(tensor);
}

Values Session::execute(const Values& inputs) {
  (void)take_log();
  std::vector<std::vector<std::byte>> buffers;
  for (std::size_t i = 0; i < inputs_.size(); ++i) {
    const Tensor& tensor = prepared_.inputs[i];
    const auto given = inputs.find(tensor.name);
    if (given == inputs.end()) {
      refuse_input(prepared_, tensor.name, "no value given");
    }
    if (given->second.data.size() != byte_size(tensor)) {
      refuse_input(prepared_, tensor.name,
                   "found " + std::to_string(given->second.data.size()) + " bytes, expected " +
                       std::to_string(byte_size(tensor)));
    }
    bind(inputs_[i], buffers.emplace_back(given->second.data));
  }
  Values outputs;
  for (std::size_t i = 0; i < outputs_.size(); ++i) {
    const Tensor& tensor = prepared_.outputs[i];
    Value& value = outputs[tensor.name];
    value = {.type = tensor.type, .dims = tensor.dims};
    value.data.resize(byte_size(tensor));
    bind(outputs_[i], value.data);
  }
  const api::Error error = backend_.api().graph_execute(
      graph_, inputs_.data(), static_cast<std::uint32_t>(inputs_.size()), outputs_.data(),
      static_cast<std::uint32_t>(outputs_.size()), nullptr, nullptr);
  if (api::code(error) != 0) {
    fail_call("cannot run the graph \"" + prepared_.name + "\"", error);
  }
  return outputs;
}

}  // namespace halfstep::qnn
