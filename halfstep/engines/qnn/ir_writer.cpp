#include "halfstep/engines/qnn/ir_writer.h"

#include <array>
#include <filesystem>
#include <string>
#include <system_error>

#include "halfstep/engines/qnn/api.h"
#include "halfstep/engines/qnn/backend.h"
#include "halfstep/engines/qnn/graph.h"
#include "halfstep/engines/qnn/native.h"
#include "halfstep/support/error.h"

namespace halfstep::qnn {

void write_ir(const std::filesystem::path& library, const Graph& graph,
              const std::filesystem::path& file) {
  Backend backend(library, 0);
  {
    const Context context(backend);
    NativeGraph native(graph, {});
    const std::string path = file.string();
    api::IrGraphOption serialization{.option = 1,
                                     .serialization = {.format = 1, .path = path.c_str()}};
    const api::Option option{.option = 0, .custom = &serialization};
    const std::array<const api::Option*, 2> options = {&option, nullptr};
    api::Handle handle = nullptr;
    if (const api::Error error =
            backend.api().graph_create(context.get(), graph.name.c_str(), options.data(), &handle);
        api::code(error) != 0) {
      fail_call("(IR) refused to make the graph \"" + graph.name + "\"", error);
    }
    add_to_graph(backend, handle, native);
    if (const api::Error error = backend.api().graph_finalize(handle, nullptr, nullptr);
        api::code(error) != 0) {
      fail_call("(IR) cannot write the graph \"" + graph.name + "\"", error);
    }
  }
  std::error_code error;
  if (!std::filesystem::exists(file, error)) {
    throw Error(ErrorKind::unsupported, "the QNN IR library wrote no file " + file.string());
  }
}

}  // namespace halfstep::qnn
