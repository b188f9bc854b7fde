#include "samples.h"

#include <filesystem>
#include <string>
#include <utility>

#include <nanobind/stl/filesystem.h>
#include <nanobind/stl/string.h>

#include "arrays.h"
#include "halfstep/support/error.h"

namespace halfstep::python {
namespace {

std::optional<std::size_t> length_of(nb::handle value) {
  if (!nb::hasattr(value, "__len__")) {
    return std::nullopt;
  }
  return nb::len(value);
}

/// Samples from a Python iterable. Python's lock is taken for each of them only.
class IterableSamples final : public SampleSource {
 public:
  IterableSamples(nb::handle iterable, std::vector<TensorInfo> inputs, const SampleOptions& options)
      : iterator_(nb::iter(iterable)),
        size_(length_of(iterable)),
        inputs_(std::move(inputs)),
        options_(options) {}

  [[nodiscard]] std::optional<std::size_t> size() const override { return size_; }
  [[nodiscard]] std::string where() const override {
    return "sample " + std::to_string(index_ - 1);
  }

  [[nodiscard]] std::optional<Sample> next() override {
    std::optional<Sample> sample = take();
    if (sample) {
      check_sample(*sample, inputs_, where(), options_);
    }
    return sample;
  }

 private:
  std::optional<Sample> take() {
    const nb::gil_scoped_acquire lock;
    const nb::object value = nb::steal(PyIter_Next(iterator_.ptr()));
    if (!value.is_valid()) {
      if (PyErr_Occurred() != nullptr) {
        throw nb::python_error();
      }
      return std::nullopt;
    }
    ++index_;
    try {
      return sample_of(value, inputs_);
    } catch (const Error& error) {
      throw error.within(where());
    }
  }

  nb::object iterator_;
  std::optional<std::size_t> size_;
  std::vector<TensorInfo> inputs_;
  SampleOptions options_;
  std::size_t index_ = 0;
};

Tensor tensor_named(const std::string& input, nb::handle value) {
  try {
    return tensor_of(value);
  } catch (const Error& error) {
    throw error.within("input '" + input + "'");
  }
}

bool is_path(nb::handle value) {
  return nb::isinstance<nb::str>(value) || nb::hasattr(value, "__fspath__");
}

}  // namespace

Sample sample_of(nb::handle value, std::span<const TensorInfo> inputs) {
  Sample sample;
  if (nb::isinstance<nb::dict>(value)) {
    for (const auto& [key, array] : nb::borrow<nb::dict>(value)) {
      const std::string input = nb::cast<std::string>(nb::str(key));
      sample.emplace(input, tensor_named(input, array));
    }
  } else if (inputs.size() == 1) {
    sample.emplace(inputs[0].name, tensor_named(inputs[0].name, value));
  } else {
    throw Error(ErrorKind::invalid_argument,
                "a value of type " + nb::cast<std::string>(value.type().attr("__name__")) +
                    " for a model of " + std::to_string(inputs.size()) +
                    " inputs; expected a dict of arrays by input name");
  }
  return sample;
}

std::unique_ptr<SampleSource> samples_of(nb::handle value, std::vector<TensorInfo> inputs,
                                         const SampleOptions& options) {
  if (value.is_none()) {
    return nullptr;
  }
  if (is_path(value)) {
    return open_samples(nb::cast<std::filesystem::path>(value), inputs, options);
  }
  if (!nb::hasattr(value, "__iter__")) {
    throw Error(ErrorKind::invalid_argument,
                "calibration is of type " + nb::cast<std::string>(value.type().attr("__name__")) +
                    "; expected a path or an iterable of samples");
  }
  return std::make_unique<IterableSamples>(value, std::move(inputs), options);
}

}  // namespace halfstep::python
