# Targets of the libraries halfstep is built on. Also installed, for find_package(halfstep).
#
# Debian's static libraries are not position independent, so they can't go into the Python module,
# while the command should depend on as little as possible. A target chooses for all it links,
# itself or through others: with the property HALFSTEP_STATIC it gets static libraries.

find_package(Threads REQUIRED)
find_package(nlohmann_json REQUIRED)

# halfstep_third_party(TARGET HEADER LIBRARY [PATH_SUFFIX]): an imported library in both forms.
function(halfstep_third_party target header library)
  if(TARGET ${target})
    return()
  endif()
  string(MAKE_C_IDENTIFIER "halfstep_${library}" variable)
  find_path(${variable}_include ${header} PATH_SUFFIXES ${ARGN} REQUIRED)
  find_library(${variable}_shared ${CMAKE_SHARED_LIBRARY_PREFIX}${library}${CMAKE_SHARED_LIBRARY_SUFFIX} REQUIRED)
  find_library(${variable}_static ${CMAKE_STATIC_LIBRARY_PREFIX}${library}${CMAKE_STATIC_LIBRARY_SUFFIX})
  mark_as_advanced(${variable}_include ${variable}_shared ${variable}_static)
  set(shared ${${variable}_shared})
  if(NOT ${variable}_static)
    set(${variable}_static ${shared})
  endif()
  if(COMMAND halfstep_bundle)
    halfstep_bundle(shared ${library})
  endif()
  add_library(${target} INTERFACE IMPORTED GLOBAL)
  set_target_properties(${target} PROPERTIES
    INTERFACE_INCLUDE_DIRECTORIES ${${variable}_include}
    INTERFACE_LINK_LIBRARIES "$<IF:$<BOOL:$<TARGET_PROPERTY:HALFSTEP_STATIC>>,${${variable}_static},${shared}>")
endfunction()

halfstep_third_party(halfstep_z zlib.h z)
halfstep_third_party(halfstep_minizip unzip.h minizip minizip)
set_property(TARGET halfstep_minizip APPEND PROPERTY INTERFACE_LINK_LIBRARIES halfstep_z)
halfstep_third_party(halfstep_yaml yaml-cpp/yaml.h yaml-cpp)

if(NOT TARGET halfstep_toml)
  find_path(halfstep_toml_include toml++/toml.h REQUIRED)
  mark_as_advanced(halfstep_toml_include)
  add_library(halfstep_toml INTERFACE IMPORTED GLOBAL)
  target_include_directories(halfstep_toml INTERFACE ${halfstep_toml_include})
endif()

if(halfstep_prefix)
  halfstep_third_party(protobuf::libprotobuf google/protobuf/message.h protobuf)
  set_property(TARGET protobuf::libprotobuf APPEND PROPERTY INTERFACE_LINK_LIBRARIES Threads::Threads)
  # The ONNX package looks for a package of that name in the form that Debian does not ship.
  set(Protobuf_DIR ${CMAKE_CURRENT_LIST_DIR})
  set(ONNX_DIR ${halfstep_prefix}/lib/cmake/ONNX)
  find_package(ONNX REQUIRED CONFIG GLOBAL)
endif()
