#include "halfstep/engines/engine.h"

#include <utility>

#include <malloc.h>

#include "halfstep/engines/ort/library.h"
#include "halfstep/engines/ort/prepare.h"
#include "halfstep/engines/ort/session.h"
#include "halfstep/support/file.h"

namespace halfstep {
namespace {

class OrtEngine final : public Engine {
 public:
  explicit OrtEngine(std::shared_ptr<ort::Runtime> runtime) : runtime_(std::move(runtime)) {}

  [[nodiscard]] std::string name() const override { return "ONNX Runtime " + runtime_->version(); }

  [[nodiscard]] std::unique_ptr<Session> open(const Model& model,
                                              const SessionOptions& options) override {
    // The engine maps what it needs while it opens the session; the files can go afterwards.
    const TemporaryDirectory folder;
    try {
      return make_session(ort::prepare(*runtime_, model, options, folder.path()), options);
    } catch (const Error& error) {
      if (error.kind() != ErrorKind::unsupported || options.watch.empty()) {
        throw;
      }
    }
    // Watch ops can't be had for this model: the slow way works wherever the model does.
    return make_session(ort::prepare_with_outputs(model, options, folder.path()), options);
  }

  [[nodiscard]] std::unique_ptr<Session> open(const std::filesystem::path& path,
                                              const SessionOptions& options) override {
    if (!options.watch.empty()) {
      return open(Model::load(path), options);
    }
    return make_session({.path = path, .name = path.string(), .optimize = options.optimize},
                        options);
  }

 private:
  [[nodiscard]] std::unique_ptr<Session> make_session(const ort::Prepared& prepared,
                                                      const SessionOptions& options) {
    auto session = std::make_unique<ort::OrtSession>(runtime_, prepared, options);
    malloc_trim(0);
    return session;
  }

  std::shared_ptr<ort::Runtime> runtime_;
};

}  // namespace

std::unique_ptr<Engine> make_onnxruntime_engine(const std::string& library) {
  return std::make_unique<OrtEngine>(ort::runtime(library));
}

}  // namespace halfstep
