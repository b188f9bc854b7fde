#include "halfstep/quantize_tensors.h"

#include <algorithm>
#include <chrono>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "halfstep/calibration/recipe.h"
#include "halfstep/encodings/schema/format.h"
#include "halfstep/output_check.h"
#include "halfstep/outputs/safetensors.h"
#include "halfstep/pipeline_summary.h"
#include "halfstep/support/diagnostic_text.h"
#include "halfstep/support/error.h"
#include "halfstep/version.h"

namespace halfstep {
namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t kMegabyte = 1000 * 1000;
constexpr std::int64_t kMatrixRow = 32;  // a last axis as long is that of a matrix, not of a kernel
constexpr std::size_t kCopied = std::size_t{1} << 20U;

std::optional<Dtype> float_type(const std::string& dtype) {
  return dtype == "F32"    ? std::optional(Dtype::float32)
         : dtype == "F16"  ? std::optional(Dtype::float16)
         : dtype == "BF16" ? std::optional(Dtype::bfloat16)
         : dtype == "F64"  ? std::optional(Dtype::float64)
                           : std::nullopt;
}

bool is_weight(const SafeTensor& tensor) {
  return float_type(tensor.dtype) && tensor.shape.size() >= 2 && !tensor.bytes.empty();
}

/// The spec with the axes that a weight of this shape has; empty if its blocks do not divide.
std::optional<QuantizationSpec> laid_over(const QuantizationSpec& spec, const Shape& shape) {
  QuantizationSpec result = spec;
  const auto last = static_cast<std::int64_t>(shape.size()) - 1;
  if (auto* channel = std::get_if<PerChannel>(&result.granularity); channel && !channel->axis) {
    if (last == 2 && shape[2] >= kMatrixRow) {
      result.granularity = PerBlock{.block_size = {1, 1, -1}};
    } else {
      channel->axis = 0;
    }
  } else if (auto* block = std::get_if<PerBlock>(&result.granularity);
             block != nullptr && block->block_size.size() == 1) {
    block->axis = block->axis.value_or(last);
  }
  if (has_uneven_blocks(result.granularity, shape)) {
    return std::nullopt;
  }
  return result;
}

std::string granularity_text(const Granularity& granularity) {
  return std::holds_alternative<PerTensor>(granularity)    ? ""
         : std::holds_alternative<PerChannel>(granularity) ? " per channel"
                                                           : " per block";
}

class TensorsJob {
 public:
  TensorsJob(const SafeTensorsModel& model, const QuantizeRequest& request, Progress& progress)
      : model_(model), request_(request), progress_(progress) {}

  TensorsResult run() {
    const auto start = std::chrono::steady_clock::now();
    check_request();
    recipe_ = load_recipe(request_.recipe);
    for (const std::string& option : request_.set) {
      recipe_.rules.push_back(parse_set(option, recipe_));
    }
    for (const std::string& glob : request_.exclude) {
      recipe_.rules.push_back(exclude_rule(glob));
    }
    check_recipe();
    if (!request_.dry_run) {
      check_files();
    }
    plan();
    describe();
    if (!request_.dry_run) {
      write();
    }
    for (const Diagnostic& diagnostic : result_.diagnostics) {
      refuse_if_strict(diagnostic);
    }
    summary().seconds["write"] =
        std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    summary().peak_memory = peak_memory();
    return std::move(result_);
  }

 private:
  struct Planned {
    const SafeTensor* tensor;
    std::shared_ptr<WeightStream> stream;  ///< null: copied
  };

  QuantizeSummary& summary() { return result_.summary; }

  void check_request() const {
    const auto refuse = [](bool given, const std::string& what) {
      require(!given, what +
                          " is about models with a graph, and safetensors files have none; "
                          "leave it out");
    };
    refuse(!request_.encodings.empty(), "encodings");
    refuse(!request_.statistics.from.empty(), "stats");
    refuse(!request_.method.empty() || request_.percentile, "method");
    refuse(request_.target != "cpu", "target " + request_.target);
    refuse(request_.fallback, "fallback");
    refuse(!request_.skip.empty(), "skip");
    refuse(request_.graph.wanted() || !request_.graph.input_extents.empty(),
           "a graph of the target's operators");
    require(!request_.recipe.empty(), "a recipe for the weights is needed: w8, w4b32 or mxfp4");
  }

