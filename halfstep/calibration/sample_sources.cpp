#include "halfstep/calibration/sample_sources.h"

#include <algorithm>
#include <charconv>
#include <map>
#include <string_view>
#include <utility>

#include "halfstep/calibration/npz.h"
#include "halfstep/support/diagnostic_text.h"

namespace halfstep {
namespace {

namespace fs = std::filesystem;

using Inputs = std::vector<TensorInfo>;

[[noreturn]] void refuse(const fs::path& path, const std::string& what) {
  throw Error(ErrorKind::invalid_file, what).within(path.string());
}

std::string input_list(const Inputs& inputs) {
  std::string text;
  for (const TensorInfo& input : inputs) {
    text += (text.empty() ? "\"" : ", \"") + input.name + "\"";
  }
  return text;
}

Tensor read_array(NpyArray array, const std::string& where) {
  try {
    return array.read();
  } catch (const Error& error) {
    throw error.within(where);
  }
}

class FolderSource final : public SampleSource {
 public:
  FolderSource(std::vector<fs::path> files, Inputs inputs, const SampleOptions& options)
      : files_(std::move(files)), inputs_(std::move(inputs)), options_(options) {}

  [[nodiscard]] std::optional<std::size_t> size() const override { return files_.size(); }

  [[nodiscard]] std::optional<Sample> next() override {
    if (position_ == files_.size()) {
      return std::nullopt;
    }
    const fs::path& path = files_[position_++];
    where_ = path.string();
    Sample sample = path.extension() == ".npy" ? read_npy(path) : read_npz(path);
    check_sample(sample, inputs_, where_, options_);
    return sample;
  }

  [[nodiscard]] std::string where() const override { return where_; }
  [[nodiscard]] std::vector<fs::path> files() const override { return files_; }

 private:
  Sample read_npy(const fs::path& path) {
    if (inputs_.size() != 1) {
      refuse(path, "a .npy file feeds a model with one input, this one has " +
                       std::to_string(inputs_.size()) + " (" + input_list(inputs_) +
                       "); write .npz files with one array for each");
    }
    try {
      return {{inputs_.front().name, NpyArray(std::make_unique<FileStream>(path)).read()}};
    } catch (const Error& error) {
      throw error.context().front() == path.string() ? error : error.within(path.string());
    }
  }

  static Sample read_npz(const fs::path& path) {
    const NpzFile file(path);
    Sample sample;
    for (std::size_t i = 0; i < file.keys().size(); ++i) {
      const std::string& key = file.keys()[i];
      sample.emplace(key, read_array(file.open(i), path.string() + "/" + key));
    }
    return sample;
  }

  std::vector<fs::path> files_;
  Inputs inputs_;
  SampleOptions options_;
  std::size_t position_ = 0;
  std::string where_{};
};

/// Which input a key means; empty if it has the form of a sample's key ("NNN/input") and no input
/// fits.
struct KeyParts {
  std::string sample{};  ///< "" for a key that is an input
  std::string input{};
};

std::optional<KeyParts> split_key(const std::string& key, const Inputs& inputs) {
  std::optional<KeyParts> best;
  for (const TensorInfo& input : inputs) {
    if (key == input.name) {
      return KeyParts{.input = key};
    }
    // Names of inputs may hold slashes themselves: the longest one that fits is meant.
    if (key.ends_with("/" + input.name) && (!best || best->input.size() < input.name.size())) {
      best = KeyParts{.sample = key.substr(0, key.size() - input.name.size() - 1),
                      .input = input.name};
    }
  }
  return best;
}

/// Numbers by value, then other names.
bool sample_order(const std::string& a, const std::string& b) {
  const auto number = [](const std::string& text) {
    std::uint64_t value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    const bool whole = error == std::errc() && end == text.data() + text.size();
    return std::pair(!whole, whole ? value : 0);
  };
  return std::pair(number(a), a) < std::pair(number(b), b);
}

class NumberedSource final : public SampleSource {
 public:
  /// `members`: for each sample, the inputs and the positions of their arrays in `file`.
  using Members = std::map<std::string, std::map<std::string, std::size_t>>;
  NumberedSource(NpzFile file, const Members& members, Inputs inputs, const SampleOptions& options)
      : file_(std::move(file)),
        samples_(members.begin(), members.end()),
        inputs_(std::move(inputs)),
        options_(options) {
    std::sort(samples_.begin(), samples_.end(),
              [](const auto& a, const auto& b) { return sample_order(a.first, b.first); });
  }

  [[nodiscard]] std::optional<std::size_t> size() const override { return samples_.size(); }

  [[nodiscard]] std::optional<Sample> next() override {
    if (position_ == samples_.size()) {
      return std::nullopt;
    }
    const auto& [name, members] = samples_[position_++];
    where_ = file_.path().string() + "/" + name;
    Sample sample;
    for (const auto& [input, member] : members) {
      sample.emplace(input, read_array(file_.open(member), where_ + "/" + input));
    }
    check_sample(sample, inputs_, where_, options_);
    return sample;
  }

  [[nodiscard]] std::string where() const override { return where_; }
  [[nodiscard]] std::vector<fs::path> files() const override { return {file_.path()}; }

