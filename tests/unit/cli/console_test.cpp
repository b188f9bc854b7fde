#include "cli/console.h"

#include <new>
#include <sstream>
#include <stdexcept>
#include <string>

#include <gtest/gtest.h>

#include "cli/command_error.h"
#include "halfstep/support/json.h"

namespace halfstep::cli {
namespace {

struct Captured {
  std::ostringstream out{};
  std::ostringstream err{};
  Console console{.out = out, .err = err};
};

Diagnostic warning(const std::string& rule, const std::string& subject) {
  return {.severity = Severity::warning, .rule = rule, .subject = subject, .message = "is odd"};
}

TEST(Console, ErrorWithAdviceAndSeveralLines) {
  Captured c;
  print_error(c.console, "first\nsecond \033[1m\n", "do this");
  EXPECT_EQ(c.err.str(), "error: first\n    second \\x1b[1m\nhelp: do this\n");
}

TEST(Console, ColorsOnlyWhenAsked) {
  Captured c;
  c.console.color = true;
  print_error(c.console, "x", "");
  EXPECT_EQ(c.err.str(), "\033[1;31merror:\033[0m x\n");
}

TEST(Console, DiagnosticsAreGroupedAndCut) {
  Captured c;
  Diagnostics list;
  for (int i = 0; i < 5; ++i) {
    list.push_back(warning("a/b", "t" + std::to_string(i)));
  }
  list.insert(list.begin() + 1, warning("c/d", "u"));
  list.push_back(
      {.severity = Severity::note, .rule = "n/n", .subject = "v", .message = "v: noted"});
  print_diagnostics(c.console, list, false);
  EXPECT_EQ(c.err.str(),
            "warning[a/b]: t0: is odd\n"
            "warning[a/b]: t1: is odd\n"
            "warning[a/b]: t2: is odd\n"
            "warning[a/b]: + 2 more (-v shows all)\n"
            "warning[c/d]: u: is odd\n"
            "help: 'halfstep rule a/b' explains the first; likewise the others\n");
  Captured all;
  print_diagnostics(all.console, list, true);
  EXPECT_NE(all.err.str().find("t4: is odd"), std::string::npos);
  EXPECT_NE(all.err.str().find("note[n/n]: v: noted"), std::string::npos);
  EXPECT_EQ(all.err.str().find("more"), std::string::npos);
  Captured none;
  print_diagnostics(none.console, {}, true);
  EXPECT_EQ(none.err.str(), "");
}

TEST(Console, ExitCodes) {
  EXPECT_EQ(exit_code(ErrorKind::invalid_argument), 2);
  EXPECT_EQ(exit_code(ErrorKind::nothing_to_do), 3);
  EXPECT_EQ(exit_code(ErrorKind::invalid_file), 4);
  EXPECT_EQ(exit_code(ErrorKind::io), 4);
  EXPECT_EQ(exit_code(ErrorKind::unsupported), 5);
  EXPECT_EQ(exit_code(ErrorKind::internal), 70);
  EXPECT_EQ(exit_code(ErrorKind::interrupted), 130);
  EXPECT_EQ(kind_name(ErrorKind::internal), "internal");
  EXPECT_EQ(kind_name(ErrorKind::invalid_argument), "invalid_argument");
}

template <typename Exception>
Failure failure_of(const Exception& exception) {
  try {
    throw exception;
  } catch (...) {
    return current_failure();
  }
}

TEST(Console, FailuresInWords) {
  const Failure usage = failure_of(UsageError("bad", "do"));
  EXPECT_EQ(usage.kind, ErrorKind::invalid_argument);
  EXPECT_EQ(usage.help, "do");
  EXPECT_EQ(failure_of(Error(ErrorKind::io, "disk")).help, "");
  EXPECT_NE(failure_of(Error(ErrorKind::internal, "x")).help.find("report"), std::string::npos);
  const Failure other = failure_of(std::runtime_error("odd"));
  EXPECT_EQ(other.kind, ErrorKind::internal);
  EXPECT_EQ(other.message, "internal: odd");
  EXPECT_EQ(failure_of(std::bad_alloc()).message, "out of memory");
  EXPECT_EQ(failure_of(42).kind, ErrorKind::internal);
}

TEST(Console, FailureAsJson) {
  Captured c;
  c.out << "half a result";
  const Failure failure{.kind = ErrorKind::io, .message = "disk \xff", .help = ""};
  EXPECT_EQ(report_failure(c.console, failure, {.json = true}, "quantize"), 4);
  const Json document = Json::parse(c.out.str());
  EXPECT_EQ(document.at("schema"), 1);
  EXPECT_EQ(document.at("command"), "quantize");
  EXPECT_EQ(document.at("error").at("kind"), "io");
  EXPECT_EQ(document.at("error").at("exit_code"), 4);
  EXPECT_EQ(c.err.str(), "error: disk \xff\n");
}

}  // namespace
}  // namespace halfstep::cli
