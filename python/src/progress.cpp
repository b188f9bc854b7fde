#include "progress.h"

namespace halfstep::python {

void PythonProgress::begin(std::string_view name, std::uint64_t total) {
  phase_ = name;
  total_ = total;
  report(0);
}

void PythonProgress::update(std::uint64_t done) { report(done); }

void PythonProgress::end() {
  phase_.clear();
  total_ = 0;
}

void PythonProgress::rethrow() const {
  if (failure_) {
    std::rethrow_exception(failure_);
  }
}

void PythonProgress::report(std::uint64_t done) {
  const nb::gil_scoped_acquire lock;
  if (failure_) {
    return;
  }
  try {
    if (PyErr_CheckSignals() != 0) {
      throw nb::python_error();
    }
    if (!callback_.is_none()) {
      callback_(nb::str(phase_.c_str(), phase_.size()), done, total_);
    }
  } catch (const nb::python_error&) {
    failure_ = std::current_exception();
    cancel();
  }
}

}  // namespace halfstep::python
