# SPDX-License-Identifier: Apache-2.0
# Tests, found by glob; nothing here needs an edit when a test is added.
#   tests/unit/FOLDER/FILE_test.c   one cmocka program -> ctest unit/FOLDER/FILE, label unit
#   tests/support/*.c               helpers linked into every unit test (include "support/X.h")
#   tests/decoder/*.c               the second decoder of .npu files: a program that links nothing of ours
#   tests/cli/NAME.sh               a command-line test -> ctest cli/NAME, label cli; exit status 77 means skipped
file(GLOB_RECURSE npuc_unit_tests CONFIGURE_DEPENDS RELATIVE "${PROJECT_SOURCE_DIR}/tests/unit" "${PROJECT_SOURCE_DIR}/tests/unit/*_test.c")
file(GLOB npuc_test_support CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/tests/support/*.c")
file(GLOB npuc_decoder_sources CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/tests/decoder/*.c")
file(GLOB npuc_cli_tests CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/tests/cli/*.sh")

# The tests see the inside (static library, internal headers); the definitions tell them where the tree and scratch space are.
add_library(npuc_test_settings INTERFACE)
target_include_directories(npuc_test_settings INTERFACE
  "${PROJECT_SOURCE_DIR}/include" "${PROJECT_SOURCE_DIR}/src" "${PROJECT_SOURCE_DIR}/tests" "${PROJECT_BINARY_DIR}/generated")
target_compile_definitions(npuc_test_settings INTERFACE
  NPUC_SOURCE_DIR="${PROJECT_SOURCE_DIR}" NPUC_BINARY_DIR="${PROJECT_BINARY_DIR}")
target_link_libraries(npuc_test_settings INTERFACE npuc_flags PkgConfig::CMOCKA ${npuc_compiler_libs} Threads::Threads m)

if(npuc_test_support)
  add_library(npuc_test_support STATIC ${npuc_test_support})
  target_link_libraries(npuc_test_support PRIVATE npuc_test_settings)
endif()

foreach(file IN LISTS npuc_unit_tests)
  string(REGEX REPLACE "_test\\.c$" "" name "${file}")
  string(REPLACE "/" "_" target "test_${name}")
  add_executable(${target} "${PROJECT_SOURCE_DIR}/tests/unit/${file}")
  set_target_properties(${target} PROPERTIES RUNTIME_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/tests")
  target_link_libraries(${target} PRIVATE
    $<$<TARGET_EXISTS:npuc_test_support>:npuc_test_support> $<$<TARGET_EXISTS:npuc-static>:npuc-static> npuc_test_settings)
  add_test(NAME unit/${name} COMMAND ${target})
  set_tests_properties(unit/${name} PROPERTIES LABELS unit TIMEOUT 300)
endforeach()

if(npuc_decoder_sources)
  add_executable(npu-decoder ${npuc_decoder_sources})
  target_link_libraries(npu-decoder PRIVATE npuc_flags m)
endif()

if(TARGET npuc)
  foreach(file IN LISTS npuc_cli_tests)
    get_filename_component(name "${file}" NAME_WE)
    add_test(NAME cli/${name} COMMAND sh "${file}")
    set_tests_properties(cli/${name} PROPERTIES LABELS cli TIMEOUT 600 SKIP_RETURN_CODE 77
      ENVIRONMENT "NPUC=$<TARGET_FILE:npuc>;NPUC_SOURCE_DIR=${PROJECT_SOURCE_DIR};NPUC_SCRATCH=${PROJECT_BINARY_DIR}/scratch/${name}")
  endforeach()
endif()
