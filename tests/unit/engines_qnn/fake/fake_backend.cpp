// A library with the interface of QNN that behaves badly on request, so that the adapter's handling
// of crashes, hangs and refusals is tested without Qualcomm's libraries. The type of an operator
// says what happens: Crash, Hang, Refuse, CrashList (refused; the second question crashes), Noise
// (prints and is accepted); any other is accepted. Graphs copy their first input to every output.
#include <algorithm>
#include <array>
#include <cstdarg>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string_view>

#include <unistd.h>

#include "halfstep/engines/qnn/api.h"

namespace {

namespace api = halfstep::qnn::api;

constexpr std::uint32_t kInt64 = 0x64;
api::LogCallback callback = nullptr;
std::uint32_t next_id = 1;

void say(const char* format, ...) {  // NOLINT(cert-dcl50-cpp): the C API's way
  std::va_list arguments;
  va_start(arguments, format);
  callback(format, 1, 0, arguments);
  va_end(arguments);
}

api::Error misbehave(std::string_view type) {
  if (type == "Crash") {
    std::fputs("about to crash\n", stderr);
    std::abort();
  }
  if (type == "Hang") {
    for (;;) {
      pause();
    }
  }
  if (type == "Noise") {
    std::puts("noise on standard output");
    std::fputs("noise on standard error\n", stderr);
    std::fflush(stdout);
  }
  return 0;
}

api::Error validate(api::Handle /*backend*/, api::OpConfig op) {
  const std::string_view type = op.type;
  misbehave(type);
  const bool list = op.input_count > 0 && op.inputs[0].v1.data_type == kInt64;
  if (type == "CrashList" && list) {
    std::abort();
  }
  if (type != "Refuse" && type != "CrashList") {
    return 0;
  }
  say("<E> %s", list ? "Supported I/O datatype sets for the configuration: INT8\n   1:\n"
                       "   in[0]:QNN_DATATYPE_UFIXED_POINT_8\n   out[0]:QNN_DATATYPE_BOOL_8"
                     : "Tensor 0 and 0 have mismatching datatypes.");
  say("<E> Failed to validate op %s with error 0x%x", op.name, 3110U);
  return 3110;
}

api::Error make_handle(api::Handle* handle) {
  *handle = &next_id;
  return 0;
}

api::Interface make_interface() {
  api::Interface fake{};
  fake.provider = "FAKE";
  fake.core_version = {.major = FAKE_CORE_MAJOR, .minor = 40, .patch = 0};
  fake.backend_version = {.major = 1, .minor = 2, .patch = 3};
  fake.log_create = [](api::LogCallback given, std::uint32_t, api::Handle* handle) {
    callback = given;
    return make_handle(handle);
  };
  fake.log_free = [](api::Handle) -> api::Error { return 0; };
  fake.backend_create = [](api::Handle, const api::Option* const*, api::Handle* handle) {
    return make_handle(handle);
  };
  fake.backend_get_build_id = [](const char** text) -> api::Error {
    *text = "v0.fake";
    return 0;
  };
  fake.backend_free = [](api::Handle) -> api::Error { return 0; };
  fake.backend_validate_op_config = validate;
  fake.device_create = [](api::Handle, const api::Option* const*, api::Handle* handle) {
    return make_handle(handle);
  };
  fake.device_free = [](api::Handle) -> api::Error { return 0; };
  fake.context_create = [](api::Handle, api::Handle, const api::Option* const*,
                           api::Handle* handle) { return make_handle(handle); };
  fake.context_free = [](api::Handle, api::Handle) -> api::Error { return 0; };
  fake.graph_create = [](api::Handle, const char*, const api::Option* const*, api::Handle* handle) {
    return make_handle(handle);
  };
  fake.tensor_create_graph_tensor = [](api::Handle, api::Tensor* tensor) -> api::Error {
    tensor->v1.id = next_id++;
    return 0;
  };
  fake.graph_add_node = [](api::Handle, api::OpConfig op) -> api::Error {
    if (std::string_view(op.type) == "RefuseNode") {
      say("<E> %s", "no room for this operator");
      return 6000;
    }
    return std::string_view(op.type) == "CrashNode" ? misbehave("Crash") : 0;
  };
  fake.graph_finalize = [](api::Handle, api::Handle, api::Handle) -> api::Error { return 0; };
  fake.graph_execute = [](api::Handle, const api::Tensor* inputs, std::uint32_t,
                          api::Tensor* outputs, std::uint32_t count, api::Handle,
                          api::Handle) -> api::Error {
    for (std::uint32_t i = 0; i < count; ++i) {
      std::memcpy(outputs[i].v1.buffer.data, inputs[0].v1.buffer.data,
                  std::min(outputs[i].v1.buffer.size, inputs[0].v1.buffer.size));
    }
    return 0;
  };
  return fake;
}

}  // namespace

// NOLINTNEXTLINE(readability-identifier-naming): the name the C API looks for
extern "C" __attribute__((visibility("default"))) api::Error QnnInterface_getProviders(
    const api::Interface* const** providers, std::uint32_t* count) {
  static const api::Interface kInterface = make_interface();
  static const std::array<const api::Interface*, 1> kList = {&kInterface};
  *providers = kList.data();
  *count = 1;
  return 0;
}
