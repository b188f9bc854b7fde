#include "cli/images.h"

#include <array>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include <fcntl.h>
#include <unistd.h>

#include "halfstep/calibration/samples.h"
#include "halfstep/engines/engine.h"
#include "halfstep/support/child_process.h"
#include "halfstep/support/diagnostic.h"
#include "halfstep/support/error.h"
#include "halfstep/support/json.h"
#include "halfstep/support/tensor_view.h"

namespace halfstep::cli {
namespace {

constexpr const char* kInstall = "pip install 'halfstep[images]'";
// A frame of the worker: its kind, then the length of its content as 8 little-endian bytes.
constexpr std::size_t kHeaderSize = 9;
constexpr std::uint64_t kLongestText = std::uint64_t{1} << 20U;

[[noreturn]] void fail_system(const std::string& what) {
  throw Error(ErrorKind::io, what + ": " + std::generic_category().message(errno));
}

/// The running worker: its frames, and what it wrote to standard error.
class Worker {
 public:
  Worker(const std::string& python, const std::string& request);
  Worker(const Worker&) = delete;
  Worker& operator=(const Worker&) = delete;
  ~Worker() = default;

  struct Frame {
    char kind = 0;
    std::vector<std::byte> content{};
  };
  /// Errors: that of the worker if it ends or sends an error; `size` is that of a sample.
  [[nodiscard]] Frame read_frame(std::uint64_t size);

 private:
  [[nodiscard]] bool read_exactly(std::byte* target, std::size_t size);
  [[noreturn]] void fail_ended();
  [[noreturn]] static void fail_reported(const std::vector<std::byte>& content);

  std::string python_;
  Descriptor frames_{};
  std::optional<ChildProcess> process_{};
};

Worker::Worker(const std::string& python, const std::string& request) : python_(python) {
  std::array<int, 2> ends{};
  if (pipe2(ends.data(), O_CLOEXEC) != 0) {
    fail_system("cannot make a pipe for the images");
  }
  frames_.reset(ends[0]);
  const Descriptor write_end(ends[1]);
  // -P: a halfstep or numpy in the current directory is not the installed one.
  process_.emplace(
      ChildStart{.arguments = {python, "-P", "-m", "halfstep._worker", "images", request},
                 .what = "the image worker",
                 .output = write_end.get()});
}

bool Worker::read_exactly(std::byte* target, std::size_t size) {
  for (std::size_t done = 0; done < size;) {
    const ssize_t count = ::read(frames_.get(), target + done, size - done);
    if (count < 0 && errno == EINTR) {
      continue;
    }
    if (count < 0) {
      fail_system("cannot read from the image worker");
    }
    if (count == 0) {
      return false;
    }
    done += static_cast<std::size_t>(count);
  }
  return true;
}

void Worker::fail_ended() {
  (void)process_->exit_code();  // it has written all its messages
  const std::string last = process_->last_lines(1);
  throw Error(ErrorKind::unsupported,
              "the image worker (" + python_ + " -m halfstep._worker) stopped" +
                  (last.empty() ? "" : ": " + last) + "; images need: " + kInstall);
}

void Worker::fail_reported(const std::vector<std::byte>& content) {
  const std::string text(reinterpret_cast<const char*>(content.data()), content.size());
  const Json report = parse_json(text, "message of the image worker");
  const bool missing = report.at("kind") == "unsupported";
  throw Error(missing ? ErrorKind::unsupported : ErrorKind::invalid_file,
              report.at("message").get<std::string>() +
                  (missing ? std::string("; images need: ") + kInstall : ""));
}

Worker::Frame Worker::read_frame(std::uint64_t size) {
  std::array<std::byte, kHeaderSize> header{};
  if (!read_exactly(header.data(), header.size())) {
    fail_ended();
  }
  Frame frame{.kind = static_cast<char>(header[0])};
  std::uint64_t length = 0;
  for (std::size_t i = 0; i < 8; ++i) {
    length |= std::to_integer<std::uint64_t>(header[1 + i]) << (8 * i);
  }
  if (length > std::max(size, kLongestText)) {
    throw Error(ErrorKind::internal, "the image worker sent a frame of " + std::to_string(length) +
                                         " bytes, expected " + std::to_string(size));
  }
  frame.content.resize(length);
  if (!read_exactly(frame.content.data(), frame.content.size())) {
    fail_ended();
  }
  if (frame.kind == 'E') {
    fail_reported(frame.content);
  }
  return frame;
}

std::string text_of(const Worker::Frame& frame) {
  return {reinterpret_cast<const char*>(frame.content.data()), frame.content.size()};
}

Shape sample_shape(const Json& request) {
  const bool channels_first = request.at("layout") == "NCHW";
  const auto extent = [&](const char* key) { return request.at(key).get<std::int64_t>(); };
  Shape shape = channels_first ? Shape{extent("channels"), extent("height"), extent("width")}
                               : Shape{extent("height"), extent("width"), extent("channels")};
  if (request.at("batch").get<bool>()) {
    shape.insert(shape.begin(), 1);
  }
  return shape;
}

/// Frames: one 'L' (JSON: how many images, which files are none), then 'N' (name) and 'S' (sample)
/// for each image; or 'E' (JSON: kind and message) at any place.
class ImageSource final : public SampleSource {
 public:
  ImageSource(const Json& request, TensorInfo input, const std::string& python,
              Diagnostics& diagnostics)
      : folder_(request.at("folder").get<std::string>()),
        input_(std::move(input)),
        shape_(sample_shape(request)),
        worker_(python, request.dump()) {
    const Json list = parse_json(text_of(worker_.read_frame(0)), "list of the image worker");
    count_ = list.at("images").get<std::size_t>();
    for (const Json& file : list.at("ignored")) {
      diagnostics.push_back({.severity = Severity::warning,
                             .rule = "samples/not-an-image",
                             .subject = file.get<std::string>(),
                             .message = "left out: not a name of an image"});
    }
  }