 private:
  NpzFile file_;
  std::vector<std::pair<std::string, std::map<std::string, std::size_t>>> samples_;
  Inputs inputs_;
  SampleOptions options_;
  std::size_t position_ = 0;
  std::string where_{};
};

/// Keys are inputs; the samples lie along the first axis.
class StackedSource final : public SampleSource {
 public:
  StackedSource(const NpzFile& file, Inputs inputs, const SampleOptions& options)
      : path_(file.path()), inputs_(std::move(inputs)), options_(options) {
    for (std::size_t i = 0; i < file.keys().size(); ++i) {
      add(file.keys()[i], file.open(i));
    }
    for (const TensorInfo& input : inputs_) {
      if (!arrays_.contains(input.name)) {
        refuse(path_, "no array for input \"" + input.name + "\"");
      }
    }
    if (count_ == 0) {
      refuse(path_, "the arrays hold no sample (their first axis is empty)");
    }
  }

  [[nodiscard]] std::optional<std::size_t> size() const override { return count_; }

  [[nodiscard]] std::optional<Sample> next() override {
    if (position_ == count_) {
      return std::nullopt;
    }
    where_ = path_.string() + "[" + std::to_string(position_++) + "]";
    Sample sample;
    for (auto& [name, array] : arrays_) {
      try {
        Tensor slice = array.npy.next_slice();
        if (array.keeps_axis) {
          slice.shape.insert(slice.shape.begin(), 1);
        }
        sample.emplace(name, std::move(slice));
      } catch (const Error& error) {
        throw error.within(path_.string() + "/" + name);
      }
    }
    check_sample(sample, inputs_, where_, options_);
    return sample;
  }

  [[nodiscard]] std::string where() const override { return where_; }
  [[nodiscard]] std::vector<fs::path> files() const override { return {path_}; }

 private:
  struct Array {
    NpyArray npy;
    bool keeps_axis;
  };

  void add(const std::string& key, NpyArray npy) {
    const auto input = std::find_if(inputs_.begin(), inputs_.end(),
                                    [&](const TensorInfo& info) { return info.name == key; });
    const Shape shape = npy.header().shape;
    // An input whose rank is unknown takes a[i] whatever that is.
    const bool any_rank = input->shape.empty() && !shape.empty();
    const std::size_t rank = any_rank ? shape.size() - 1 : input->shape.size();
    if (shape.empty() || (shape.size() != rank && shape.size() != rank + 1)) {
      refuse(path_, "array \"" + key + "\" has the shape " + to_text(shape) +
                        ", but the input has " + counted(rank, "axis", "axes") +
                        "; stack the samples along a first axis");
    }
    const auto count = static_cast<std::size_t>(shape.front());
    if (!arrays_.empty() && count != count_) {
      refuse(path_, "array \"" + key + "\" holds " + counted(count, "sample") +
                        " along its first axis, \"" + arrays_.begin()->first + "\" holds " +
                        std::to_string(count_));
    }
    if (count > 0 && std::find(shape.begin(), shape.end(), 0) != shape.end()) {
      refuse(path_, "array \"" + key + "\" has the shape " + to_text(shape) + " and is empty");
    }
    count_ = count;
    arrays_.emplace(key, Array{.npy = std::move(npy), .keeps_axis = shape.size() == rank});
  }

  fs::path path_;
  Inputs inputs_;
  SampleOptions options_;
  std::map<std::string, Array> arrays_{};
  std::size_t count_ = 0;
  std::size_t position_ = 0;
  std::string where_{};
};

[[noreturn]] void refuse_key(const fs::path& path, const std::string& key, const Inputs& inputs) {
  std::vector<std::string> names;
  for (const TensorInfo& input : inputs) {
    names.push_back(input.name);
  }
  const std::string last = key.substr(key.rfind('/') + 1);
  const std::string closest = closest_match(last, names);
  refuse(path, "key \"" + key + "\" is neither an input (" + input_list(inputs) +
                   ") nor \"NNN/input\"" +
                   (closest.empty() ? std::string() : "; did you mean \"" + closest + "\"?"));
}

}  // namespace

std::unique_ptr<SampleSource> folder_source(std::vector<fs::path> files,
                                            std::span<const TensorInfo> inputs,
                                            const SampleOptions& options) {
  return std::make_unique<FolderSource>(std::move(files), Inputs(inputs.begin(), inputs.end()),
                                        options);
}

std::unique_ptr<SampleSource> npz_source(const fs::path& path, std::span<const TensorInfo> inputs,
                                         const SampleOptions& options) {
  const Inputs known(inputs.begin(), inputs.end());
  NpzFile file(path);
  NumberedSource::Members members;
  std::size_t stacked = 0;
  for (std::size_t i = 0; i < file.keys().size(); ++i) {
    const auto parts = split_key(file.keys()[i], known);
    if (!parts) {
      refuse_key(path, file.keys()[i], known);
    }
    stacked += parts->sample.empty() ? 1U : 0U;
    members[parts->sample][parts->input] = i;
  }
  if (stacked == file.keys().size()) {
    return std::make_unique<StackedSource>(file, known, options);
  }
  if (stacked > 0) {
    refuse(path, "some keys are inputs and others \"NNN/input\"; use one form");
  }
  return std::make_unique<NumberedSource>(std::move(file), members, known, options);
}

}  // namespace halfstep