  void check_recipe() const {
    require(!recipe_.activation,
            "recipe " + request_.recipe +
                " quantizes activations, and safetensors files have none; choose one of weights "
                "only: w8, w4b32 or mxfp4");
    std::vector<std::string> names;
    for (const SafeTensorsFile& file : model_.files) {
      for (const SafeTensor& tensor : file.tensors) {
        names.push_back(tensor.name);
      }
    }
    for (const RecipeRule& rule : recipe_.rules) {
      const bool used = std::ranges::any_of(
          names, [&](const std::string& name) { return rule.selects_tensor(name); });
      const std::string close = used ? "" : closest_match(rule.glob, names);
      require(used, rule.origin + ": \"" + rule.glob + "\" matches no tensor" +
                        (close.empty() ? "" : "; did you mean \"" + close + "\"?"));
      require(!rule.activation || !*rule.activation || rule.weight,
              rule.origin + ": safetensors files have no activations; speak of weights");
    }
  }

  void check_files() const {
    std::vector<InputFile> inputs = {{.what = "the model", .path = model_.path},
                                     {.what = "the recipe", .path = request_.recipe}};
    for (const SafeTensorsFile& file : model_.files) {
      inputs.push_back({.what = "the model", .path = file.file->path()});
    }
    check_output("encodings_out", request_.encodings_out, inputs, request_.force);
    if (!model_.folder) {
      check_output("output", request_.output, inputs, request_.force);
      return;
    }
    const fs::path& folder = request_.output;
    const std::string named = "output " + folder.string();
    require(!same_file(folder, model_.path), named + " is the model; give another folder");
    if (fs::exists(folder)) {
      require(fs::is_directory(folder), named + " is a file; the model is a folder, so give one");
      require(request_.force || fs::is_empty(folder),
              named +
                  " exists and is not empty; give another name, or --force (force=True in "
                  "Python) to replace what is in it");
      return;
    }
    const fs::path bare = folder.has_filename() ? folder : folder.parent_path();
    check_output("output", bare, inputs, request_.force);
  }

  /// The wish for one tensor; empty: float.
  SpecOrFloat wanted(const std::string& name, std::string& reason) const {
    SpecOrFloat spec = recipe_.weight;
    reason = "the recipe keeps weights float";
    for (const RecipeRule& rule : recipe_.rules) {
      if (rule.weight && rule.selects_tensor(name)) {
        spec = *rule.weight;
        reason = "kept float by " + rule.origin;
      }
    }
    return spec;
  }

  void plan() {
    std::map<std::string, FloatReason> reasons;
    for (const SafeTensorsFile& file : model_.files) {
      std::vector<Planned>& planned = planned_.emplace_back();
      for (const SafeTensor& tensor : file.tensors) {
        std::string reason = float_type(tensor.dtype) ? "fewer than two axes" : "no float values";
        SpecOrFloat spec;
        if (is_weight(tensor)) {
          spec = wanted(tensor.name, reason);
        }
        planned.push_back(
            {.tensor = &tensor, .stream = spec ? stream_of(tensor, *file.file, *spec) : nullptr});
        if (!spec) {
          FloatReason& entry = reasons[reason];
          entry.reason = reason;
          if (++entry.count <= 3) {
            entry.examples.push_back(tensor.name);
          }
        }
      }
    }
    for (auto& [text, reason] : reasons) {
      summary().stayed_float.push_back(std::move(reason));
    }
  }

