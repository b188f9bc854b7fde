#include "halfstep/engines/ort/prepare.h"

#include <algorithm>
#include <fstream>
#include <string_view>
#include <unordered_set>
#include <utility>

#include <malloc.h>
#include <onnxruntime_session_options_config_keys.h>

#include "halfstep/engines/ort/values.h"
#include "halfstep/model/graph_index.h"

namespace halfstep::ort {
namespace {

namespace fs = std::filesystem;

/// The watched names, sorted by who makes them.
struct Watched {
  std::vector<std::size_t> inputs{};  ///< graph inputs
  std::vector<std::string> made{};    ///< tensors that the main graph makes; "" in place of inputs
};

[[noreturn]] void refuse(const Model& model, const std::string& tensor, const std::string& why) {
  throw Error(ErrorKind::invalid_argument, "can't watch \"" + tensor + "\": " + why)
      .within(model.name());
}

[[noreturn]] void refuse_unknown(const Model& model, const std::string& tensor) {
  std::vector<std::string> known;
  for (const onnx::NodeProto& node : model.graph().node()) {
    known.insert(known.end(), node.output().begin(), node.output().end());
  }
  const std::string closest = closest_match(tensor, known);
  refuse(model, tensor,
         "the main graph has no such tensor" +
             (closest.empty() ? std::string() : "; did you mean \"" + closest + "\"?"));
}

Watched sort_watched(const Model& model, const std::vector<std::string>& watch) {
  std::unordered_set<std::string_view> made;
  for (const onnx::NodeProto& node : model.graph().node()) {
    made.insert(node.output().begin(), node.output().end());
  }
  for (const onnx::TensorProto& initializer : model.graph().initializer()) {
    made.insert(initializer.name());
  }
  std::unordered_set<std::string_view> inputs;
  for (const onnx::ValueInfoProto& input : model.graph().input()) {
    if (!made.contains(input.name())) {
      inputs.insert(input.name());
    }
  }
  Watched watched;
  std::unordered_set<std::string_view> seen;
  for (std::size_t i = 0; i < watch.size(); ++i) {
    const bool is_input = inputs.contains(watch[i]);
    if (watch[i].empty() || (!is_input && !made.contains(watch[i]))) {
      refuse_unknown(model, watch[i]);
    }
    if (!seen.insert(watch[i]).second) {
      refuse(model, watch[i], "it is in the list twice");
    }
    watched.made.push_back(is_input ? "" : watch[i]);
    if (is_input) {
      watched.inputs.push_back(i);
    }
  }
  return watched;
}

std::vector<std::string> output_names(const onnx::GraphProto& graph) {
  std::vector<std::string> names;
  for (const onnx::ValueInfoProto& output : graph.output()) {
    names.push_back(output.name());
  }
  return names;
}

/// Outputs of `graph` beyond `outputs`.
std::vector<std::string> added_outputs(const onnx::GraphProto& graph,
                                       const std::vector<std::string>& outputs) {
  std::vector<std::string> added = output_names(graph);
  std::erase_if(added, [&](const std::string& name) {
    return std::find(outputs.begin(), outputs.end(), name) != outputs.end();
  });
  return added;
}

/// Runs the engine's optimizations on the model at `path` and writes the result beside it.
/// Result: for each tensor of `tensors`, whether it is a float32 output of that graph.
std::vector<bool> optimize(Runtime& runtime, const Prepared& source,
                           const std::vector<std::string>& tensors, const SessionOptions& options,
                           const fs::path& result) {
  Ort::SessionOptions engine_options = session_options(options.threads, true);
  engine_options.SetOptimizedModelFilePath(result.c_str());
  // Weights beside the graph: the graph is read and edited, the weights are mapped.
  const std::string weights = result.filename().string() + ".data";
  engine_options.AddConfigEntry(kOrtSessionOptionsOptimizedModelExternalInitializersFileName,
                                weights.c_str());
  engine_options.AddConfigEntry(kOrtSessionOptionsOptimizedModelExternalInitializersMinSizeInBytes,
                                "1024");
  engine_options.AddConfigEntry(kOrtSessionOptionsConfigDisablePrepacking, "1");
  Canceller canceller(options.progress);
  const Ort::Session session =
      open_session(runtime, source.path, source.name, engine_options, canceller);
  std::unordered_set<std::string> floats;
  Ort::AllocatorWithDefaultOptions allocator;
  for (std::size_t i = 0; i < session.GetOutputCount(); ++i) {
    const auto info = tensor_info(session.GetOutputNameAllocated(i, allocator).get(),
                                  session.GetOutputTypeInfo(i));
    if (info && info->dtype == Dtype::float32) {
      floats.insert(info->name);
    }
  }
  std::vector<bool> is_float;
  for (const std::string& tensor : tensors) {
    is_float.push_back(floats.contains(tensor));
  }
  return is_float;
}

onnx::ModelProto read_proto(const fs::path& path, const std::string& name) {
  std::ifstream file(path, std::ios::binary);
  onnx::ModelProto proto;
  if (!file || !proto.ParseFromIstream(&file)) {
    throw Error(ErrorKind::unsupported, "the engine's optimized graph can't be read").within(name);
  }
  return proto;
}

void write_proto(const onnx::ModelProto& proto, const fs::path& path) {
  std::ofstream file(path, std::ios::binary);
  if (!proto.SerializeToOstream(&file) || !file.flush()) {
    throw Error(ErrorKind::io, path.string() + ": can't write the graph with watched tensors");
  }
}

Prepared prepare_optimized(Runtime& runtime, const Model& model, const SessionOptions& options,
                           const Watched& watched, const fs::path& folder) {
  const Prepared source = prepare_with_outputs(model, options, folder);
  const fs::path optimized = folder / "optimized.onnx";
  const std::vector<bool> is_float = optimize(runtime, source, watched.made, options, optimized);
  // Two sessions never exist at once, and neither does memory of the first beside the second.
  malloc_trim(0);
  const std::vector<std::string> outputs = output_names(model.graph());
  onnx::ModelProto proto = read_proto(optimized, model.name());
  Prepared prepared{.path = folder / "watched.onnx",
                    .name = model.name(),
                    .optimize = false,
                    .plan = insert_watches(proto, watched.made, outputs, is_float),
                    .inputs = watched.inputs};
  prepared.added = added_outputs(proto.graph(), outputs);
  write_proto(proto, prepared.path);
  return prepared;
}

Prepared prepare_plain(const Model& model, const Watched& watched, const fs::path& folder) {
  std::vector<bool> is_float;
  const GraphIndex index(model);
  for (const std::string& tensor : watched.made) {
    is_float.push_back(index.type(tensor).elem_type == onnx::TensorProto::FLOAT);
  }
  Model changed = model.clone();
  const std::vector<std::string> outputs = output_names(model.graph());
  Prepared prepared{.name = model.name(),
                    .optimize = false,
                    .plan = insert_watches(changed.proto(), watched.made, outputs, is_float),
                    .inputs = watched.inputs};
  prepared.added = added_outputs(changed.graph(), outputs);
  prepared.path = changed.write_for_engine(folder);
  return prepared;
}

/// Many nodes that do little each: optimizing the graph takes longer than it saves.
bool is_long_and_light(const Model& model) {
  constexpr int kManyNodes = 1000;
  constexpr std::uint64_t kLight = 16384;  // bytes of the model a node
  const auto nodes = static_cast<std::uint64_t>(model.graph().node_size());
  return nodes > kManyNodes && model.serialized_size() < kLight * nodes;
}

}  // namespace

Prepared prepare_with_outputs(const Model& model, const SessionOptions& options,
                              const fs::path& folder) {
  const Watched watched = sort_watched(model, options.watch);
  const std::vector<std::string> outputs = output_names(model.graph());
  Model changed = model.clone();
  Prepared prepared{.name = model.name(), .optimize = options.optimize, .inputs = watched.inputs};
  for (std::size_t i = 0; i < watched.made.size(); ++i) {
    if (!watched.made[i].empty()) {
      add_output(changed.graph(), watched.made[i]);
      prepared.plan.as_outputs.push_back(i);
    }
  }
  prepared.added = added_outputs(changed.graph(), outputs);
  prepared.path = changed.write_for_engine(folder);
  return prepared;
}

Prepared prepare(Runtime& runtime, const Model& model, const SessionOptions& options,
                 const fs::path& folder) {
  const Watched watched = sort_watched(model, options.watch);
  if (watched.inputs.size() == options.watch.size()) {
    return {.path = model.write_for_engine(folder),
            .name = model.name(),
            .optimize = options.optimize,
            .inputs = watched.inputs};
  }
  return options.optimize && !is_long_and_light(model)
             ? prepare_optimized(runtime, model, options, watched, folder)
             : prepare_plain(model, watched, folder);
}

}  // namespace halfstep::ort
