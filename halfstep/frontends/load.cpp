#include "halfstep/frontends/load.h"

#include <algorithm>
#include <array>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

#include "halfstep/frontends/file_kind.h"
#include "halfstep/frontends/onnx.h"
#include "halfstep/frontends/python_frontend.h"
#include "halfstep/frontends/tflite/tflite.h"
#include "halfstep/support/error.h"
#include "halfstep/support/file.h"

namespace halfstep {
namespace {

namespace fs = std::filesystem;

using Reader = Model (*)(const fs::path&, const LoadOptions&, Diagnostics&);

Model read_onnx(const fs::path& path, const LoadOptions& /*options*/, Diagnostics& diagnostics) {
  return load_onnx(path, diagnostics);
}

Model read_tflite(const fs::path& path, const LoadOptions& options, Diagnostics& diagnostics) {
  return load_tflite(path, diagnostics, options.extents);
}

Model read_tensorflow(const fs::path& path, const LoadOptions& options, Diagnostics& diagnostics) {
  const PythonFrontend frontend{
      .kind = "tensorflow", .label = "the TensorFlow front end", .extra = "tensorflow"};
  return load_with_python(frontend, path, options, diagnostics);
}

Model read_torch(const fs::path& path, const LoadOptions& options, Diagnostics& diagnostics) {
  const PythonFrontend frontend{
      .kind = "torch", .label = "the PyTorch front end", .extra = "torch"};
  return load_with_python(frontend, path, options, diagnostics);
}

/// What is done with a form of model: read it, or say what makes one that can be read.
struct Row {
  FileKind kind;
  std::string_view what;    ///< behind "is"
  Reader read;              ///< null: refused
  std::string_view remedy;  ///< of refused ones
  bool signature = false;   ///< has LoadOptions::signature
  bool ends = false;        ///< has LoadOptions::inputs and outputs
};

#define HALFSTEP_SAVE_TORCH \
  "torch.export.save(torch.export.export(model.eval(), example_inputs), \"model.pt2\")"
#define HALFSTEP_SAVE_TF "tf.saved_model.save(model, \"folder\")"

constexpr std::array kRows = {
    Row{.kind = FileKind::onnx, .what = "an ONNX model", .read = read_onnx, .remedy = {}},
    Row{.kind = FileKind::tflite,
        .what = "a TensorFlow Lite model",
        .read = read_tflite,
        .remedy = {}},
    Row{.kind = FileKind::saved_model,
        .what = "a TensorFlow SavedModel",
        .read = read_tensorflow,
        .remedy = {},
        .signature = true},
    Row{.kind = FileKind::frozen_graph,
        .what = "a frozen TensorFlow graph",
        .read = read_tensorflow,
        .remedy = {},
        .ends = true},
    Row{.kind = FileKind::graph_text,
        .what = "a TensorFlow graph written as text",
        .read = nullptr,
        .remedy = "read it with google.protobuf.text_format.Parse and write it with "
                  "tf.io.write_graph(graph_def, \".\", \"model.pb\", as_text=False)"},
    Row{.kind = FileKind::meta_graph,
        .what = "the meta graph of a TensorFlow checkpoint, whose weights are elsewhere",
        .read = nullptr,
        .remedy =
            "restore the checkpoint with tf.compat.v1.train.import_meta_graph and save it "
            "with tf.compat.v1.saved_model.simple_save(session, \"folder\", inputs, outputs)"},
    Row{.kind = FileKind::checkpoint_folder,
        .what = "a folder with a TensorFlow checkpoint: weights without a graph",
        .read = nullptr,
        .remedy = "build the model, restore the checkpoint, then " HALFSTEP_SAVE_TF},
    Row{.kind = FileKind::keras, .what = "a Keras model", .read = read_tensorflow, .remedy = {}},
    Row{.kind = FileKind::hdf5,
        .what = "an HDF5 file of Keras",
        .read = read_tensorflow,
        .remedy = {}},
    Row{.kind = FileKind::exported_program,
        .what = "a PyTorch exported program",
        .read = read_torch,
        .remedy = {}},
    Row{.kind = FileKind::torch_script,
        .what = "a TorchScript module",
        .read = read_torch,
        .remedy = {}},
    Row{.kind = FileKind::torch_pickle,
        .what = "a pickle, as torch.save writes it: a state dict or module without a graph",
        .read = nullptr,
        .remedy = "load it in Python, then " HALFSTEP_SAVE_TORCH},
    Row{.kind = FileKind::safetensors,
        .what = "weights in safetensors form, without a graph",
        .read = nullptr,
        .remedy =
            "`halfstep quantize` alone takes them as they are; for a graph load them into the "
            "model in Python, then " HALFSTEP_SAVE_TORCH},
    Row{.kind = FileKind::numpy,
        .what = "a NumPy file: arrays, no model",
        .read = nullptr,
        .remedy = "give the model here, and samples with --calibration"},
    Row{.kind = FileKind::core_ml,
        .what = "a Core ML package",
        .read = nullptr,
        .remedy = "export the model that it was made from to ONNX"},
    Row{.kind = FileKind::other_zip,
        .what = "a zip archive with no model of PyTorch or Keras in it",
        .read = nullptr,
        .remedy = "unpack it and give the model inside"},
    Row{.kind = FileKind::other_folder,
        .what = "a directory without a saved_model.pb",
        .read = nullptr,
        .remedy = "expected a model file, or the folder of a TensorFlow SavedModel"},
};

#undef HALFSTEP_SAVE_TORCH
#undef HALFSTEP_SAVE_TF

const Row& row_of(FileKind kind) {
  return *std::ranges::find_if(kRows, [kind](const Row& row) { return row.kind == kind; });
}

/// The folder of a SavedModel whose saved_model.pb is named.
fs::path model_of(const fs::path& path) {
  const bool inner = path.filename() == "saved_model.pb";
  return !inner ? path : path.has_parent_path() ? path.parent_path() : fs::path(".");
}

const Row& row_of(const fs::path& path) {
  std::error_code error;
  return row_of(fs::is_directory(path, error) ? kind_of_folder(path)
                                              : kind_of_bytes(MappedFile(path).bytes()));
}

void refuse_options(const Row& row, const fs::path& path, const LoadOptions& options) {
  const auto refuse = [&](const char* option, const char* has) {
    throw Error(ErrorKind::invalid_argument, path.string() + " is " + std::string(row.what) +
                                                 ", which has no " + option + "; only " + has +
                                                 " does; leave the option out");
  };
  if (!options.signature.empty() && !row.signature) {
    refuse("signatures to choose from (signature)", "a TensorFlow SavedModel");
  }
  if (!(options.inputs.empty() && options.outputs.empty()) && !row.ends) {
    refuse("inputs and outputs to choose (inputs, outputs)", "a frozen TensorFlow graph");
  }
}

}  // namespace

Model load_model(const fs::path& path, const LoadOptions& options, Diagnostics& diagnostics) {
  const fs::path model = model_of(path);
  const Row& row = row_of(model);
  if (row.read == nullptr) {
    throw Error(ErrorKind::invalid_file,
                "is " + std::string(row.what) + "; " + std::string(row.remedy))
        .within(path.string());
  }
  refuse_options(row, path, options);
  return row.read(model, options, diagnostics);
}

Model load_model(const fs::path& path, Diagnostics& diagnostics,
                 const std::map<std::string, Shape>& extents) {
  return load_model(path, LoadOptions{.extents = extents}, diagnostics);
}

Model model_from_bytes(std::span<const std::byte> bytes, std::string name, Diagnostics& diagnostics,
                       const std::map<std::string, Shape>& extents) {
  return is_tflite(bytes) ? tflite_from_bytes(bytes, std::move(name), diagnostics, extents)
                          : Model::from_bytes(bytes, std::move(name));
}

bool needs_python(const fs::path& path) {
  const Reader read = row_of(model_of(path)).read;
  return read == read_tensorflow || read == read_torch;
}

}  // namespace halfstep