  std::shared_ptr<WeightStream> stream_of(const SafeTensor& tensor, const MappedFile& file,
                                          const QuantizationSpec& wish) {
    try {
      const QuantizationSpec spec = fitting(tensor, wish);
      require(WeightStream::takes(spec),
              "LPBQ, minimum values, codes of 32 bits and ranges other than minmax are not for "
              "safetensors files; choose another spec");
      FloatSource source{.bytes = tensor.bytes,
                         .dtype = *float_type(tensor.dtype),
                         .shape = tensor.shape,
                         .prefetch = [&file](auto part) { file.prefetch(part); },
                         .drop = [&file](auto part) { file.drop(part); }};
      auto stream = std::make_shared<WeightStream>(std::move(source), resolve(spec, Role::weight),
                                                   safetensors_storage(spec.dtype, tensor.shape),
                                                   request_.threads);
      (void)stored_tensors(tensor.name, stream);  // whatever can't be said is said now
      count(tensor, spec);
      return stream;
    } catch (const Error& error) {
      throw error.within("tensor \"" + tensor.name + "\"").within(file.path().string());
    }
  }

  QuantizationSpec fitting(const SafeTensor& tensor, const QuantizationSpec& wish) {
    if (const auto spec = laid_over(wish, tensor.shape)) {
      return *spec;
    }
    const std::string problem =
        "blocks do not divide the last axis of shape " + to_text(tensor.shape);
    require(recipe_.weight_fallback.has_value(),
            problem + "; give the recipe a \"weight_fallback\" or exclude the tensor");
    result_.diagnostics.push_back({.severity = Severity::note,
                                   .rule = "recipe/block-fallback",
                                   .subject = tensor.name,
                                   .message = "weight '" + tensor.name + "': " + problem +
                                              "; stored as " +
                                              std::string(name(recipe_.weight_fallback->dtype)) +
                                              " by the recipe's weight_fallback"});
    const auto spec = laid_over(*recipe_.weight_fallback, tensor.shape);
    require(spec.has_value(), problem + "; nor do those of the recipe's weight_fallback");
    return *spec;
  }

  void count(const SafeTensor& tensor, const QuantizationSpec& spec) {
    ++summary().quantized_weights;
    const std::string type = std::string(name(spec.dtype)) + granularity_text(spec.granularity);
    auto row = std::ranges::find_if(summary().types, [&](const TypeRow& known) {
      return known.op_type == tensor.dtype && known.weight == type;
    });
    if (row == summary().types.end()) {
      summary().types.push_back(
          {.op_type = tensor.dtype, .activation = "-", .weight = type, .bias = "-", .nodes = 0});
      row = summary().types.end() - 1;
    }
    ++row->nodes;
    formats_.insert(safetensors_format(safetensors_storage(spec.dtype, tensor.shape)));
  }

  void describe() {
    summary().model = model_.path.string();
    summary().recipe = request_.recipe;
    summary().target = "safetensors";
    for (std::size_t i = 0; i < model_.files.size(); ++i) {
      summary().size_before += model_.files[i].file->bytes().size();
      for (const Planned& planned : planned_[i]) {
        summary().weights_before += planned.tensor->bytes.size();
        for (const SafeTensorOut& tensor : outputs_of(planned, *model_.files[i].file)) {
          summary().weights_after += tensor.data.size;
        }
      }
    }
    summary().size_after = summary().weights_after;  // until it is written
    if (summary().quantized_weights == 0) {
      throw Error(ErrorKind::nothing_to_do,
                  "no tensor would be quantized: weights are float tensors of two or more axes "
                  "that no rule keeps float");
    }
  }

  static std::vector<SafeTensorOut> outputs_of(const Planned& planned, const MappedFile& file) {
    const SafeTensor& tensor = *planned.tensor;
    if (planned.stream) {
      return stored_tensors(tensor.name, planned.stream);
    }
    const auto copy = [&tensor, &file](const ByteSink& sink) {
      for (std::size_t at = 0; at < tensor.bytes.size(); at += kCopied) {
        const auto part = tensor.bytes.subspan(at, std::min(kCopied, tensor.bytes.size() - at));
        sink(part);
        file.drop(part);
      }
    };
    return {{.name = tensor.name,
             .dtype = tensor.dtype,
             .shape = tensor.shape,
             .data = {.size = tensor.bytes.size(), .write = copy}}};
  }

