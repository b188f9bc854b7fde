// The client and its worker process, with a library that misbehaves on request.
#include "halfstep/engines/qnn/client.h"

#include <chrono>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <fstream>
#include <iterator>
#include <string>
#include <thread>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

#include "halfstep/engines/qnn/graph.h"
#include "halfstep/engines/qnn/values.h"
#include "halfstep/support/error.h"
#include "halfstep/support/progress.h"
#include "tests/unit/engines_qnn/graphs.h"

namespace halfstep::qnn {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using Outcome = OpVerdict::Outcome;

ClientOptions fake() { return {.libraries = FAKE_QNN, .worker = HALFSTEP_COMMAND}; }

template <typename Action>
std::string message_of(ErrorKind kind, const Action& action) {
  try {
    action();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), kind) << error.what();
    return error.what();
  }
  ADD_FAILURE() << "nothing was thrown";
  return {};
}

TEST(QnnClient, KnowsTheChipOfAnArchitecture) {
  EXPECT_EQ(soc_of(75), 57U);
  EXPECT_EQ(soc_of(70), 0U);
  ClientOptions options = fake();
  options.arch = 70;
  EXPECT_THAT(message_of(ErrorKind::unsupported, [&] { const Client client(options); }),
              AllOf(HasSubstr("HTP v70"), HasSubstr("v68"), HasSubstr("v85")));
}

TEST(QnnClient, AcceptsAndRefuses) {
  Client client(fake());
  const std::vector<OpVerdict> verdicts = client.validate(chain({"Relu", "Refuse", "Tanh"}));
  ASSERT_EQ(verdicts.size(), 3U);
  EXPECT_TRUE(verdicts[0].accepted());
  EXPECT_EQ(verdicts[1].outcome, Outcome::refused);
  EXPECT_EQ(verdicts[1].op, 1U);
  EXPECT_EQ(verdicts[1].code, 3110U);
  EXPECT_THAT(verdicts[1].messages, ElementsAre("Tensor 0 and 0 have mismatching datatypes."));
  EXPECT_THAT(verdicts[1].kernels, ElementsAre("INT8: in[0] ufixed8, out[0] bool8"));
  EXPECT_TRUE(verdicts[2].accepted());
}

TEST(QnnClient, ACrashOverOneOperatorIsItsVerdictAndTheOthersAreAsked) {
  Client client(fake());
  const auto verdicts =
      client.validate(chain({"Crash", "Relu", "Crash", "Crash", "Refuse", "Relu", "Crash"}));
  std::vector<Outcome> outcomes;
  for (std::size_t i = 0; i < verdicts.size(); ++i) {
    outcomes.push_back(verdicts[i].outcome);
    EXPECT_EQ(verdicts[i].op, i);
  }
  EXPECT_THAT(outcomes,
              ElementsAre(Outcome::crashed, Outcome::accepted, Outcome::crashed, Outcome::crashed,
                          Outcome::refused, Outcome::accepted, Outcome::crashed));
  EXPECT_THAT(verdicts[0].messages,
              ElementsAre(HasSubstr("ended with signal 6"), HasSubstr("about to crash")));
}

TEST(QnnClient, ACrashOverTheListOfTypesLeavesTheVerdict) {
  Client client(fake());
  const auto verdicts = client.validate(chain({"CrashList", "Relu"}));
  ASSERT_EQ(verdicts.size(), 2U);
  EXPECT_EQ(verdicts[0].outcome, Outcome::refused);
  EXPECT_THAT(verdicts[0].kernels, IsEmpty());
  EXPECT_TRUE(verdicts[1].accepted());
}

TEST(QnnClient, AHangIsAVerdictToo) {
  ClientOptions options = fake();
  options.op_limit = std::chrono::seconds(2);
  Client client(options);
  const auto verdicts = client.validate(chain({"Hang"}));
  ASSERT_EQ(verdicts.size(), 1U);
  EXPECT_EQ(verdicts[0].outcome, Outcome::timed_out);
  EXPECT_THAT(verdicts[0].messages, ElementsAre(HasSubstr("within 2 s")));
}

TEST(QnnClient, RunsAGraph) {
  Client client(fake());
  Values inputs;
  inputs["x"] = {.type = DataType::ufixed8, .dims = {1, 2, 2, 4}};
  inputs["x"].data = bytes_of(std::vector<std::uint8_t>(16, 7));
  const Values outputs = client.run(chain({"A", "B", "C"}), inputs, {.keep = {"t1"}});
  ASSERT_EQ(outputs.size(), 2U);
  EXPECT_EQ(outputs.at("y").data, inputs["x"].data);
  EXPECT_EQ(outputs.at("t1").dims, (std::vector<std::uint32_t>{1, 2, 2, 4}));
}

