#include "cli/signals.h"

#include <array>
#include <atomic>
#include <csignal>
#include <string_view>

#include <unistd.h>

#include "halfstep/support/file.h"
#include "halfstep/support/progress.h"

namespace halfstep::cli {
namespace {

constexpr std::array<int, 3> kSignals = {SIGINT, SIGTERM, SIGHUP};
constexpr int kInterrupted = 130;

// A signal handler can't be given anything: this is the one mutable global of the command.
std::atomic<Progress*> running{nullptr};  // NOLINT(*-avoid-non-const-global-variables)

void write_error(std::string_view text) {
  [[maybe_unused]] const auto written = write(STDERR_FILENO, text.data(), text.size());
}

void on_signal(int /*signal*/) {
  Progress* progress = running.load();
  if (progress != nullptr && !progress->cancelled()) {
    progress->cancel();
    write_error("\nstopping at the next step (again: at once)\n");
    return;
  }
  remove_temporaries();
  _exit(kInterrupted);
}

void handle_signals(void (*handler)(int)) {
  struct sigaction action{};
  action.sa_handler = handler;
  action.sa_flags = SA_RESTART;
  sigemptyset(&action.sa_mask);
  for (const int signal : kSignals) {
    struct sigaction before{};
    sigaction(signal, nullptr, &before);
    if (before.sa_handler != SIG_IGN) {  // nohup, and shells that start jobs in the background
      sigaction(signal, &action, nullptr);
    }
  }
}

}  // namespace

SignalGuard::SignalGuard(Progress& progress) {
  running = &progress;
  handle_signals(on_signal);
}

SignalGuard::~SignalGuard() {
  handle_signals(SIG_DFL);
  running = nullptr;
}

}  // namespace halfstep::cli
