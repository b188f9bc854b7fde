// Drives a fuzz target without libFuzzer: runs each given file, then changed copies of them. The
// same arguments give the same inputs. usage: fuzz_model_reader [--runs N] FILE...
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <iterator>
#include <random>
#include <string>
#include <string_view>
#include <vector>

// NOLINTNEXTLINE(readability-identifier-naming): libFuzzer's name
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

namespace {

using Bytes = std::vector<std::uint8_t>;

std::size_t below(std::mt19937& random, std::size_t end) {
  return end == 0 ? 0 : static_cast<std::size_t>(random()) % end;
}

void mutate(Bytes& bytes, const Bytes& other, std::mt19937& random) {
  const auto at = static_cast<std::ptrdiff_t>(below(random, bytes.size()));
  const auto length = static_cast<std::ptrdiff_t>(
      below(random, std::min<std::size_t>(64, bytes.size() - static_cast<std::size_t>(at)) + 1));
  switch (below(random, 6)) {
    case 0:  // one bit
      bytes[static_cast<std::size_t>(at)] ^= static_cast<std::uint8_t>(1U << below(random, 8));
      break;
    case 1:  // one byte
      bytes[static_cast<std::size_t>(at)] = static_cast<std::uint8_t>(random());
      break;
    case 2:  // cut out
      bytes.erase(bytes.begin() + at, bytes.begin() + at + length);
      break;
    case 3: {  // repeat
      const Bytes part(bytes.begin() + at, bytes.begin() + at + length);
      bytes.insert(bytes.begin() + at, part.begin(), part.end());
      break;
    }
    case 4:  // cut off
      bytes.resize(static_cast<std::size_t>(at) + 1);
      break;
    default: {  // splice
      const auto from = static_cast<std::ptrdiff_t>(below(random, other.size()));
      const auto size = std::min<std::ptrdiff_t>(length, std::ssize(other) - from);
      bytes.insert(bytes.begin() + at, other.begin() + from, other.begin() + from + size);
    }
  }
}

void run(const Bytes& bytes) { LLVMFuzzerTestOneInput(bytes.data(), bytes.size()); }

}  // namespace

int main(int argc, char** argv) {  // NOLINT(misc-const-correctness): the standard's signature
  std::size_t runs = 0;
  std::vector<Bytes> seeds;
  for (int i = 1; i < argc; ++i) {
    if (std::string_view(argv[i]) == "--runs" && i + 1 < argc) {
      runs = std::strtoull(argv[++i], nullptr, 10);
      continue;
    }
    std::ifstream file(argv[i], std::ios::binary);
    seeds.emplace_back(std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>());
    if (seeds.back().empty()) {
      std::cerr << argv[i] << ": cannot be read or is empty\n";
      return 2;
    }
    run(seeds.back());
  }
  std::mt19937 random(1);  // NOLINT(bugprone-random-generator-seed): the same inputs each time
  for (std::size_t i = 0; i < runs && !seeds.empty(); ++i) {
    Bytes bytes = seeds[below(random, seeds.size())];
    for (std::size_t changes = 1 + below(random, 4); changes > 0 && !bytes.empty(); --changes) {
      mutate(bytes, seeds[below(random, seeds.size())], random);
    }
    run(bytes);
  }
  std::cout << seeds.size() << " files, " << runs << " changed copies\n";
  return 0;
}
