#include "halfstep/engines/qnn/backend.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "halfstep/engines/qnn/api.h"
#include "halfstep/engines/qnn/library.h"
#include "halfstep/engines/qnn/log.h"
#include "halfstep/engines/qnn/native.h"
#include "halfstep/support/error.h"

namespace halfstep::qnn {
namespace {

std::string said(const LogSummary& log) {
  std::string text;
  for (const std::string& message : log.messages) {
    text += "\n  " + message;
  }
  return text.empty() ? "; it gave no reason" : ":" + text;
}

void check(const std::string& what, api::Error error) {
  if (api::code(error) != 0) {
    fail_call(what, error);
  }
}

api::Handle create_device(const api::Interface& api, api::Handle log, std::uint32_t soc) {
  // The chip has to be named by its model: with the architecture alone float16 is not really on.
  api::HtpDeviceOption model{.option = 0, .padding = 0, .values = {soc, 0, 0, 0}};
  const api::Option option{.option = 0, .custom = &model};
  const std::array<const api::Option*, 2> options = {&option, nullptr};
  api::Handle device = nullptr;
  check("cannot open a device for the chip " + std::to_string(soc),
        api.device_create(log, options.data(), &device));
  return device;
}

}  // namespace

void fail_call(const std::string& what, api::Error error) {
  const LogSummary log = summarize(take_log());
  throw Error(ErrorKind::unsupported, "the QNN backend " + what + " (error " +
                                          std::to_string(api::code(error)) + ")" + said(log));
}

Backend::Backend(const std::filesystem::path& library, std::uint32_t soc)
    : api_(&open_backend(library)) {
  check("cannot start its log", api_->log_create(log_callback(), kLogWarnings, &log_));
  check("cannot start", api_->backend_create(log_, nullptr, &backend_));
  if (soc != 0) {
    device_ = create_device(*api_, log_, soc);
  }
  (void)take_log();
}

Backend::~Backend() {
  if (device_ != nullptr) {
    api_->device_free(device_);
  }
  api_->backend_free(backend_);
  api_->log_free(log_);
}

std::string Backend::version() const {
  const char* build = nullptr;
  const bool known = api::code(api_->backend_get_build_id(&build)) == 0 && build != nullptr;
  return std::string(api_->provider) + ", core API " + to_text(api_->core_version) +
         ", backend API " + to_text(api_->backend_version) + ", build " +
         (known ? build : "unknown");
}

Backend::Verdict Backend::validate(NativeGraph& graph, std::size_t op) {
  (void)take_log();
  Verdict verdict;
  verdict.code = api::code(api_->backend_validate_op_config(backend_, graph.op(op)));
  verdict.accepted = verdict.code == 0;
  if (!verdict.accepted) {
    verdict.log = summarize(take_log());
  }
  return verdict;
}

std::vector<std::string> Backend::kernels(NativeGraph& graph, std::size_t op) {
  (void)take_log();
  api_->backend_validate_op_config(backend_, graph.op_of_no_kernel(op));
  return summarize(take_log()).kernels;
}

Context::Context(Backend& backend) : backend_(backend) {
  check("cannot make a context",
        backend_.api().context_create(backend_.backend(), backend_.device(), nullptr, &context_));
}

Context::~Context() { backend_.api().context_free(context_, nullptr); }

void add_to_graph(const Backend& backend, api::Handle graph, NativeGraph& native) {
  const api::Interface& api = backend.api();
  for (const Tensor& tensor : native.graph().tensors) {
    check("refused the tensor \"" + tensor.name + "\"",
          api.tensor_create_graph_tensor(graph, &native.tensor(tensor.name)));
  }
  for (std::size_t i = 0; i < native.graph().ops.size(); ++i) {
    const Op& op = native.graph().ops[i];
    const std::string name = op.type + " \"" + op.name + "\"";
    for (api::Tensor* param : native.tensor_params(i)) {
      check("refused a param of " + name, api.tensor_create_graph_tensor(graph, param));
    }
    check("refused " + name, api.graph_add_node(graph, native.op(i)));
  }
}

}  // namespace halfstep::qnn
