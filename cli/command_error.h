#pragma once

#include <string>
#include <utility>

#include "halfstep/support/error.h"

namespace halfstep::cli {

/// An error that the command itself found, with the line of advice below it.
class CommandError : public Error {
 public:
  CommandError(ErrorKind kind, const std::string& message, std::string help)
      : Error(kind, message), help_(std::move(help)) {}
  [[nodiscard]] const std::string& help() const noexcept { return help_; }

 private:
  std::string help_;
};

/// Wrong usage: exit 2.
class UsageError final : public CommandError {
 public:
  UsageError(const std::string& message, std::string help)
      : CommandError(ErrorKind::invalid_argument, message, std::move(help)) {}
};

}  // namespace halfstep::cli
