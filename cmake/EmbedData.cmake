# Script: writes OUTPUT, a C++ source with the table of the files that LIST names, each under the
# first of ROOTS (separated by |) that has it.
file(STRINGS ${LIST} files)
list(LENGTH files count)

set(delimiter "halfstep_data")
file(WRITE ${OUTPUT}.new "#include <array>\n\n#include \"halfstep/support/embedded_data.h\"\n\n"
     "namespace halfstep {\nnamespace {\nusing namespace std::string_view_literals;\n"
     "constexpr std::array<EmbeddedFile, ${count}> kFiles = {{\n")
string(REPLACE "|" ";" ROOTS "${ROOTS}")
foreach(name IN LISTS files)
  foreach(root IN LISTS ROOTS)
    if(EXISTS "${root}/${name}")
      set(file "${root}/${name}")
      break()
    endif()
  endforeach()
  file(READ "${file}" content)
  if(content MATCHES "\\)${delimiter}\"")
    message(FATAL_ERROR "${file} contains the delimiter )${delimiter}\"")
  endif()
  file(APPEND ${OUTPUT}.new "{\"${name}\"sv, R\"${delimiter}(${content})${delimiter}\"sv},\n")
endforeach()
file(APPEND ${OUTPUT}.new "}};\n}  // namespace\n\n"
     "std::span<const EmbeddedFile> embedded_files() noexcept { return kFiles; }\n\n}  // namespace halfstep\n")
file(RENAME ${OUTPUT}.new ${OUTPUT})
