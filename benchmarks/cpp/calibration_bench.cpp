// What observing costs: CPU time per sample of the plain float run and of calibrate(), and the peak
// memory of the process, so each mode is a process of its own.
//
// usage: bench_calibration_bench plain|needed|all MODEL DATA [THREADS]
//   plain   run the model, all optimizations, nothing watched
//   needed  calibrate() with the tensors that a quantized model gives an encoding
//   all     calibrate() with every float tensor

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <string>
#include <vector>

#include <sys/resource.h>

#include "halfstep/calibration/calibrate.h"
#include "halfstep/engines/engine.h"
#include "halfstep/model/graph_index.h"

namespace {

using halfstep::GraphIndex;
using halfstep::Model;

double cpu_seconds() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  const auto seconds = [](const timeval& t) {
    return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_usec) * 1e-6;
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

/// Peak resident memory of this process alone. (ru_maxrss starts with the parent's.)
std::string peak_memory() {
  std::ifstream status("/proc/self/status");
  std::string line;
  while (std::getline(status, line)) {
    if (line.starts_with("VmHWM:")) {
      return std::to_string(std::atol(line.c_str() + 6) / 1024) + " MiB";
    }
  }
  return "?";
}

template <std::size_t n>
bool any_of(const std::array<const char*, n>& list, const std::string& word) {
  return std::find(list.begin(), list.end(), word) != list.end();
}

/// Tensors inside a fused group and behind data movement have no encoding of their own.
bool is_inner(const GraphIndex& graph, const onnx::NodeProto& node, const std::string& tensor) {
  static constexpr std::array kMoves = {"Reshape",   "Transpose", "Flatten", "MaxPool", "Identity",
                                        "Unsqueeze", "Squeeze",   "Gather",  "Split",   "Slice"};
  static constexpr std::array kLinear = {"Conv", "Add", "Gemm", "MatMul"};
  if (any_of(kMoves, node.op_type()) || node.op_type() == "Softmax") {
    return true;
  }
  const auto readers = graph.consumers(tensor);
  if (!any_of(kLinear, node.op_type()) || readers.size() != 1 || graph.is_graph_output(tensor)) {
    return false;
  }
  const std::string& reader = graph.graph().node(readers.front().node).op_type();
  return reader == "Relu" || reader == "Clip" || (node.op_type() == "MatMul" && reader == "Add");
}

std::vector<halfstep::ObservedTensor> observed(const Model& model, bool all) {
  const GraphIndex graph(model);
  const halfstep::QuantizationSpec wish{.dtype = halfstep::Dtype::uint8,
                                        .qscheme = halfstep::Scheme::asymmetric,
                                        .qparam_calculator_cls = "global_minmax",
                                        .policy = halfstep::Policy::safe};
  const halfstep::ResolvedSpec spec = resolve(wish, halfstep::Role::activation);
  std::vector<halfstep::ObservedTensor> tensors;
  for (const onnx::NodeProto& node : model.graph().node()) {
    for (const std::string& tensor : node.output()) {
      const bool is_float = graph.type(tensor).elem_type == onnx::TensorProto::FLOAT;
      if (is_float && (all || !is_inner(graph, node, tensor))) {
        tensors.push_back({.name = tensor, .spec = spec});
      }
    }
  }
  return tensors;
}

struct Stopwatch {
  double start = cpu_seconds();
  [[nodiscard]] double milliseconds() const { return (cpu_seconds() - start) * 1e3; }
};

void report(const char* mode, std::size_t tensors, std::size_t samples, double total_ms) {
  std::printf("%-7s %4zu tensors %4zu samples  %8.1f ms CPU in all, %6.2f per sample, peak %s\n",
              mode, tensors, samples, total_ms, total_ms / static_cast<double>(samples),
              peak_memory().c_str());
}

void plain(const Model& model, halfstep::Engine& engine, halfstep::SampleSource& samples,
           int threads) {
  const Stopwatch watch;
  const auto session = engine.open(model, {.threads = threads});
  std::size_t count = 0;
  while (auto sample = samples.next()) {
    static_cast<void>(session->run(*sample));
    ++count;
  }
  report("plain", 0, count, watch.milliseconds());
}

void calibrated(const Model& model, halfstep::Engine& engine, halfstep::SampleSource& samples,
                int threads, bool all) {
  const auto tensors = observed(model, all);
  halfstep::SilentProgress progress;
  halfstep::Diagnostics diagnostics;
  const Stopwatch watch;
  const auto result = halfstep::calibrate(model, engine, samples, tensors, {.threads = threads},
                                          progress, diagnostics);
  report(all ? "all" : "needed", tensors.size(), result.samples, watch.milliseconds());
}

int run(const std::vector<std::string>& arguments) {
  if (arguments.size() < 3) {
    std::cerr << "usage: bench_calibration_bench plain|needed|all MODEL DATA [THREADS]\n";
    return 2;
  }
  const int threads = arguments.size() > 3 ? std::atoi(arguments[3].c_str()) : 1;
  const Model model = Model::load(arguments[1]);
  const auto inputs = halfstep::sample_inputs(model);
  const auto samples = halfstep::open_samples(arguments[2], inputs);
  const auto engine = halfstep::make_onnxruntime_engine();
  if (arguments[0] == "plain") {
    plain(model, *engine, *samples, threads);
  } else {
    calibrated(model, *engine, *samples, threads, arguments[0] == "all");
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    return run({argv + 1, argv + argc});
  } catch (const halfstep::Error& error) {
    std::cerr << error.what() << "\n";
    return 1;
  }
}
