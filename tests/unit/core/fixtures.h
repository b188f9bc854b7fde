#pragma once

// Data and specs that several tests of the numerical core share.
#include <cstdint>
#include <string>
#include <vector>

#include "halfstep/core/kernels/isa.h"
#include "halfstep/core/spec.h"

namespace halfstep::testing_core {

/// Values in [-4, 4) that look random and are the same everywhere.
inline std::vector<float> noise(std::size_t count, std::uint32_t seed = 1) {
  std::vector<float> x(count);
  for (float& value : x) {
    seed = seed * 1664525U + 1013904223U;
    value = (static_cast<float>(seed >> 8) * 0x1p-23F - 1.0F) * 4;
  }
  return x;
}

/// Instruction sets this machine can run, the reference first.
inline std::vector<kernels::Isa> isas() {
  std::vector<kernels::Isa> all;
  for (const kernels::Isa isa :
       {kernels::Isa::reference, kernels::Isa::neon, kernels::Isa::avx2, kernels::Isa::avx512}) {
    if (kernels::available(isa)) {
      all.push_back(isa);
    }
  }
  return all;
}

/// Every granularity that fits a tensor of shape [6, 8, 4].
inline std::vector<Granularity> granularities() {
  return {PerTensor{},
          PerChannel{0},
          PerChannel{1},
          PerChannel{-1},
          PerBlock{0, {3}},
          PerBlock{1, {4}},
          PerBlock{2, {2}},
          PerBlock{std::nullopt, {2, -1, 4}},
          PerBlock{std::nullopt, {1, 1, 1}}};
}

/// Every legal spec of every dtype, scheme, formulation and scale type, with `granularity`.
inline std::vector<QuantizationSpec> legal_specs(const Granularity& granularity) {
  std::vector<QuantizationSpec> specs;
  for (const DtypeInfo& row : dtypes()) {
    for (const Scheme scheme : {Scheme::symmetric, Scheme::symmetric_with_clipping,
                                Scheme::asymmetric, Scheme::symmetric_aimet}) {
      for (const Formulation formulation : {Formulation::zp, Formulation::minval}) {
        for (const bool power_of_two : {false, true}) {
          QuantizationSpec spec{.dtype = row.dtype,
                                .qscheme = scheme,
                                .qformulation = formulation,
                                .granularity = granularity};
          if (power_of_two) {
            spec.scale_dtype = Dtype::float8_e8m0fnu;
          }
          if (broken_rules(spec).empty()) {
            specs.push_back(spec);
          }
        }
      }
    }
  }
  return specs;
}

inline std::string describe(const QuantizationSpec& spec) { return to_json(spec).dump(); }

}  // namespace halfstep::testing_core
