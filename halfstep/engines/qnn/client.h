#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "halfstep/engines/qnn/graph.h"
#include "halfstep/engines/qnn/library.h"
#include "halfstep/engines/qnn/values.h"
#include "halfstep/support/json.h"
#include "halfstep/support/progress.h"

/// Asks Qualcomm's own libraries about graphs and runs them on the HTP emulator. Every call happens
/// in a child process, `halfstep _worker qnn`: a crash or a hang of the libraries is an answer
/// here, and what they print never reaches the user's terminal.
namespace halfstep::qnn {

/// The model number of a chip with this architecture (68, 69, 73, 75, 79, 81, 85), 0 if unknown.
/// Source: what the backend itself chooses for an architecture.
[[nodiscard]] std::uint32_t soc_of(int arch) noexcept;

struct ClientOptions {
  std::string libraries{};  ///< folder or SDK root; empty: see find_libraries
  int arch = 75;            ///< of the Hexagon processor; one a process
  std::uint32_t soc = 0;    ///< model of the chip; 0: soc_of(arch)
  /// The halfstep command that is started as worker. Empty: the environment variable
  /// HALFSTEP_WORKER, else this program if it is halfstep, else the command of the environment
  /// that this code lies in, else the one in PATH.
  std::string worker{};
  std::chrono::milliseconds op_limit{120'000};       ///< for a verdict about one operator
  std::chrono::milliseconds graph_limit{3'600'000};  ///< for preparing, running, writing
  const Progress* progress = nullptr;  ///< cancelled: the work ends with `interrupted`
};

/// What the validator says about an operator.
struct OpVerdict {
  enum class Outcome : std::uint8_t {
    accepted,
    refused,
    crashed,    ///< the library crashed over this question
    timed_out,  ///< the library did not answer within op_limit
  };
  std::size_t op = 0;  ///< index in the graph
  Outcome outcome = Outcome::accepted;
  std::uint32_t code = 0;               ///< the library's number, of refused
  std::vector<std::string> messages{};  ///< the library's, shortened; or how it ended
  /// If refused: type combinations that it takes for this operator, such as
  /// "INT8: in[0] ufixed8, out[0] ufixed8". Empty if it knows no such operator.
  std::vector<std::string> kernels{};
  [[nodiscard]] bool accepted() const noexcept { return outcome == Outcome::accepted; }
};

class Client {
 public:
  /// Starts nothing yet. Errors: unsupported (no libraries: with the line that installs them; no
  /// command to start; an architecture whose chip is unknown).
  explicit Client(ClientOptions options);
  Client(const Client&) = delete;
  Client& operator=(const Client&) = delete;
  ~Client();

  [[nodiscard]] const Libraries& libraries() const noexcept { return libraries_; }

  // Errors of all below: invalid_argument (a graph that check_graph refuses, wrong inputs),
  // unsupported (refused, crashed or late: with graph, operator, messages of the library and the
  // next step), interrupted.

  /// A line a library with its versions.
  [[nodiscard]] std::vector<std::string> versions();
  /// A verdict for each operator. A crash or hang over one operator is its verdict; the others are
  /// still asked. The validator is not complete: what it accepts may still fail to prepare.
  [[nodiscard]] std::vector<OpVerdict> validate(const Graph& graph);
  /// Builds and prepares a graph; execute then runs it as often as wanted.
  Prepared prepare(const Graph& graph, const PrepareOptions& options = {});
  /// The same for the graph of a DLC. `keep` has to be empty: the file says what can be read.
  Prepared load_dlc(const std::filesystem::path& file, const PrepareOptions& options = {});
  /// Runs what was prepared or loaded last.
  [[nodiscard]] Values execute(const Values& inputs);
  /// prepare and execute.
  [[nodiscard]] Values run(const Graph& graph, const Values& inputs,
                           const PrepareOptions& options = {});
  /// Writes a graph as a DLC through libQnnIr; see dlc/writer.h for `metadata` (an object) and what
  /// is changed. The file appears only when it is complete and was read back: what it holds is what
  /// was meant (see dlc/compare.h).
  void write_dlc(const Graph& graph, const std::filesystem::path& file,
                 const Json& metadata = Json::object());
  /// load_dlc and execute.
  [[nodiscard]] Values run_dlc(const std::filesystem::path& file, const Values& inputs,
                               const PrepareOptions& options = {});

 private:
  struct Running;
  struct Question;
  [[nodiscard]] Running& running();
  [[nodiscard]] std::vector<std::byte> ask(const Question& question);
  /// Asks a worker of its own: the IR library numbers tensors through the life of its process, and
  /// the numbers are in the file.
  void ask_fresh(const Question& question);
  [[nodiscard]] OpVerdict lost_verdict(std::size_t op, bool late);
  /// The operator to go on with after the worker was lost; the number of operators when done.
  [[nodiscard]] std::size_t collect_verdicts(const Graph& graph, std::size_t first,
                                             std::vector<OpVerdict>& verdicts);

  ClientOptions options_;
  Libraries libraries_;
  std::string worker_;
  std::string prepared_{};  ///< name of the graph that execute runs
  std::unique_ptr<Running> running_{};
};

}  // namespace halfstep::qnn
