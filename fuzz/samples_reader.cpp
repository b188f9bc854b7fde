// libFuzzer target: any bytes are either samples for the inputs below, or an Error that says why
// not. The first byte chooses between a .npz of samples, a .npz in a folder and a .npy in a folder.
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <span>
#include <string>
#include <vector>

#include "halfstep/calibration/samples.h"
#include "halfstep/support/error.h"
#include "halfstep/support/file.h"

namespace {

void write(const std::filesystem::path& path, std::span<const std::uint8_t> bytes) {
  std::ofstream file(path, std::ios::binary | std::ios::trunc);
  file.write(reinterpret_cast<const char*>(bytes.data()), std::ssize(bytes));
}

void read_all(const std::filesystem::path& data, bool cast) {
  const std::vector<halfstep::TensorInfo> inputs{
      {.name = "x", .dtype = halfstep::Dtype::float32, .shape = {1, 3, -1}},
      {.name = "ids", .dtype = halfstep::Dtype::int64, .shape = {-1}}};
  const std::span<const halfstep::TensorInfo> used =
      data.extension() == ".npz" ? std::span(inputs) : std::span(inputs).first(1);
  const auto samples = halfstep::open_samples(data, used, {.cast_inputs = cast});
  while (const auto sample = samples->next()) {
    for (const auto& [name, tensor] : *sample) {
      if (tensor.bytes() > 0 && tensor.data == nullptr) {
        __builtin_trap();
      }
    }
  }
}

}  // namespace

// NOLINTNEXTLINE(readability-identifier-naming): libFuzzer's name
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const halfstep::TemporaryDirectory folder;
  if (size == 0) {
    return 0;
  }
  const std::span<const std::uint8_t> bytes(data + 1, size - 1);
  const int kind = data[0] % 3;
  const std::filesystem::path place = folder.path() / ("kind" + std::to_string(kind));
  std::filesystem::create_directories(place);
  const std::filesystem::path file = place / (kind == 2 ? "0.npy" : "0.npz");
  write(file, bytes);
  try {
    read_all(kind == 0 ? file : place, (data[0] & 4U) != 0);
  } catch (const halfstep::Error& error) {
    if (error.kind() == halfstep::ErrorKind::internal) {
      __builtin_trap();
    }
  }
  return 0;
}
