#pragma once

#include <functional>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "halfstep/support/error.h"

namespace halfstep {

/// An open family of classes: makers by name. Names stay for the life of the process.
template <typename Maker>
class Registry {
 public:
  /// `family` is the word for a member in messages: "range calculator". Members of `replaceable`
  /// give way to one that a user registers under the same name.
  Registry(std::string family, std::map<std::string, Maker> built_in,
           std::set<std::string> replaceable = {})
      : family_(std::move(family)),
        makers_(std::move(built_in)),
        replaceable_(std::move(replaceable)) {}

  /// Errors: invalid_argument if the name is empty or taken.
  void add(const std::string& name, Maker maker) {
    const std::scoped_lock lock(mutex_);
    require(!name.empty(), "a " + family_ + " needs a name");
    if (replaceable_.erase(name) > 0) {
      makers_.erase(name);
    }
    if (!makers_.emplace(name, std::move(maker)).second) {
      throw Error(ErrorKind::invalid_argument, "a " + family_ + " named \"" + name +
                                                   "\" is registered already; choose another name");
    }
  }

  /// Errors: invalid_argument naming the closest known name.
  [[nodiscard]] Maker find(const std::string& name) const {
    const std::scoped_lock lock(mutex_);
    if (const auto found = makers_.find(name); found != makers_.end()) {
      return found->second;
    }
    const std::string closest = closest_match(name, names_locked());
    throw Error(ErrorKind::invalid_argument,
                "no " + family_ + " is named \"" + name + '"' +
                    (closest.empty() ? std::string() : "; did you mean \"" + closest + "\"?"));
  }

  /// Whether `name` is one of the replaceable members, and nobody has taken its place.
  [[nodiscard]] bool is_original(const std::string& name) const {
    const std::scoped_lock lock(mutex_);
    return replaceable_.contains(name);
  }

  [[nodiscard]] std::vector<std::string> names() const {
    const std::scoped_lock lock(mutex_);
    return names_locked();
  }

 private:
  [[nodiscard]] std::vector<std::string> names_locked() const {
    std::vector<std::string> names;
    for (const auto& [name, maker] : makers_) {
      names.push_back(name);
    }
    return names;
  }

  std::string family_;
  mutable std::mutex mutex_{};
  std::map<std::string, Maker> makers_;
  std::set<std::string> replaceable_;
};

}  // namespace halfstep
