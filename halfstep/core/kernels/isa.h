#pragma once

#include <cstddef>
#include <cstdint>

namespace halfstep::kernels {

/// Instruction sets that kernels are written for. Results are the same bits on all of them.
enum class Isa : std::uint8_t { reference, neon, avx2, avx512 };

[[nodiscard]] const char* name(Isa isa) noexcept;
/// Whether this processor (and this build) can run kernels of `isa`.
[[nodiscard]] bool available(Isa isa) noexcept;
/// The best available one, unless another is forced.
[[nodiscard]] Isa active_isa() noexcept;

/// Makes the whole process use `isa` while it lives; for tests and benchmarks, one at a time.
/// An `isa` that is not available changes nothing.
class ForcedIsa {
 public:
  explicit ForcedIsa(Isa isa) noexcept;
  ~ForcedIsa();
  ForcedIsa(const ForcedIsa&) = delete;
  ForcedIsa& operator=(const ForcedIsa&) = delete;

 private:
  int previous_;
};

}  // namespace halfstep::kernels
