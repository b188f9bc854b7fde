#include "halfstep/engines/qnn/worker.h"

#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include <poll.h>
#include <unistd.h>

#include "halfstep/engines/qnn/backend.h"
#include "halfstep/engines/qnn/channel.h"
#include "halfstep/engines/qnn/check_graph.h"
#include "halfstep/engines/qnn/ir_writer.h"
#include "halfstep/engines/qnn/library.h"
#include "halfstep/engines/qnn/native.h"
#include "halfstep/engines/qnn/values.h"
#include "halfstep/engines/qnn/wire.h"
#include "halfstep/support/error.h"
#include "halfstep/version.h"

namespace halfstep::qnn {
namespace {

/// Ends the process when the client is gone, even while a library is working.
void end_with_client(int socket) {
  std::thread([socket] {
    // Without POLLIN: requests are not for this thread, so any event is the end.
    pollfd one{.fd = socket, .events = POLLRDHUP, .revents = 0};
    while (poll(&one, 1, -1) <= 0) {
    }
    _exit(0);
  }).detach();
}

class Worker {
 public:
  explicit Worker(int socket) : socket_(socket) {}

  /// False: the client is gone.
  [[nodiscard]] bool answer(const Frame& request);

 private:
  void hello(WireReader& in);
  void versions();
  void validate(WireReader& in);
  void prepare(WireReader& in);
  void load(WireReader& in);
  void execute(WireReader& in);
  void write_dlc(WireReader& in);
  void handle(const Frame& request);

  [[nodiscard]] Backend& backend();
  void send(Kind kind, const WireWriter& content);

  int socket_;
  bool connected_ = true;
  Libraries libraries_{};
  std::uint32_t soc_ = 0;
  std::unique_ptr<Backend> backend_{};
  std::unique_ptr<Session> session_{};
};

void Worker::send(Kind kind, const WireWriter& content) {
  connected_ = connected_ && send_frame(socket_, kind, content.bytes());
}

Backend& Worker::backend() {
  if (!backend_) {
    backend_ = std::make_unique<Backend>(libraries_.htp(), soc_);
  }
  return *backend_;
}

void Worker::hello(WireReader& in) {
  const std::uint32_t protocol = in.u32();
  const std::string version = in.text();
  if (protocol != kProtocol || version != kVersion) {
    throw Error(ErrorKind::unsupported,
                "the QNN worker is halfstep " + std::string(kVersion) + ", the caller is " +
                    version + "; let HALFSTEP_WORKER name the command of the same release");
  }
  libraries_.folder = in.text();
  soc_ = in.u32();
  WireWriter out;
  out.text(kVersion);
  send(Kind::done, out);
}

void Worker::versions() {
  std::vector<std::string> lines = {"HTP: " + backend().version()};
  lines.push_back("IR: " + Backend(libraries_.ir(), 0).version());
  lines.push_back("System: " + std::string(open_system(libraries_.system()).provider) +
                  ", system API " + to_text(open_system(libraries_.system()).version));
  WireWriter out;
  out.texts(lines);
  send(Kind::done, out);
}

void Worker::validate(WireReader& in) {
  const Graph graph = read_graph(in);
  check_graph(graph);
  NativeGraph native(graph, {});
  for (std::size_t i = in.u32(); i < graph.ops.size() && connected_; ++i) {
    const Backend::Verdict verdict = backend().validate(native, i);
    WireWriter out;
    out.u32(static_cast<std::uint32_t>(i));
    out.boolean(verdict.accepted);
    out.u32(verdict.code);
    out.texts(verdict.log.messages);
    send(Kind::verdict, out);
    if (!verdict.accepted) {
      // Asked for after the verdict is out: this second question may crash.
      WireWriter kernels;
      kernels.texts(verdict.log.kernels.empty() ? backend().kernels(native, i)
                                                : verdict.log.kernels);
      send(Kind::kernels, kernels);
    }
  }
  send(Kind::done, {});
}

void Worker::prepare(WireReader& in) {
  session_.reset();
  const Graph graph = read_graph(in);
  check_graph(graph);
  PrepareOptions options;
  options.float16 = in.boolean();
  options.keep = in.texts();
  session_ = std::make_unique<Session>(backend(), graph, options);
  WireWriter out;
  write(out, session_->prepared());
  send(Kind::done, out);
}

void Worker::load(WireReader& in) {
  session_.reset();
  const std::string path = in.text();
  const std::string graph_name = in.text();
  const bool float16 = in.boolean();
  session_ = std::make_unique<Session>(backend(), libraries_.system(), path, graph_name, float16);
  WireWriter out;
  write(out, session_->prepared());
  send(Kind::done, out);
}

void Worker::execute(WireReader& in) {
  if (!session_) {
    throw Error(ErrorKind::internal, "QNN worker: no graph is prepared");
  }
  WireWriter out;
  write(out, session_->execute(read_values(in)));
  send(Kind::done, out);
}

void Worker::write_dlc(WireReader& in) {
  const Graph graph = read_graph(in);
  check_graph(graph);
  qnn::write_ir(libraries_.ir(), graph, in.text());
  send(Kind::done, {});
}

void Worker::handle(const Frame& request) {
  WireReader in(request.content);
  switch (request.kind) {
    case Kind::hello:
      return hello(in);
    case Kind::versions:
      return versions();
    case Kind::validate:
      return validate(in);
    case Kind::prepare:
      return prepare(in);
    case Kind::load:
      return load(in);
    case Kind::execute:
      return execute(in);
    case Kind::write:
      return write_dlc(in);
    case Kind::done:
    case Kind::failed:
    case Kind::verdict:
    case Kind::kernels:
      break;
  }
  throw Error(ErrorKind::internal,
              "QNN worker: unknown request " + std::to_string(static_cast<int>(request.kind)));
}

bool Worker::answer(const Frame& request) {
  const auto report = [&](ErrorKind kind, const char* message) {
    WireWriter out;
    out.u8(static_cast<std::uint8_t>(kind));
    out.text(message);
    send(Kind::failed, out);
  };
  try {
    handle(request);
  } catch (const Error& error) {
    report(error.kind(), error.what());
  } catch (const std::exception& error) {
    report(ErrorKind::internal, error.what());
  }
  return connected_;
}

}  // namespace

int run_worker(int socket) {
  end_with_client(socket);
  Worker worker(socket);
  while (std::optional<Frame> request = receive_frame(socket)) {
    if (!worker.answer(*request)) {
      break;
    }
  }
  // The libraries' destructors would take their time, and may crash.
  _exit(0);
}

}  // namespace halfstep::qnn
