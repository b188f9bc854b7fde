# Tools that only make builds faster: ccache, and in developer mode the mold linker.
find_program(HALFSTEP_CCACHE ccache)
mark_as_advanced(HALFSTEP_CCACHE)
if(HALFSTEP_CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  # Without the build folder in the key, the development build and the wheel share their objects.
  set(CMAKE_CXX_COMPILER_LAUNCHER ${CMAKE_COMMAND} -E env CCACHE_NOHASHDIR=1 ${HALFSTEP_CCACHE})
endif()

find_program(HALFSTEP_MOLD mold)
mark_as_advanced(HALFSTEP_MOLD)
if(HALFSTEP_MOLD AND HALFSTEP_DEVELOPER_MODE)
  add_link_options(-fuse-ld=mold)
endif()
