# The ONNX package asks for a Protobuf *config* package, which Debian's libprotobuf-dev lacks.
# FindHalfstepPrefix.cmake points Protobuf_DIR here, after Protobuf.cmake has made the target.
if(NOT TARGET protobuf::libprotobuf)
  find_package(Protobuf MODULE REQUIRED)
endif()
set(Protobuf_FOUND TRUE)
