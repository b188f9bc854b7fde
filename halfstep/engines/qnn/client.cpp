#include "halfstep/engines/qnn/client.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "halfstep/engines/qnn/channel.h"
#include "halfstep/engines/qnn/check_graph.h"
#include "halfstep/engines/qnn/dlc/compare.h"
#include "halfstep/engines/qnn/dlc/reader.h"
#include "halfstep/engines/qnn/dlc/writer.h"
#include "halfstep/engines/qnn/find_worker.h"
#include "halfstep/engines/qnn/library.h"
#include "halfstep/engines/qnn/wire.h"
#include "halfstep/support/error.h"
#include "halfstep/support/file.h"
#include "halfstep/support/json.h"
#include "halfstep/version.h"

namespace halfstep::qnn {
namespace {

struct Chip {
  int arch;
  std::uint32_t soc;
};
constexpr std::array<Chip, 7> kChips = {{{.arch = 68, .soc = 30},
                                         {.arch = 69, .soc = 36},
                                         {.arch = 73, .soc = 43},
                                         {.arch = 75, .soc = 57},
                                         {.arch = 79, .soc = 69},
                                         {.arch = 81, .soc = 87},
                                         {.arch = 85, .soc = 103}}};

[[noreturn]] void fail_reported(const Frame& frame) {
  WireReader in(frame.content);
  const auto kind = static_cast<ErrorKind>(in.u8());
  throw Error(kind, in.text());
}

std::string seconds(std::chrono::milliseconds limit) {
  return std::to_string(limit.count() / 1000) + " s";
}

std::string named(const Op& op) { return op.type + " \"" + op.name + "\""; }

OpVerdict read_verdict(WireReader& in) {
  OpVerdict verdict{.op = in.u32()};
  verdict.outcome = in.boolean() ? OpVerdict::Outcome::accepted : OpVerdict::Outcome::refused;
  verdict.code = in.u32();
  verdict.messages = in.texts();
  return verdict;
}

void add_line(std::vector<std::string>& lines, const std::string& line) {
  if (!line.empty()) {
    lines.push_back(line);
  }
}

}  // namespace

std::uint32_t soc_of(int arch) noexcept {
  for (const Chip& chip : kChips) {
    if (chip.arch == arch) {
      return chip.soc;
    }
  }
  return 0;
}

/// A worker that has been greeted.
struct Client::Running {
  explicit Running(const std::string& worker) : child({worker, "_worker", "qnn"}) {}
  Child child;
};

struct Client::Question {
  Kind kind;
  std::span<const std::byte> content;
  std::string what;  ///< "preparing the graph ..."
  std::chrono::milliseconds limit;
};

Client::Client(ClientOptions options)
    : options_(std::move(options)),
      libraries_(find_libraries(options_.libraries)),
      worker_(find_worker(options_.worker)) {
  if (options_.soc == 0) {
    options_.soc = soc_of(options_.arch);
  }
  if (options_.soc == 0) {
    std::string known;
    for (const Chip& chip : kChips) {
      known += (known.empty() ? "v" : ", v") + std::to_string(chip.arch);
    }
    throw Error(ErrorKind::unsupported,
                "no chip is known for HTP v" + std::to_string(options_.arch) + "; known: " + known);
  }
}

Client::~Client() = default;

Client::Running& Client::running() {
  if (!running_) {
    prepared_.clear();
    running_ = std::make_unique<Running>(worker_);
    WireWriter hello;
    hello.u32(kProtocol);
    hello.text(kVersion);
    hello.text(libraries_.folder.string());
    hello.u32(options_.soc);
    try {
      (void)ask({.kind = Kind::hello,
                 .content = hello.bytes(),
                 .what = "starting the worker " + worker_,
                 .limit = options_.op_limit});
    } catch (...) {
      running_.reset();
      throw;
    }
  }
  return *running_;
}

std::vector<std::byte> Client::ask(const Question& question) {
  Child& child = running().child;
  Frame answer;
  Child::Wait wait = Child::Wait::late;
  try {
    child.send(question.kind, question.content, question.limit, options_.progress);
    wait = child.receive(answer, question.limit, options_.progress);
  } catch (...) {
    running_.reset();  // interrupted: it may be in the middle of work
    throw;
  }
  if (wait == Child::Wait::answered) {
    if (answer.kind == Kind::failed) {
      fail_reported(answer);
    }
    return std::move(answer.content);
  }
  const std::string how = wait == Child::Wait::late
                              ? "did not answer within " + seconds(question.limit)
                              : child.ending();
  const std::string lines = child.last_lines();
  running_.reset();
  throw Error(ErrorKind::unsupported,
              "the QNN library (" + libraries_.folder.string() + ") " + how + " while " +
                  question.what + (lines.empty() ? "" : "; its last lines:\n" + lines) +
                  "\nits validator may name the operator: validate the graph first");
}

void Client::ask_fresh(const Question& question) {
  std::unique_ptr<Running> other = std::move(running_);
  std::string prepared = std::move(prepared_);
  const auto restore = [&] {
    running_ = std::move(other);
    prepared_ = std::move(prepared);
  };
  try {
    (void)ask(question);
  } catch (...) {
    restore();
    throw;
  }
  restore();
}

std::vector<std::string> Client::versions() {
  const std::vector<std::byte> answer = ask({.kind = Kind::versions,
                                             .content = {},
                                             .what = "asking for its version",
                                             .limit = options_.op_limit});
  WireReader in(answer);
  return in.texts();
}

OpVerdict Client::lost_verdict(std::size_t op, bool late) {
  OpVerdict verdict{.op = op,
                    .outcome = late ? OpVerdict::Outcome::timed_out : OpVerdict::Outcome::crashed};
  Child& child = running_->child;
  add_line(verdict.messages,
           "the library " +
               (late ? "did not answer within " + seconds(options_.op_limit) : child.ending()));
  add_line(verdict.messages, child.last_lines());
  running_.reset();
  return verdict;
}

std::size_t Client::collect_verdicts(const Graph& graph, std::size_t first,
                                     std::vector<OpVerdict>& verdicts) {
  WireWriter request;
  write(request, graph);
  request.u32(static_cast<std::uint32_t>(first));
  Child& child = running().child;
  child.send(Kind::validate, request.bytes(), options_.op_limit, options_.progress);
  std::size_t next = first;
  for (bool list_is_due = false;;) {
    Frame frame;
    const Child::Wait wait = child.receive(frame, options_.op_limit, options_.progress);
    if (wait != Child::Wait::answered) {
      OpVerdict verdict = lost_verdict(next, wait == Child::Wait::late);
      if (list_is_due) {
        return next;  // the verdict is there, only its list is not
      }
      verdicts.push_back(std::move(verdict));
      return next + 1;
    }
    WireReader in(frame.content);
    list_is_due = false;
    if (frame.kind == Kind::failed) {
      fail_reported(frame);
    }
    if (frame.kind == Kind::done) {
      return graph.ops.size();
    }
    if (frame.kind == Kind::kernels) {
      verdicts.back().kernels = in.texts();
      continue;
    }
    verdicts.push_back(read_verdict(in));
    next = verdicts.back().op + 1;
    list_is_due = !verdicts.back().accepted();
  }
}

std::vector<OpVerdict> Client::validate(const Graph& graph) {
  check_graph(graph);
  std::vector<OpVerdict> verdicts;
  try {
    for (std::size_t next = 0; next < graph.ops.size();) {
      next = collect_verdicts(graph, next, verdicts);
    }
  } catch (...) {
    running_.reset();  // it may be in the middle of an answer
    throw;
  }
  return verdicts;
}

Prepared Client::prepare(const Graph& graph, const PrepareOptions& options) {
  check_graph(graph);
  for (const std::string& name : options.keep) {
    require(std::ranges::any_of(graph.tensors,
                                [&](const Tensor& tensor) { return tensor.name == name; }),
            "QNN graph \"" + graph.name + "\": no tensor \"" + name + "\" to keep");
  }
  prepared_.clear();
  WireWriter request;
  write(request, graph);
  request.boolean(options.float16);
  request.texts(options.keep);
  const std::vector<std::byte> answer =
      ask({.kind = Kind::prepare,
           .content = request.bytes(),
           .what = "preparing the graph \"" + graph.name + "\"" +
                   (graph.ops.size() == 1 ? " of one " + named(graph.ops.front()) : ""),
           .limit = options_.graph_limit});
  WireReader in(answer);
  Prepared prepared = read_prepared(in);
  prepared_ = prepared.name;
  return prepared;
}

Prepared Client::load_dlc(const std::filesystem::path& file, const PrepareOptions& options) {
  require(options.keep.empty(), "a DLC gives back what the file says: keep has to be empty");
  prepared_.clear();
  WireWriter request;
  const dlc::Contents contents = dlc::read(file, {.params = false, .constants = false});
  if (contents.graphs.size() != 1) {
    throw Error(ErrorKind::unsupported, file.string() + ": holds " +
                                            std::to_string(contents.graphs.size()) +
                                            " graphs, expected 1");
  }
  request.text(std::filesystem::absolute(file).string());
  request.text(contents.graphs.front().name);
  request.boolean(options.float16);
  const std::vector<std::byte> answer = ask({.kind = Kind::load,
                                             .content = request.bytes(),
                                             .what = "loading " + file.string(),
                                             .limit = options_.graph_limit});
  WireReader in(answer);
  Prepared prepared = read_prepared(in);
  prepared_ = prepared.name;
  return prepared;
}

Values Client::execute(const Values& inputs) {
  require(running_ != nullptr && !prepared_.empty(),
          "no QNN graph is prepared; prepare or load one before it runs");
  WireWriter request;
  write(request, inputs);
  const std::vector<std::byte> answer = ask({.kind = Kind::execute,
                                             .content = request.bytes(),
                                             .what = "running the graph \"" + prepared_ + "\"",
                                             .limit = options_.graph_limit});
  WireReader in(answer);
  return read_values(in);
}

Values Client::run(const Graph& graph, const Values& inputs, const PrepareOptions& options) {
  prepare(graph, options);
  return execute(inputs);
}

void Client::write_dlc(const Graph& graph, const std::filesystem::path& file,
                       const Json& metadata) {
  check_graph(graph);
  if (!dlc::is_storable(graph)) {
    write_dlc(dlc::storable(graph), file, metadata);
    return;
  }
  const TemporaryDirectory folder;
  const std::filesystem::path written = folder.path() / "graph.dlc";
  {
    WireWriter request;
    write(request, graph);
    request.text(written.string());
    ask_fresh({.kind = Kind::write,
               .content = request.bytes(),
               .what = "writing the graph \"" + graph.name + "\"",
               .limit = options_.graph_limit});
  }
  const std::filesystem::path finished = folder.path() / "finished.dlc";
  dlc::finish(written, graph, metadata, finished);
  const dlc::Contents contents = dlc::read(finished);
  const std::vector<std::string> differences = dlc::compare(graph, contents);
  if (!differences.empty()) {
    throw Error(
        ErrorKind::unsupported,
        file.string() +
            ": the QNN IR library stored something else than was meant: " + differences.front() +
            (differences.size() > 1 ? " (and " + std::to_string(differences.size() - 1) + " more)"
                                    : ""));
  }
  const MappedFile bytes(finished);
  AtomicFile target(file);
  target.write(bytes.bytes());
  target.commit();
}

Values Client::run_dlc(const std::filesystem::path& file, const Values& inputs,
                       const PrepareOptions& options) {
  load_dlc(file, options);
  return execute(inputs);
}

}  // namespace halfstep::qnn