  [[nodiscard]] std::optional<std::size_t> size() const override { return count_; }
  [[nodiscard]] std::string where() const override { return where_; }
  /// Every file of the folder, be it an image or not.
  [[nodiscard]] std::vector<std::filesystem::path> files() const override {
    std::error_code error;
    std::filesystem::recursive_directory_iterator entry(folder_, error);
    return error ? std::vector<std::filesystem::path>()
                 : std::vector<std::filesystem::path>(begin(entry), end(entry));
  }

  [[nodiscard]] std::optional<Sample> next() override {
    if (sent_ == count_) {
      return std::nullopt;
    }
    ++sent_;
    where_ = (std::filesystem::path(folder_) / text_of(worker_.read_frame(0))).string();
    const auto size = static_cast<std::size_t>(element_count(shape_)) * storage_size(input_.dtype);
    Worker::Frame frame = worker_.read_frame(size);
    if (frame.content.size() != size) {
      throw Error(ErrorKind::internal, where_ + ": the image worker sent " +
                                           std::to_string(frame.content.size()) +
                                           " bytes, expected " + std::to_string(size));
    }
    Sample sample;
    sample.emplace(input_.name, make_tensor(input_.dtype, shape_, std::move(frame.content)));
    return sample;
  }

 private:
  std::string folder_;
  TensorInfo input_;
  Shape shape_;
  Worker worker_;
  std::size_t count_ = 0;
  std::size_t sent_ = 0;
  std::string where_{};
};

}  // namespace

std::unique_ptr<SampleSource> open_images(const Json& request, const TensorInfo& input,
                                          const std::string& python, Diagnostics& diagnostics) {
  return std::make_unique<ImageSource>(
      request, input, find_python(python, "images are prepared", kInstall), diagnostics);
}

}  // namespace halfstep::cli
