# SPDX-License-Identifier: Apache-2.0
# tests/fuzz/NAME.c -> program build/fuzz/fuzz_NAME. With NPUC_FUZZ (preset "fuzz", Clang) it is a libFuzzer program with sanitizers; in every
# other build support/driver.c replays tests/fuzz/corpus/NAME and some changes of it: ctest fuzz/NAME, label unit. docs/hardening.md says how to run long.
file(GLOB npuc_fuzz_targets CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/tests/fuzz/*.c")
file(GLOB npuc_fuzz_support CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/tests/fuzz/support/*.c")
if(NPUC_FUZZ)
  list(FILTER npuc_fuzz_support EXCLUDE REGEX "/driver\\.c$")
endif()
add_library(npuc_fuzz_support OBJECT ${npuc_fuzz_support})
target_link_libraries(npuc_fuzz_support PRIVATE npuc_test_settings)

# What opens files by name: tests/fuzz/support/files.c has them in memory.
set(npuc_fuzz_wrapped
  npuc_file_map npuc_file_retain npuc_file_release npuc_file_bytes npuc_file_size npuc_file_path npuc_file_drop npuc_path_exists npuc_path_is_dir
  npuc_dir_list npuc_writer_create npuc_writer_write npuc_writer_printf npuc_writer_offset npuc_writer_commit npuc_writer_abandon npuc_file_write_all
  realpath)
list(TRANSFORM npuc_fuzz_wrapped PREPEND "LINKER:--wrap=")

# The commands without the program's main.
set(npuc_fuzz_cli_sources ${npuc_cli_sources})
list(FILTER npuc_fuzz_cli_sources EXCLUDE REGEX "/src/cli/main\\.c$")
add_library(npuc_fuzz_cli STATIC ${npuc_fuzz_cli_sources})
target_link_libraries(npuc_fuzz_cli PRIVATE npuc_test_settings)

add_custom_target(fuzzers)
foreach(file IN LISTS npuc_fuzz_targets)
  get_filename_component(name "${file}" NAME_WE)
  add_executable(fuzz_${name} "${file}" $<TARGET_OBJECTS:npuc_fuzz_support>)
  set_target_properties(fuzz_${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/fuzz")
  target_link_libraries(fuzz_${name} PRIVATE npuc_fuzz_cli npuc_test_support $<LINK_LIBRARY:WHOLE_ARCHIVE,npuc-static> npuc_test_settings)
  target_link_options(fuzz_${name} PRIVATE ${npuc_fuzz_wrapped} $<$<BOOL:${NPUC_FUZZ}>:-fsanitize=fuzzer>)
  add_dependencies(fuzzers fuzz_${name})
  if(NOT NPUC_FUZZ)
    add_test(NAME fuzz/${name} COMMAND fuzz_${name} --mutate 300 --seed 1 "${PROJECT_SOURCE_DIR}/tests/fuzz/corpus/${name}")
    set_tests_properties(fuzz/${name} PROPERTIES LABELS "unit;fuzz" TIMEOUT 300)
  endif()
endforeach()
