#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace halfstep {

/// What went wrong, in the terms that decide the exit code of the command line.
enum class ErrorKind : std::uint8_t {
  invalid_argument,  ///< wrong usage, option, recipe or spec: exit 2
  nothing_to_do,     ///< the request would change nothing: exit 3
  invalid_file,      ///< a file (model, samples, encodings) that is missing or wrong: exit 4
  io,                ///< reading or writing failed (permissions, full disk): exit 4
  unsupported,       ///< the target, engine or format cannot do it: exit 5
  interrupted,       ///< the user asked to stop: exit 130
  internal,          ///< a defect of halfstep: exit 70
};

/// The only exception this library throws. what() reads from the outside in:
///   act.json: activations[12] "conv1.out": scale must be > 0 (got -0.5)
/// Text pattern of a message: what is wrong, what was found, what was expected, the next step.
class Error : public std::runtime_error {
 public:
  Error(ErrorKind kind, const std::string& message);
  [[nodiscard]] ErrorKind kind() const noexcept { return kind_; }
  /// The levels from the outside in; the last one is the bare message.
  [[nodiscard]] const std::vector<std::string>& context() const noexcept { return context_; }
  /// The same error, one level further out (a file, a tensor, a node).
  [[nodiscard]] Error within(std::string_view outer) const;

 private:
  Error(ErrorKind kind, std::vector<std::string> context);
  ErrorKind kind_;
  std::vector<std::string> context_;
};

/// Throws invalid_argument with `message` unless `condition` holds.
void require(bool condition, std::string_view message);

/// The member of `candidates` closest to `name` by edit distance, empty if none is close.
/// For messages like: no tensor "conv1.weigth"; did you mean "conv1.weight"?
[[nodiscard]] std::string closest_match(std::string_view name,
                                        const std::vector<std::string>& candidates);

}  // namespace halfstep