TEST(QnnClient, ARefusedOrCrashingGraphIsAnErrorThatNamesIt) {
  Client client(fake());
  EXPECT_THAT(message_of(ErrorKind::unsupported, [&] { client.prepare(unary("RefuseNode")); }),
              AllOf(HasSubstr("RefuseNode \"op\""), HasSubstr("no room for this operator")));
  EXPECT_THAT(message_of(ErrorKind::unsupported, [&] { client.prepare(unary("CrashNode")); }),
              AllOf(HasSubstr("signal 6"), HasSubstr("CrashNode \"op\""), HasSubstr("validate")));
  EXPECT_THAT(message_of(ErrorKind::invalid_argument, [&] { (void)client.execute({}); }),
              HasSubstr("prepare"));
  EXPECT_TRUE(client.validate(unary("Relu"))[0].accepted());  // a new worker
}

TEST(QnnClient, InputsAreChecked) {
  Client client(fake());
  client.prepare(unary("Relu"));
  EXPECT_THAT(message_of(ErrorKind::invalid_argument, [&] { (void)client.execute({}); }),
              HasSubstr("input \"x\""));
  EXPECT_THAT(message_of(ErrorKind::invalid_argument,
                         [&] { (void)client.execute({{"x", {.data = bytes_of<char>({1})}}}); }),
              AllOf(HasSubstr("found 1 bytes"), HasSubstr("expected 16")));
  EXPECT_THAT(message_of(ErrorKind::invalid_argument,
                         [&] { client.prepare(unary("Relu"), {.keep = {"z"}}); }),
              HasSubstr("\"z\""));
}

TEST(QnnClient, CancellingEndsTheWork) {
  SilentProgress progress;
  ClientOptions options = fake();
  options.progress = &progress;
  Client client(options);
  const std::jthread user([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(300));
    progress.cancel();
  });
  message_of(ErrorKind::interrupted, [&] { (void)client.validate(chain({"Hang"})); });
}

TEST(QnnClient, TheLibrariesChatterStaysInTheWorker) {
  ::testing::internal::CaptureStdout();
  ::testing::internal::CaptureStderr();
  Client client(fake());
  const bool accepted = client.validate(unary("Noise"))[0].accepted();
  EXPECT_EQ(::testing::internal::GetCapturedStdout(), "");
  EXPECT_EQ(::testing::internal::GetCapturedStderr(), "");
  EXPECT_TRUE(accepted);
}

/// The only child of a process, or 0.
pid_t child_of(pid_t process) {
  std::ifstream children("/proc/" + std::to_string(process) + "/task/" + std::to_string(process) +
                         "/children");
  pid_t child = 0;
  children >> child;
  return child;
}

TEST(QnnClient, AWorkerEndsWithItsClientEvenInTheMiddleOfWork) {
  const pid_t user = fork();
  if (user == 0) {
    Client client(fake());
    (void)client.validate(chain({"Hang"}));
    _exit(1);
  }
  pid_t worker = 0;
  while ((worker = child_of(user)) == 0) {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  kill(user, SIGKILL);
  waitpid(user, nullptr, 0);
  // Its new parent reaps it; a process that stays is found by the time limit of the test.
  while (kill(worker, 0) == 0 && child_of(worker) == 0) {
    std::ifstream status("/proc/" + std::to_string(worker) + "/stat");
    std::string text((std::istreambuf_iterator<char>(status)), {});
    if (text.find(") Z ") != std::string::npos) {
      break;
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
}

TEST(QnnClient, SaysWhichLibrariesAreMissing) {
  ClientOptions options = fake();
  options.libraries = "tests/no-such-folder";
  EXPECT_THAT(message_of(ErrorKind::unsupported, [&] { const Client client(options); }),
              AllOf(HasSubstr("tests/no-such-folder"), HasSubstr("pip install 'halfstep[qnn]'")));
}

TEST(QnnClient, AnotherMajorVersionIsRefused) {
  ClientOptions options = fake();
  options.libraries = FAKE_OLD_QNN;
  EXPECT_THAT(
      message_of(ErrorKind::unsupported, [&] { (void)Client(options).validate(unary("Relu")); }),
      AllOf(HasSubstr("core API 1.40.0"), HasSubstr("expected 2.")));
}

TEST(QnnClient, AWorkerThatCannotBeStartedOrIsNone) {
  ClientOptions options = fake();
  options.worker = "/no/such/command";
  EXPECT_THAT(
      message_of(ErrorKind::unsupported, [&] { (void)Client(options).validate(unary("Relu")); }),
      AllOf(HasSubstr("/no/such/command"), HasSubstr("HALFSTEP_WORKER")));
  options.worker = "/bin/false";
  EXPECT_THAT(
      message_of(ErrorKind::unsupported, [&] { (void)Client(options).validate(unary("Relu")); }),
      AllOf(HasSubstr("exit code 1"), HasSubstr("/bin/false")));
}

TEST(QnnClient, AWrongGraphIsAnErrorBeforeTheLibrariesSeeIt) {
  Client client(fake());
  Graph graph = unary("Relu");
  graph.ops[0].inputs = {"z"};
  EXPECT_THAT(message_of(ErrorKind::invalid_argument, [&] { (void)client.validate(graph); }),
              AllOf(HasSubstr("graph \"one\""), HasSubstr("Relu \"op\""), HasSubstr("\"z\"")));
}

}  // namespace
}  // namespace halfstep::qnn
