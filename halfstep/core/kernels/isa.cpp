#include "halfstep/core/kernels/isa.h"

#include <atomic>
#include <initializer_list>

namespace halfstep::kernels {
namespace {

constexpr int kNotForced = -1;

std::atomic<int>& forced() noexcept {
  static std::atomic<int> value{kNotForced};
  return value;
}

Isa best_isa() noexcept {
  for (const Isa isa : {Isa::avx512, Isa::avx2, Isa::neon}) {
    if (available(isa)) {
      return isa;
    }
  }
  return Isa::reference;
}

}  // namespace

const char* name(Isa isa) noexcept {
  switch (isa) {
    case Isa::reference:
      return "reference";
    case Isa::neon:
      return "neon";
    case Isa::avx2:
      return "avx2";
    case Isa::avx512:
      return "avx512";
  }
  return "";
}

bool available(Isa isa) noexcept {
#if defined(__x86_64__)
#if defined(__clang__) && __clang_major__ < 15
  // Older Clangs do not know the name f16c; processors with AVX2 have both.
  static const bool avx2 = __builtin_cpu_supports("avx2");
#else
  static const bool avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("f16c");
#endif
  static const bool avx512 =
      avx2 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
      __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl");
  return isa == Isa::reference || (isa == Isa::avx2 && avx2) || (isa == Isa::avx512 && avx512);
#elif defined(__aarch64__)
  return isa == Isa::reference || isa == Isa::neon;
#else
  return isa == Isa::reference;
#endif
}

Isa active_isa() noexcept {
  static const Isa best = best_isa();
  const int chosen = forced().load(std::memory_order_relaxed);
  return chosen == kNotForced ? best : static_cast<Isa>(chosen);
}

ForcedIsa::ForcedIsa(Isa isa) noexcept : previous_(forced().load()) {
  if (available(isa)) {
    forced().store(static_cast<int>(isa));
  }
}

ForcedIsa::~ForcedIsa() { forced().store(previous_); }

}  // namespace halfstep::kernels
