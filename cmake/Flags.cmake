# Flags of our own code, on a target that is linked privately and never exported.
add_library(halfstep_flags INTERFACE)
target_compile_options(halfstep_flags INTERFACE
  -Wall -Wextra -Wpedantic -Wconversion -Wshadow
  $<$<BOOL:${HALFSTEP_WARNINGS_AS_ERRORS}>:-Werror>)

# Sanitizers must be everywhere, so they are set for the whole tree.
if(HALFSTEP_SANITIZERS)
  if(HALFSTEP_SANITIZERS MATCHES "thread" AND HALFSTEP_SANITIZERS MATCHES "address")
    message(FATAL_ERROR "HALFSTEP_SANITIZERS: address and thread exclude each other")
  endif()
  add_compile_options(-fsanitize=${HALFSTEP_SANITIZERS} -fno-sanitize-recover=all -fno-omit-frame-pointer)
  add_link_options(-fsanitize=${HALFSTEP_SANITIZERS})
endif()
