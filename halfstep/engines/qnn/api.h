#pragma once

#include <cstdarg>
#include <cstddef>
#include <cstdint>

/// Our own declarations of the part of the public QNN C API that is used here. Order, widths and
/// numbers are those of its documentation (the documented name stands beside each); names follow
/// this project. Everything here is the binary interface of Linux on x86-64.
namespace halfstep::qnn::api {

using Error = std::uint64_t;  ///< Qnn_ErrorHandle_t; the number is in the low 32 bits
using Handle = void*;

constexpr std::uint32_t code(Error error) noexcept {
  return static_cast<std::uint32_t>(error & 0xffffffffU);
}

constexpr std::uint32_t kUndefined = 0x7fffffff;
constexpr std::uint32_t kString = 0x608;  ///< a type that only params have

/// Qnn_QuantizationEncoding_t
enum class Encoding : std::uint32_t {
  scale_offset = 0,
  axis_scale_offset = 1,
  bits_scale_offset = 2,       ///< BW_SCALE_OFFSET
  bits_axis_scale_offset = 3,  ///< BW_AXIS_SCALE_OFFSET
  block = 4,
  block_expansion = 5,  ///< BLOCKWISE_EXPANSION
  undefined = kUndefined,
};

struct ScaleOffset {  // Qnn_ScaleOffset_t: value = scale * (code + offset)
  float scale;
  std::int32_t offset;
};

struct AxisScaleOffset {  // Qnn_AxisScaleOffset_t
  std::int32_t axis;
  std::uint32_t count;
  ScaleOffset* values;
};

struct BitsScaleOffset {  // Qnn_BwScaleOffset_t
  std::uint32_t bits;
  float scale;
  std::int32_t offset;
};

struct BitsAxisScaleOffset {  // Qnn_BwAxisScaleOffset_t
  std::uint32_t bits;
  std::int32_t axis;
  std::uint32_t count;
  float* scales;
  std::int32_t* offsets;
};

struct BlockEncoding {  // Qnn_BlockEncoding_t
  std::uint32_t* block_size;
  ScaleOffset* values;
};

struct BlockExpansion {  // Qnn_BlockwiseExpansion_t
  std::int32_t axis;
  ScaleOffset* values;
  std::uint32_t blocks_per_axis;
  std::uint32_t block_scale_bits;
  std::uint32_t storage;  ///< 0: a block scale a byte
  std::uint8_t* block_scales;
};

struct QuantizeParams {  // Qnn_QuantizeParams_t
  std::uint32_t definition;
  Encoding encoding;
  union {
    ScaleOffset scale_offset;
    AxisScaleOffset axis;
    BitsScaleOffset bits;
    BitsAxisScaleOffset bits_axis;
    BlockEncoding block;
    BlockExpansion* block_expansion;
  };
};

struct ClientBuffer {  // Qnn_ClientBuffer_t
  void* data;
  std::uint32_t size;
};

struct TensorV1 {  // Qnn_TensorV1_t
  std::uint32_t id;
  const char* name;
  std::uint32_t type;
  std::uint32_t format;
  std::uint32_t data_type;
  QuantizeParams quantization;
  std::uint32_t rank;
  std::uint32_t* dims;
  std::uint32_t memory_type;
  ClientBuffer buffer;
};

/// Qnn_Tensor_t. Version 1 is what is written here; the room is that of version 2.
struct Tensor {
  std::uint32_t version;
  TensorV1 v1;
  std::byte room[24];  // NOLINT(cppcoreguidelines-avoid-c-arrays): the layout of a C structure
};

struct Scalar {  // Qnn_Scalar_t
  std::uint32_t data_type;
  union {
    float float_value;
    std::uint32_t uint32_value;
    std::int32_t int32_value;
    std::uint64_t uint64_value;
    std::uint8_t bool_value;
    const char* text;
  };
};

struct Param {         // Qnn_Param_t
  std::uint32_t kind;  ///< 0 scalar, 1 tensor
  const char* name;
  union {
    Scalar scalar;
    Tensor tensor;
  };
};

struct OpConfig {  // Qnn_OpConfig_t, version 1
  std::uint32_t version;
  const char* name;
  const char* package;
  const char* type;
  std::uint32_t param_count;
  Param* params;
  std::uint32_t input_count;
  Tensor* inputs;
  std::uint32_t output_count;
  Tensor* outputs;
};

struct Version {  // Qnn_Version_t
  std::uint32_t major;
  std::uint32_t minor;
  std::uint32_t patch;
};

static_assert(sizeof(QuantizeParams) == 40 && sizeof(BlockExpansion) == 40);
static_assert(sizeof(TensorV1) == 112 && sizeof(Tensor) == 144 && sizeof(Scalar) == 16);
static_assert(sizeof(Param) == 160 && sizeof(OpConfig) == 80);

struct Option {          // QnnDevice_Config_t, QnnGraph_Config_t with a custom configuration
  std::uint32_t option;  ///< 0: custom
  void* custom;
};

struct HtpDeviceOption {  // QnnHtpDevice_CustomConfig_t
  std::uint32_t option;   ///< 0: the model of the chip
  std::uint32_t padding;
  std::uint64_t values[4];  // NOLINT(cppcoreguidelines-avoid-c-arrays): the layout of a C structure
};

struct HtpGraphOption {  // QnnHtpGraph_CustomConfig_t
  std::uint32_t option;  ///< 2: precision
  std::uint64_t value;   ///< precision: 1 is float16
};

struct IrSerialization {  // QnnIrGraph_SerializationOption_t
  std::uint32_t format;   ///< 1: FlatBuffers, which is a DLC
  const char* path;
};

struct IrGraphOption {   // QnnIrGraph_CustomConfig_t
  std::uint32_t option;  ///< 1: serialization
  IrSerialization serialization;
};

/// QnnLog_Callback_t. The list of arguments is that of vprintf.
using LogCallback = void (*)(const char* format, std::uint32_t level, std::uint64_t time,
                             std::va_list arguments);

/// QnnInterface_t: who provides it, and the table of functions. Slots that are not used here are
/// plain addresses; the table goes on after the last member.
struct Interface {
  std::uint32_t backend_id;
  const char* provider;
  Version core_version;
  Version backend_version;
  void* has_capability;
  Error (*backend_create)(Handle log, const Option* const* options, Handle* backend);
  void* backend_set_config;
  void* backend_get_api_version;
  Error (*backend_get_build_id)(const char** text);
  void* backend_register_op_package;
  void* backend_get_supported_operations;
  Error (*backend_validate_op_config)(Handle backend, OpConfig op);
  Error (*backend_free)(Handle backend);
  Error (*context_create)(Handle backend, Handle device, const Option* const* options,
                          Handle* context);
  void* context_set_config;
  void* context_get_binary_size;
  void* context_get_binary;
  void* context_create_from_binary;
  Error (*context_free)(Handle context, Handle profile);
  Error (*graph_create)(Handle context, const char* name, const Option* const* options,
                        Handle* graph);
  void* graph_create_subgraph;
  void* graph_set_config;
  Error (*graph_add_node)(Handle graph, OpConfig op);
  Error (*graph_finalize)(Handle graph, Handle profile, Handle signal);
  Error (*graph_retrieve)(Handle context, const char* name, Handle* graph);
  Error (*graph_execute)(Handle graph, const Tensor* inputs, std::uint32_t input_count,
                         Tensor* outputs, std::uint32_t output_count, Handle profile,
                         Handle signal);
  void* graph_execute_async;
  void* tensor_create_context_tensor;
  Error (*tensor_create_graph_tensor)(Handle graph, Tensor* tensor);
  Error (*log_create)(LogCallback callback, std::uint32_t level, Handle* log);
  void* log_set_level;
  Error (*log_free)(Handle log);
  void* profile_functions[7];  // NOLINT(cppcoreguidelines-avoid-c-arrays): C layout
  void* mem_functions[2];      // NOLINT(cppcoreguidelines-avoid-c-arrays): C layout
  void* device_get_platform_info;
  void* device_free_platform_info;
  void* device_get_infrastructure;
  Error (*device_create)(Handle log, const Option* const* options, Handle* device);
  void* device_set_config;
  void* device_get_info;
  Error (*device_free)(Handle device);
};
static_assert(offsetof(Interface, has_capability) == 40);
static_assert(offsetof(Interface, device_create) == 40 + 40 * 8);

/// QnnInterface_getProviders
using GetProviders = Error (*)(const Interface* const** providers, std::uint32_t* count);

/// The whole QnnInterface_t of core API 2.40: it is handed over by value when a DLC is composed, so
/// its size has to be right to the byte.
struct WholeInterface {
  std::byte bytes[640];  // NOLINT(cppcoreguidelines-avoid-c-arrays): C layout
};
constexpr std::uint32_t kWholeInterfaceMinor = 40;

struct GraphInfo {  // QnnSystemContext_GraphInfo_t, version 1
  std::uint32_t version;
  const char* name;
  std::uint32_t input_count;
  Tensor* inputs;
  std::uint32_t output_count;
  Tensor* outputs;
};

struct DlcGraphOptions {  // QnnSystemDlc_GraphConfigInfo_t, version 1
  std::uint32_t version;
  const char* graph;
  const Option* const* options;
  std::uint32_t option_count;
};

/// QnnSystemInterface_t
struct SystemInterface {
  std::uint32_t backend_id;
  const char* provider;
  Version version;
  void* context_functions[4];  // NOLINT(cppcoreguidelines-avoid-c-arrays): C layout
  void* tensor_function;
  void* log_functions[3];  // NOLINT(cppcoreguidelines-avoid-c-arrays): C layout
  Error (*dlc_create_from_file)(Handle log, const char* path, Handle* dlc);
  void* dlc_create_from_binary;
  Error (*dlc_compose_graphs)(Handle dlc, const DlcGraphOptions* const* options,
                              std::uint32_t option_count, Handle backend, Handle context,
                              WholeInterface interface, std::uint32_t graph_info_version,
                              GraphInfo** graphs, std::uint32_t* graph_count);
  void* dlc_get_op_mappings;
  Error (*dlc_free)(Handle dlc);
};
static_assert(offsetof(SystemInterface, dlc_create_from_file) == 32 + 8 * 8);

/// QnnSystemInterface_getProviders
using GetSystemProviders = Error (*)(const SystemInterface* const** providers,
                                     std::uint32_t* count);

}  // namespace halfstep::qnn::api
