#include "halfstep/targets/kernel_facts.h"

#include <algorithm>
#include <sstream>

namespace halfstep {
namespace {

constexpr std::array<std::string_view, kKernelTypes> kTypeNames = {
    "u8", "s8", "u16", "s16", "s32", "f16", "f32", "bf16", "plain"};
constexpr std::array<std::string_view, 4> kGranularities = {"per_tensor", "per_channel",
                                                            "per_block", "lpbq"};
constexpr std::array<std::string_view, 3> kSymmetries = {"free", "advised", "required"};
constexpr std::string_view kNoEncoding = "no encoding";

using TypeNames = std::map<std::string, KernelType, std::less<>>;

std::optional<KernelType> kernel_type(Dtype dtype) {
  for (std::size_t i = 0; i < kKernelTypes; ++i) {
    const auto type = static_cast<KernelType>(i);
    if (dtype_of(type) == dtype) {
      return type;
    }
  }
  return std::nullopt;
}

/// The file's own short names, each with the number format it stands for.
TypeNames read_types(const JsonReader& file) {
  const JsonReader types = file.object("types");
  TypeNames names;
  for (const auto& [key, value] : types.json().items()) {
    const std::string meaning = types.text(key);
    if (meaning == kNoEncoding) {
      names[key] = KernelType::plain;
      continue;
    }
    const std::optional<Dtype> dtype = find_dtype(meaning);
    const std::optional<KernelType> type = dtype ? kernel_type(*dtype) : std::nullopt;
    if (!type) {
      types.fail(key, "uint8, int8, uint16, int16, int32, float16, float32, bfloat16 or \"" +
                          std::string(kNoEncoding) + "\"");
    }
    names[key] = *type;
  }
  return names;
}

KernelType parse_type(const TypeNames& names, const std::string& text, const JsonReader& reader,
                      std::string_view key) {
  const auto found = names.find(text);
  if (found == names.end()) {
    reader.fail(key, "a name of \"types\" instead of \"" + text + "\"");
  }
  return found->second;
}

TypeSet type_set(const TypeNames& names, const JsonReader& reader, std::string_view key) {
  TypeSet set;
  for (const std::string& text : reader.texts(key)) {
    set.add(parse_type(names, text, reader, key));
  }
  return set;
}

/// "u8|s8"
TypeSet parse_cell(const TypeNames& names, const std::string& cell, const JsonReader& reader) {
  TypeSet set;
  std::stringstream stream(cell);
  for (std::string text; std::getline(stream, text, '|');) {
    set.add(parse_type(names, text, reader, "rows"));
  }
  return set;
}

/// "u8 s8 s32 > u8"
Kernel parse_row(const TypeNames& names, const std::string& row, const JsonReader& reader) {
  Kernel kernel;
  kernel.text = row;
  std::stringstream stream(row);
  bool output = false;
  for (std::string cell; stream >> cell;) {
    if (cell == ">" && !output) {
      output = true;
    } else {
      (output ? kernel.out : kernel.in).push_back(parse_cell(names, cell, reader));
    }
  }
  if (!output) {
    reader.fail("rows", "operand types, \">\", output types, as in \"u8 s8 s32 > u8\"");
  }
  return kernel;
}

int small_integer(const JsonReader& reader, std::string_view key) {
  const std::int64_t value = reader.integer(key);
  if (value < 0 || value > 1000000) {
    reader.fail(key, "an integer from 0 to 1000000");
  }
  return static_cast<int>(value);
}

constexpr std::int64_t kLargest = 1000000;

template <typename T>
std::vector<T> integers(const JsonReader& reader, std::string_view key, std::int64_t least = 0) {
  std::vector<T> values;
  if (reader.has(key)) {
    for (const std::int64_t value : reader.integers(key, least, kLargest)) {
      values.push_back(static_cast<T>(value));
    }
  }
  return values;
}

template <typename E, std::size_t N>
E enumerator(const std::array<std::string_view, N>& names, const JsonReader& reader,
             std::string_view key) {
  const std::string text = reader.text(key);
  const auto found = std::find(names.begin(), names.end(), text);
  if (found == names.end()) {
    std::string list;
    for (const std::string_view name : names) {
      list += (list.empty() ? "" : ", ") + std::string(name);
    }
    reader.fail(key, "one of " + list);
  }
  return static_cast<E>(found - names.begin());
}

/// "all", or versions; for readers of the file.
void check_runs_on(const JsonReader& reader) {
  if (reader.has("runs_on") && reader.value("runs_on") != "all") {
    (void)integers<int>(reader, "runs_on");
  }
}

KernelOp read_op(const TypeNames& names, const JsonReader& reader) {
  reader.allow_only({"kernels", "max_rank"});
  KernelOp op;
  for (const JsonReader& group : reader.objects("kernels")) {
    group.allow_only({"rows", "min_arch", "runs_on", "note", "source"});
    for (const std::string& row : group.texts("rows")) {
      Kernel kernel = parse_row(names, row, group);
      kernel.min_arch = group.has("min_arch") ? small_integer(group, "min_arch") : 0;
      kernel.note = group.text_or("note", "");
      kernel.source = group.text("source");
      check_runs_on(group);
      op.kernels.push_back(std::move(kernel));
    }
  }
  if (reader.has("max_rank")) {
    const JsonReader ranks = reader.object("max_rank");
    for (const auto& [key, value] : ranks.json().items()) {
      op.max_rank[parse_type(names, key, ranks, key)] = small_integer(ranks, key);
    }
  }
  return op;
}

WeightRule read_weight_rule(const TypeNames& names, const JsonReader& reader) {
  reader.allow_only({"ops", "weights", "bits", "activations", "granularity", "symmetry",
                     "block_sizes", "pointwise", "static", "min_arch", "note", "source"});
  return {.ops = reader.texts("ops"),
          .weights = type_set(names, reader, "weights"),
          .bits = integers<int>(reader, "bits"),
          .activations = type_set(names, reader, "activations"),
          .granularity = enumerator<WeightGranularity>(kGranularities, reader, "granularity"),
          .symmetry = enumerator<SymmetryRule>(kSymmetries, reader, "symmetry"),
          .block_sizes = integers<std::int64_t>(reader, "block_sizes", 1),
          .pointwise = reader.flag_or("pointwise", false),
          .is_static = reader.flag_or("static", false),
          .min_arch = reader.has("min_arch") ? small_integer(reader, "min_arch") : 0,
          .note = reader.text_or("note", ""),
          .source = reader.text("source")};
}

BiasRule read_bias(const TypeNames& names, const JsonReader& reader) {
  reader.allow_only({"types", "float_types", "scale", "why", "source"});
  const std::string scale = reader.text("scale");
  if (scale != "input x weight" && scale != "own") {
    reader.fail("scale", "\"input x weight\" or \"own\"");
  }
  return {.types = type_set(names, reader, "types"),
          .float_types = type_set(names, reader, "float_types"),
          .product_scale = scale != "own",
          .why = reader.text("why"),
          .source = reader.text("source")};
}

FixedEncoding read_fixed(const TypeNames& names, const JsonReader& reader) {
  reader.allow_only({"op", "type", "scale", "zero_point", "enforced", "source"});
  double scale = 0;
  if (reader.has("scale")) {
    const Json& value = reader.value("scale");
    if (!value.is_number() || value.get<double>() <= 0) {
      reader.fail("scale", "a number above 0");
    }
    scale = value.get<double>();
  }
  return {.op = reader.text("op"),
          .type = parse_type(names, reader.text("type"), reader, "type"),
          .scale = scale,
          .zero_point = reader.integer("zero_point"),
          .enforced = reader.flag_or("enforced", false),
          .source = reader.text("source")};
}

Lowering read_lowering(const TypeNames& names, const JsonReader& reader) {
  reader.allow_only({"onnx", "domain", "op", "rank", "constant_inputs", "attributes", "weight_rank",
                     "depthwise", "plain_gemm", "unit_factors", "blocks", "variadic", "operands",
                     "activations", "source"});
  Lowering lowering{.onnx = reader.texts("onnx"),
                    .domain = reader.text_or("domain", ""),
                    .op = reader.text("op"),
                    .ranks = integers<int>(reader, "rank"),
                    .constant_inputs = integers<int>(reader, "constant_inputs"),
                    .depthwise = reader.flag_or("depthwise", false),
                    .plain_gemm = reader.flag_or("plain_gemm", false),
                    .unit_factors = reader.flag_or("unit_factors", false),
                    .blocks = reader.flag_or("blocks", false),
                    .variadic = reader.flag_or("variadic", false),
                    .operands = integers<int>(reader, "operands"),
                    .source = reader.text("source")};
  if (reader.has("weight_rank")) {
    lowering.weight_rank = small_integer(reader, "weight_rank");
  }
  if (reader.has("activations")) {
    lowering.activations = type_set(names, reader, "activations");
  }
  if (reader.has("attributes")) {
    const JsonReader attributes = reader.object("attributes");
    for (const auto& [key, value] : attributes.json().items()) {
      lowering.attributes[key] = attributes.texts(key);
    }
  }
  return lowering;
}

ChainOp read_chain(const JsonReader& reader) {
  reader.allow_only({"op", "rule", "source"});
  ChainOp op{.op = reader.text("op"), .rule = reader.text("rule"), .source = reader.text("source")};
  if (op.rule != "specification" && op.rule != "measured") {
    reader.fail("rule", "\"specification\" or \"measured\"");
  }
  return op;
}

}  // namespace

std::string_view name(KernelType type) noexcept {
  return kTypeNames[static_cast<std::size_t>(type)];
}

std::optional<KernelType> find_kernel_type(std::string_view text) noexcept {
  const auto found = std::find(kTypeNames.begin(), kTypeNames.end(), text);
  return found == kTypeNames.end()
             ? std::nullopt
             : std::optional(static_cast<KernelType>(found - kTypeNames.begin()));
}

std::string_view name(WeightGranularity granularity) noexcept {
  return kGranularities[static_cast<std::size_t>(granularity)];
}

std::optional<Dtype> dtype_of(KernelType type) noexcept {
  switch (type) {
    case KernelType::u8:
      return Dtype::uint8;
    case KernelType::s8:
      return Dtype::int8;
    case KernelType::u16:
      return Dtype::uint16;
    case KernelType::s16:
      return Dtype::int16;
    case KernelType::s32:
      return Dtype::int32;
    case KernelType::f16:
      return Dtype::float16;
    case KernelType::f32:
      return Dtype::float32;
    case KernelType::bf16:
      return Dtype::bfloat16;
    case KernelType::plain:
      break;
  }
  return std::nullopt;
}

KernelFacts read_kernel_facts(const JsonReader& file) {
  const TypeNames names = read_types(file);
  KernelFacts facts;
  const JsonReader ops = file.object("kernels");
  for (const auto& [op, json] : ops.json().items()) {
    facts.ops[op] = read_op(names, ops.object(op));
  }
  for (const JsonReader& entry : file.objects("lowering")) {
    facts.lowering.push_back(read_lowering(names, entry));
    if (!facts.ops.contains(facts.lowering.back().op)) {
      entry.fail("op", "an operator of \"kernels\"");
    }
  }
  for (const JsonReader& entry : file.objects("weight_rules")) {
    facts.weight_rules.push_back(read_weight_rule(names, entry));
  }
  facts.bias = read_bias(names, file.object("bias"));
  for (const JsonReader& entry : file.objects("fixed_encodings")) {
    facts.fixed_encodings.push_back(read_fixed(names, entry));
  }
  for (const JsonReader& entry : file.objects("data_movement_chains")) {
    facts.chains.push_back(read_chain(entry));
  }
  return facts;
}

}  // namespace halfstep
