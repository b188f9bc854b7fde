#pragma once

#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <utility>

#include "halfstep/engines/engine.h"

namespace halfstep {

/// An engine that is made when it is first used: for work that seldom needs one. Its name is empty
/// until then. Errors of `make` arrive from open().
class LazyEngine final : public Engine {
 public:
  explicit LazyEngine(std::function<std::unique_ptr<Engine>()> make) : make_(std::move(make)) {}
  [[nodiscard]] std::string name() const override { return engine_ ? engine_->name() : ""; }
  [[nodiscard]] std::unique_ptr<Session> open(const Model& model,
                                              const SessionOptions& options) override {
    return get().open(model, options);
  }
  [[nodiscard]] std::unique_ptr<Session> open(const std::filesystem::path& path,
                                              const SessionOptions& options) override {
    return get().open(path, options);
  }

 private:
  Engine& get() {
    if (!engine_) {
      engine_ = make_();
    }
    return *engine_;
  }

  std::function<std::unique_ptr<Engine>()> make_;
  std::unique_ptr<Engine> engine_{};
};

}  // namespace halfstep
