# SPDX-License-Identifier: Apache-2.0
# examples/runtime/NAME.c -> program examples/NAME: only the public headers and libnpuc-runtime, as a user has them. tests/cli/runtime_example.sh runs them.
file(GLOB npuc_examples CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/examples/runtime/*.c")
foreach(file IN LISTS npuc_examples)
  get_filename_component(name "${file}" NAME_WE)
  add_executable(example_${name} "${file}")
  set_target_properties(example_${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/examples" OUTPUT_NAME "${name}")
  target_link_libraries(example_${name} PRIVATE npuc::npuc-runtime npuc_flags)
endforeach()
