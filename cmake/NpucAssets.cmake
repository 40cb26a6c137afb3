# SPDX-License-Identifier: Apache-2.0
# src/report/assets/NAME.EXT -> `const unsigned char npuc_asset_NAME_EXT[]`, NUL-ended: what a page carries in it, as files that editors and linters know.
# Run as a script (cmake -DOUTPUT=... -DFILES=... -P), this file writes the C source; included, it says when to.
if(CMAKE_SCRIPT_MODE_FILE)
  set(text "/* Made by cmake/NpucAssets.cmake. */\n#include \"report/assets.h\"\n")
  foreach(file IN LISTS FILES)
    get_filename_component(name "${file}" NAME)
    string(REPLACE "." "_" name "${name}")
    file(READ "${file}" bytes HEX)
    string(REGEX REPLACE "(................................................................)" "\\1\n" bytes "${bytes}")
    string(REGEX REPLACE "([0-9a-f][0-9a-f])" "0x\\1," bytes "${bytes}")
    string(APPEND text "const unsigned char npuc_asset_${name}[] = {\n${bytes}0x00};\n")
  endforeach()
  file(WRITE "${OUTPUT}" "${text}")
  return()
endif()

file(GLOB npuc_assets CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/src/report/assets/*")
set(npuc_assets_source "${PROJECT_BINARY_DIR}/generated/report/assets.c")
string(REPLACE ";" "$<SEMICOLON>" npuc_assets_list "${npuc_assets}")
add_custom_command(OUTPUT "${npuc_assets_source}"
  COMMAND "${CMAKE_COMMAND}" "-DOUTPUT=${npuc_assets_source}" "-DFILES=${npuc_assets_list}" -P "${CMAKE_CURRENT_LIST_FILE}"
  DEPENDS ${npuc_assets} "${CMAKE_CURRENT_LIST_FILE}" VERBATIM)
