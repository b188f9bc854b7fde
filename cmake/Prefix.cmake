# Finds the prefix that tools/setup.sh makes: the ONNX library and the headers of ONNX Runtime.
#
# Result: halfstep_prefix, targets ONNX::onnx (see ThirdParty.cmake) and halfstep_onnxruntime_headers.
set(halfstep_prefix "${HALFSTEP_PREFIX}")
if(NOT halfstep_prefix)
  execute_process(
    COMMAND bash ${PROJECT_SOURCE_DIR}/tools/setup.sh --print-prefix
    OUTPUT_VARIABLE halfstep_prefix OUTPUT_STRIP_TRAILING_WHITESPACE COMMAND_ERROR_IS_FATAL ANY)
endif()
if(NOT EXISTS "${halfstep_prefix}/halfstep-prefix.txt")
  message(FATAL_ERROR
    "halfstep builds on a prefix with the ONNX library, and there is none at\n  ${halfstep_prefix}\n"
    "Make it with\n  ${PROJECT_SOURCE_DIR}/dev setup\n"
    "or name another one with -DHALFSTEP_PREFIX=<path>.")
endif()

add_library(halfstep_onnxruntime_headers INTERFACE)
target_include_directories(halfstep_onnxruntime_headers SYSTEM INTERFACE ${halfstep_prefix}/include/onnxruntime)
# The library itself is opened at run time; nothing may call into it before that.
target_compile_definitions(halfstep_onnxruntime_headers INTERFACE ORT_API_MANUAL_INIT)
