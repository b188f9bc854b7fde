// Plain inference, to compare the whole job with: one session with all optimizations, every sample
// of DATA run once.
//
// usage: plain_inference MODEL.onnx DATA THREADS

#include <charconv>
#include <cstdio>
#include <string_view>

#include "halfstep/calibration/samples.h"
#include "halfstep/engines/engine.h"
#include "halfstep/support/error.h"

namespace {

int run(const char* model, const char* data, std::string_view threads) {
  halfstep::SessionOptions options{};
  const auto [end, error] =
      std::from_chars(threads.data(), threads.data() + threads.size(), options.threads);
  halfstep::require(error == std::errc{} && end == threads.data() + threads.size(),
                    "THREADS must be a number");
  const auto engine = halfstep::make_onnxruntime_engine();
  const auto session = engine->open(std::filesystem::path(model), options);
  const auto samples = halfstep::open_samples(data, session->inputs());
  int count = 0;
  while (const auto sample = samples->next()) {
    static_cast<void>(session->run(*sample));
    ++count;
  }
  std::printf("%d samples\n", count);
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 4) {
    std::fputs("usage: plain_inference MODEL.onnx DATA THREADS\n", stderr);
    return 2;
  }
  try {
    return run(argv[1], argv[2], argv[3]);
  } catch (const halfstep::Error& error) {
    std::fprintf(stderr, "plain_inference: error: %s\n", error.what());
    return 1;
  }
}