  void write() {
    SafeTensorsOutput output(request_.output, model_.folder);
    progress_.begin("write", summary().weights_after / kMegabyte);
    const auto on_bytes = [this](std::uint64_t bytes) {
      progress_.throw_if_cancelled();
      progress_.update(bytes / kMegabyte);
    };
    Json places = Json::object();
    for (std::size_t i = 0; i < model_.files.size(); ++i) {
      const SafeTensorsFile& file = model_.files[i];
      const std::string name = file.file->path().filename().string();
      std::vector<SafeTensorOut> tensors;
      for (const Planned& planned : planned_[i]) {
        for (SafeTensorOut& tensor : outputs_of(planned, *file.file)) {
          places[tensor.name] = name;
          tensors.push_back(std::move(tensor));
        }
      }
      try {
        output.add(name, std::move(tensors), metadata_of(file), on_bytes);
      } catch (const Error& error) {
        throw error.kind() == ErrorKind::invalid_file ? error.within(file.file->path().string())
                                                      : error;
      }
    }
    if (model_.indexed) {
      const Json index = {{"metadata", {{"total_size", summary().weights_after}}},
                          {"weight_map", std::move(places)}};
      output.add_text(std::string(kSafeTensorsIndex), index.dump(1) + "\n");
    }
    progress_.end();
    summary().size_after = output.size();
    report();
    const std::optional<std::string> text = encodings_text();
    std::optional<AtomicFile> encodings;
    if (text) {
      encodings.emplace(request_.encodings_out);
      encodings->write(*text);
    }
    progress_.throw_if_cancelled();
    if (encodings) {
      encodings->commit();
    }
    output.commit();
  }

  std::map<std::string, std::string> metadata_of(const SafeTensorsFile& file) const {
    std::map<std::string, std::string> metadata = file.metadata;
    metadata["quantized_by"] = "halfstep " + std::string(kVersion);
    metadata["quantization_format"] = formats_.size() == 1 ? *formats_.begin() : "mixed-precision";
    return metadata;
  }

  void report() {
    for (const std::vector<Planned>& file : planned_) {
      for (const Planned& planned : file) {
        const std::int64_t nans = planned.stream ? planned.stream->nan_count() : 0;
        const std::int64_t infinities = planned.stream ? planned.stream->infinity_count() : 0;
        if (nans + infinities > 0) {
          result_.diagnostics.push_back(
              {.severity = Severity::warning,
               .rule = "weights/non-finite",
               .subject = planned.tensor->name,
               .message = "weight '" + planned.tensor->name + "' holds " + std::to_string(nans) +
                          " NaN and " + std::to_string(infinities) +
                          " infinite values; they are left out of its range. Check the export of "
                          "the model"});
          refuse_if_strict(result_.diagnostics.back());
        }
      }
    }
  }

  void refuse_if_strict(const Diagnostic& diagnostic) const {
    if (request_.strict && diagnostic.severity == Severity::warning) {
      throw Error(ErrorKind::invalid_argument,
                  "--strict: " + full_message(diagnostic) + " [" + diagnostic.rule + "]");
    }
  }

  std::optional<std::string> encodings_text() {
    if (request_.encodings_out.empty()) {
      return std::nullopt;
    }
    std::vector<NamedEncoding> entries;
    for (const std::vector<Planned>& file : planned_) {
      for (const Planned& planned : file) {
        if (!planned.stream) {
          continue;
        }
        const std::string& name = planned.tensor->name;
        result_.encodings.set(name, planned.stream->encoding());
        planned.stream->drop_parameters();
        entries.push_back({.name = name,
                           .encoding = result_.encodings.find(name),
                           .facts = {.shape = planned.tensor->shape,
                                     .parameter = true,
                                     .channel_axis = 0,
                                     .block_axis = std::ssize(planned.tensor->shape) - 1}});
      }
    }
    return write_encodings_text(entries, EncodingsVersion::v2_0_0,
                                {.package = "halfstep", .version = std::string(kVersion)});
  }

  const SafeTensorsModel& model_;
  const QuantizeRequest& request_;
  Progress& progress_;
  Recipe recipe_{};
  std::vector<std::vector<Planned>> planned_{};  // by file
  std::set<std::string> formats_{};
  TensorsResult result_{};
};

}  // namespace

TensorsResult quantize_tensors(const SafeTensorsModel& model, const QuantizeRequest& request,
                               Progress& progress) {
  return TensorsJob(model, request, progress).run();
}

}  // namespace halfstep
