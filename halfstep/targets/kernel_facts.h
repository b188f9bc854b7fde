#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "halfstep/core/dtype.h"
#include "halfstep/support/json_reader.h"

namespace halfstep {

/// What a kernel stores an operand as. `plain` stands for integers and booleans without encoding.
enum class KernelType : std::uint8_t { u8, s8, u16, s16, s32, f16, f32, bf16, plain };
inline constexpr std::size_t kKernelTypes = 9;

/// "u8"
[[nodiscard]] std::string_view name(KernelType type) noexcept;
/// By that name; empty if there is none.
[[nodiscard]] std::optional<KernelType> find_kernel_type(std::string_view text) noexcept;
/// The number format; empty for `plain`.
[[nodiscard]] std::optional<Dtype> dtype_of(KernelType type) noexcept;

/// A set of kernel types: the types that one operand may have.
class TypeSet {
 public:
  void add(KernelType type) noexcept { bits_ |= bit(type); }
  [[nodiscard]] bool has(KernelType type) const noexcept { return (bits_ & bit(type)) != 0; }
  [[nodiscard]] bool empty() const noexcept { return bits_ == 0; }
  bool operator==(const TypeSet&) const = default;

 private:
  static constexpr std::uint16_t bit(KernelType type) noexcept {
    return static_cast<std::uint16_t>(1U << static_cast<unsigned>(type));
  }
  std::uint16_t bits_ = 0;
};

/// One combination of operand types that the target computes. Trailing operands may be left out.
struct Kernel {
  std::vector<TypeSet> in{}, out{};
  int min_arch = 0;
  std::string text{};  ///< as in the file: "u8 s8 s32 > u8"
  std::string note{};
  std::string source{};
};

/// All kernels of one operator of the target.
struct KernelOp {
  std::vector<Kernel> kernels{};
  std::map<KernelType, int> max_rank{};  ///< highest rank, by type of the first operand
};

enum class WeightGranularity : std::uint8_t { per_tensor, per_channel, per_block, lpbq };
enum class SymmetryRule : std::uint8_t { free, advised, required };
[[nodiscard]] std::string_view name(WeightGranularity granularity) noexcept;

/// Which quantized weights an operator takes beside which activations.
struct WeightRule {
  std::vector<std::string> ops{};
  TypeSet weights{};        ///< storage type; fewer bits travel in an 8-bit type
  std::vector<int> bits{};  ///< significant bits
  TypeSet activations{};
  WeightGranularity granularity = WeightGranularity::per_tensor;
  SymmetryRule symmetry = SymmetryRule::free;
  std::vector<std::int64_t> block_sizes{};  ///< empty: any
  bool pointwise = false;                   ///< only filters of extent 1
  bool is_static = false;                   ///< the weight must be a constant
  int min_arch = 0;
  std::string note{}, source{};
};

/// How the bias of an operator with a weight is stored.
struct BiasRule {
  TypeSet types{};            ///< beside quantized activations, the first is taken
  TypeSet float_types{};      ///< beside float activations
  bool product_scale = true;  ///< scale = input scale x weight scale; else its own
  std::string why{}, source{};
};

/// An output whose encoding the target fixes.
struct FixedEncoding {
  std::string op{};
  KernelType type = KernelType::u16;
  double scale = 0;  ///< 0: the zero point alone is fixed, the upper end stays where it was
  std::int64_t zero_point = 0;
  bool enforced = false;  ///< false: other values run, but the documentation asks for these
  std::string source{};
};

/// Which operator of the target computes an ONNX operator. The first row whose conditions hold
/// counts.
struct Lowering {
  std::vector<std::string> onnx{};
  std::string domain{};  ///< "" is ai.onnx
  std::string op{};
  std::vector<int> ranks{};            ///< of the first input; empty: any
  std::vector<int> constant_inputs{};  ///< these inputs are constants or absent
  std::map<std::string, std::vector<std::string>> attributes{};  ///< "" = not given
  std::optional<int> weight_rank{};                              ///< rank of input 1
  bool depthwise = false;       ///< group = input channels = output channels
  bool plain_gemm = false;      ///< alpha = beta = 1, transA = 0
  bool unit_factors = false;    ///< alpha = beta = 1
  bool blocks = false;          ///< the weight has an encoding per block or LPBQ
  bool variadic = false;        ///< every input is an operand of the first operand's kind
  std::vector<int> operands{};  ///< ONNX input of each operand; empty: as they come
  TypeSet activations{};        ///< of the first operand; empty: all that the kernels take
  std::string source{};
};

/// An operator whose input and output carry one encoding, and by which rule.
struct ChainOp {
  std::string op{};
  std::string rule{};  ///< "specification" or "measured"
  std::string source{};
};

/// What the kernels of a chip take. All of it is data of a target file.
struct KernelFacts {
  std::map<std::string, KernelOp, std::less<>> ops{};
  std::vector<Lowering> lowering{};
  std::vector<WeightRule> weight_rules{};
  BiasRule bias{};
  std::vector<FixedEncoding> fixed_encodings{};
  std::vector<ChainOp> chains{};
};

/// Reads the keys types, lowering, kernels, weight_rules, bias, fixed_encodings,
/// data_movement_chains. Errors: invalid_argument naming file, place, found, expected.
[[nodiscard]] KernelFacts read_kernel_facts(const JsonReader& file);

}  // namespace halfstep
