# halfstep_bundle(VARIABLE NAME): replaces the shared library in VARIABLE by a copy in the build tree
# with the name libhalfstep_<NAME>.so inside and out, and lists it in HALFSTEP_BUNDLED.
find_program(HALFSTEP_PATCHELF patchelf REQUIRED)
mark_as_advanced(HALFSTEP_PATCHELF)

function(halfstep_bundle variable name)
  if(name STREQUAL "z")  # part of every system
    return()
  endif()
  file(REAL_PATH ${${variable}} original)
  set(copy ${PROJECT_BINARY_DIR}/bundled/libhalfstep_${name}.so)
  if(${original} IS_NEWER_THAN ${copy})
    file(COPY_FILE ${original} ${copy}.new)
    execute_process(COMMAND ${HALFSTEP_PATCHELF} --set-soname libhalfstep_${name}.so ${copy}.new
                    COMMAND_ERROR_IS_FATAL ANY)
    file(RENAME ${copy}.new ${copy})
  endif()
  set_property(GLOBAL APPEND PROPERTY HALFSTEP_BUNDLED ${copy})
  set(${variable} ${copy} PARENT_SCOPE)
endfunction()
file(MAKE_DIRECTORY ${PROJECT_BINARY_DIR}/bundled)
