// The numerical core on a [4096, 4096] float32 tensor: ranges, quantization, packing. CPU time;
// GB/s are bytes of the input. Run with --benchmark_filter=..., HALFSTEP picks the best instruction
// set.
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <map>
#include <string>
#include <vector>

#include <benchmark/benchmark.h>

#include "halfstep/core/fake_quantizer.h"
#include "halfstep/core/kernels/isa.h"
#include "halfstep/core/kernels/minmax/minmax.h"
#include "halfstep/core/quantize.h"

namespace {

using halfstep::FloatSpan;
using halfstep::FloatView;
using halfstep::Granularity;
using halfstep::Mapping;
using halfstep::QuantizationSpec;
using halfstep::Role;
using halfstep::TensorView;
using halfstep::UnitGrid;

constexpr std::int64_t kSide = 4096;
constexpr std::size_t kCount = kSide * kSide;

const std::vector<float>& values() {
  static const std::vector<float> data = [] {
    std::vector<float> x(kCount);
    std::uint32_t state = 1;
    for (float& value : x) {
      state = state * 1664525U + 1013904223U;
      value = (static_cast<float>(state >> 8) * 0x1p-23F - 1.0F) * 4;
    }
    return x;
  }();
  return data;
}

TensorView<const float> view() { return {values().data(), {kSide, kSide}}; }

const std::map<std::string, QuantizationSpec>& specs() {
  using halfstep::Dtype;
  static const std::map<std::string, QuantizationSpec> all = {
      {"int8_tensor", {}},
      {"int8_channel0", {.granularity = halfstep::PerChannel{0}}},
      {"int8_channel1", {.granularity = halfstep::PerChannel{1}}},
      {"int4_block32", {.dtype = Dtype::int4, .granularity = halfstep::PerBlock{1, {32}}}},
      {"int4_block32_minval",
       {.dtype = Dtype::int4,
        .qscheme = halfstep::Scheme::asymmetric,
        .qformulation = halfstep::Formulation::minval,
        .granularity = halfstep::PerBlock{1, {32}}}},
      {"fp8_tensor", {.dtype = Dtype::float8_e4m3fn}},
      {"mxfp4_block32",
       {.dtype = Dtype::float4_e2m1fn_x2, .granularity = halfstep::PerBlock{1, {32}}}},
      {"mxfp8_block32",
       {.dtype = Dtype::float8_e4m3fn,
        .granularity = halfstep::PerBlock{1, {32}},
        .scale_dtype = Dtype::float8_e8m0fnu}},
  };
  return all;
}

void set_rate(benchmark::State& state) {
  state.SetBytesProcessed(static_cast<std::int64_t>(state.iterations()) *
                          static_cast<std::int64_t>(kCount * sizeof(float)));
}

void read_bandwidth(benchmark::State& state) {
  const std::vector<float>& x = values();
  for (auto _ : state) {
    std::uint64_t sum[8] = {};
    const auto* words = reinterpret_cast<const std::uint64_t*>(x.data());
    for (std::size_t i = 0; i < kCount / 2; i += 8) {
      for (std::size_t j = 0; j < 8; ++j) {
        sum[j] ^= words[i + j];
      }
    }
    benchmark::DoNotOptimize(sum);
  }
  set_rate(state);
}

void copy(benchmark::State& state) {
  std::vector<float> y(kCount);
  for (auto _ : state) {
    std::memcpy(y.data(), values().data(), kCount * sizeof(float));
    benchmark::ClobberMemory();
  }
  set_rate(state);
}

void flat_minmax(benchmark::State& state) {
  for (auto _ : state) {
    benchmark::DoNotOptimize(halfstep::minmax(values().data(), kCount));
  }
  set_rate(state);
}

void range(benchmark::State& state, const QuantizationSpec& spec) {
  const UnitGrid grid = halfstep::unit_grid(spec.granularity, {kSide, kSide}, Role::weight);
  const auto threads = static_cast<int>(state.range(0));
  for (auto _ : state) {
    benchmark::DoNotOptimize(
        halfstep::measure_range(view(), grid, halfstep::Policy::safe, threads));
  }
  set_rate(state);
}

void codes(benchmark::State& state, const QuantizationSpec& spec) {
  const auto threads = static_cast<int>(state.range(0));
  std::vector<std::byte> q(kCount);
  for (auto _ : state) {
    const Mapping mapping = halfstep::fit(view(), halfstep::resolve(spec, Role::weight), threads);
    halfstep::quantize(view(), mapping, q, threads);
    benchmark::ClobberMemory();
  }
  set_rate(state);
}

void observe_codes_values(benchmark::State& state, const QuantizationSpec& spec) {
  const auto threads = static_cast<int>(state.range(0));
  std::vector<std::byte> q(kCount);
  std::vector<float> y(kCount);
  for (auto _ : state) {
    const Mapping mapping = halfstep::fit(view(), halfstep::resolve(spec, Role::weight), threads);
    halfstep::quantize_and_fake_quantize(FloatView(view()), mapping, q,
                                         FloatSpan(TensorView<float>(y.data(), {kSide, kSide})),
                                         threads);
    benchmark::ClobberMemory();
  }
  set_rate(state);
}

void observe_values(benchmark::State& state, const QuantizationSpec& spec) {
  const auto threads = static_cast<int>(state.range(0));
  std::vector<float> y(kCount);
  for (auto _ : state) {
    halfstep::FakeQuantize quantizer(spec, Role::weight);
    quantizer.forward(FloatView(view()), FloatSpan(TensorView<float>(y.data(), {kSide, kSide})),
                      threads);
    benchmark::ClobberMemory();
  }
  set_rate(state);
}

void pack_int4(benchmark::State& state) {
  const std::vector<std::byte> q(kCount, std::byte{3});
  std::vector<std::byte> packed(kCount / 2);
  for (auto _ : state) {
    halfstep::pack(q, halfstep::Dtype::int4, packed);
    benchmark::ClobberMemory();
  }
  state.SetBytesProcessed(static_cast<std::int64_t>(state.iterations()) *
                          static_cast<std::int64_t>(kCount));
}

const bool kRegistered = [] {
  benchmark::RegisterBenchmark("read", read_bandwidth);
  benchmark::RegisterBenchmark("copy", copy);
  benchmark::RegisterBenchmark("minmax", flat_minmax);
  benchmark::RegisterBenchmark("pack_int4", pack_int4);
  for (const auto& [name, spec] : specs()) {
    for (const auto& [what, run] :
         std::map<std::string, void (*)(benchmark::State&, const QuantizationSpec&)>{
             {"range/", range},
             {"codes/", codes},
             {"observe+values/", observe_values},
             {"observe+codes+values/", observe_codes_values}}) {
      benchmark::RegisterBenchmark(
          (what + name).c_str(),
          [run = run, spec = spec](benchmark::State& state) { run(state, spec); })
          ->Arg(1)
          ->Arg(2)
          ->Unit(benchmark::kMillisecond)
          ->MeasureProcessCPUTime();
    }
  }
  return true;
}();

}  // namespace
