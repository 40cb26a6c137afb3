# SPDX-License-Identifier: Apache-2.0
# Tests, found by glob; nothing here needs an edit when a test is added.
#   tests/unit/FOLDER/FILE_test.c   one cmocka program -> ctest unit/FOLDER/FILE, label unit
#   tests/support/*.c               helpers linked into every unit test (include "support/X.h")
#   tests/decoder/*.c               npu-decode, the second decoder of .npu files: a program that links nothing of ours
#   tests/decoder/NAME.sh           compares it with npuc -> ctest decoder/NAME, label decoder
#   tests/cli/NAME.sh               a command-line test -> ctest cli/NAME, label cli; exit status 77 means skipped
#   tests/conformance/NAME.sh       recorded ONNX cases through npuc-conformance -> ctest conformance/NAME, label conformance
#   tests/grid/NAME.sh              models of one operator through npuc-grid -> ctest grid/NAME, label grid
#   tests/extra/NAME.sh             the same, for what needs ../shared or Python: label extra, run by `make test-all`
#   scripts/docs/NAME.c             a program that prints docs/NAME.md -> ctest docs/NAME, label docs
# A test program that names __wrap_malloc is linked with its wrappers around malloc, calloc, realloc, aligned_alloc and free.
# A test program that makes a thread pool has the label threaded as well, and runs under ThreadSanitizer.
file(GLOB_RECURSE npuc_unit_tests CONFIGURE_DEPENDS RELATIVE "${PROJECT_SOURCE_DIR}/tests/unit" "${PROJECT_SOURCE_DIR}/tests/unit/*_test.c")
file(GLOB npuc_test_support CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/tests/support/*.c")
file(GLOB npuc_decoder_sources CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/tests/decoder/*.c")
file(GLOB npuc_script_tests CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/tests/cli/*.sh" "${PROJECT_SOURCE_DIR}/tests/decoder/*.sh"
  "${PROJECT_SOURCE_DIR}/tests/conformance/*.sh" "${PROJECT_SOURCE_DIR}/tests/grid/*.sh" "${PROJECT_SOURCE_DIR}/tests/extra/*.sh")
file(GLOB npuc_doc_sources CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/scripts/docs/*.c")

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

add_custom_target(threaded-tests)
foreach(file IN LISTS npuc_unit_tests)
  string(REGEX REPLACE "_test\\.c$" "" name "${file}")
  string(REPLACE "/" "_" target "test_${name}")
  add_executable(${target} "${PROJECT_SOURCE_DIR}/tests/unit/${file}")
  set_target_properties(${target} PROPERTIES RUNTIME_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/tests")
  target_link_libraries(${target} PRIVATE
    $<$<TARGET_EXISTS:npuc_test_support>:npuc_test_support> $<$<TARGET_EXISTS:npuc-static>:$<LINK_LIBRARY:WHOLE_ARCHIVE,npuc-static>> npuc_test_settings)
  if(name MATCHES "^cli/") # the program's own files are in no library
    target_sources(${target} PRIVATE "${PROJECT_SOURCE_DIR}/src/${name}.c")
  endif()
  file(STRINGS "${PROJECT_SOURCE_DIR}/tests/unit/${file}" counts_memory REGEX "__wrap_malloc" LIMIT_COUNT 1)
  if(counts_memory)
    foreach(call malloc calloc realloc aligned_alloc free)
      target_link_options(${target} PRIVATE "LINKER:--wrap=${call}")
    endforeach()
  endif()
  add_test(NAME unit/${name} COMMAND ${target})
  set(labels unit)
  file(STRINGS "${PROJECT_SOURCE_DIR}/tests/unit/${file}" makes_threads REGEX "npuc_pool_create" LIMIT_COUNT 1)
  if(makes_threads)
    list(APPEND labels threaded)
    add_dependencies(threaded-tests ${target})
  endif()
  set_tests_properties(unit/${name} PROPERTIES LABELS "${labels}" TIMEOUT 300)
endforeach()

if(npuc_decoder_sources)
  add_executable(npu-decode ${npuc_decoder_sources})
  target_link_libraries(npu-decode PRIVATE npuc_flags m)
endif()

# Recorded ONNX cases: a program that tests/conformance/NAME.sh and tests/extra scripts run.
file(GLOB npuc_conformance_sources CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/tests/conformance/*.c")
add_executable(npuc-conformance ${npuc_conformance_sources})
target_link_libraries(npuc-conformance PRIVATE $<$<TARGET_EXISTS:npuc-static>:$<LINK_LIBRARY:WHOLE_ARCHIVE,npuc-static>> npuc_test_settings)

# Models of one operator, and the values that ONNX Runtime gives: a program that tests/grid/NAME.sh and tests/peers/op_grid.py run.
add_executable(npuc-grid "${PROJECT_SOURCE_DIR}/tests/grid/grid.c" "${PROJECT_SOURCE_DIR}/tests/conformance/recorded.c")
target_link_libraries(npuc-grid PRIVATE $<$<TARGET_EXISTS:npuc-static>:$<LINK_LIBRARY:WHOLE_ARCHIVE,npuc-static>> npuc_test_settings)

if(TARGET npuc)
  foreach(file IN LISTS npuc_script_tests)
    get_filename_component(name "${file}" NAME_WE)
    get_filename_component(folder "${file}" DIRECTORY)
    get_filename_component(folder "${folder}" NAME)
    add_test(NAME ${folder}/${name} COMMAND sh "${file}")
    set_tests_properties(${folder}/${name} PROPERTIES LABELS ${folder} TIMEOUT 1500 SKIP_RETURN_CODE 77
      ENVIRONMENT "NPUC=$<TARGET_FILE:npuc>;NPU_DECODE=$<TARGET_FILE:npu-decode>;CONFORMANCE=$<TARGET_FILE:npuc-conformance>;GRID=$<TARGET_FILE:npuc-grid>;NPUC_SOURCE_DIR=${PROJECT_SOURCE_DIR};NPUC_BINARY_DIR=${PROJECT_BINARY_DIR};NPUC_SCRATCH=${PROJECT_BINARY_DIR}/scratch/${folder}-${name}")
  endforeach()
endif()

foreach(file IN LISTS npuc_doc_sources)
  get_filename_component(name "${file}" NAME_WE)
  add_executable(gen-${name} "${file}")
  set_target_properties(gen-${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/docs")
  target_link_libraries(gen-${name} PRIVATE $<$<TARGET_EXISTS:npuc-static>:$<LINK_LIBRARY:WHOLE_ARCHIVE,npuc-static>> npuc_test_settings)
  if(name STREQUAL cli) # the commands' tables are in no library
    set(npuc_cli_tables ${npuc_cli_sources})
    list(FILTER npuc_cli_tables EXCLUDE REGEX "/src/cli/main\\.c$")
    target_sources(gen-${name} PRIVATE ${npuc_cli_tables})
  endif()
  add_test(NAME docs/${name} COMMAND "${PROJECT_SOURCE_DIR}/scripts/gen-docs" "${PROJECT_BINARY_DIR}" --check ${name})
  set_tests_properties(docs/${name} PROPERTIES LABELS docs)
endforeach()

# The house's own rules. Sanitizer builds have symbols of their own and install nothing.
add_test(NAME house/layers COMMAND "${PROJECT_SOURCE_DIR}/scripts/check-layers" "${PROJECT_SOURCE_DIR}")
add_test(NAME house/layers-catches COMMAND sh "${PROJECT_SOURCE_DIR}/tests/house/layers_test.sh"
  "${PROJECT_SOURCE_DIR}" "${PROJECT_BINARY_DIR}/scratch/layers")
add_test(NAME house/summary COMMAND sh "${PROJECT_SOURCE_DIR}/tests/house/summary_test.sh"
  "${PROJECT_SOURCE_DIR}" "${PROJECT_BINARY_DIR}/scratch/summary")
set(npuc_house_tests house/layers house/layers-catches house/summary)
if(NOT NPUC_SANITIZE)
  add_test(NAME house/exports COMMAND "${PROJECT_SOURCE_DIR}/scripts/check-exports" "${PROJECT_BINARY_DIR}")
  add_test(NAME house/install COMMAND sh "${PROJECT_SOURCE_DIR}/tests/house/install_test.sh"
    "${PROJECT_SOURCE_DIR}" "${PROJECT_BINARY_DIR}" "${PROJECT_BINARY_DIR}/scratch/install" "${CMAKE_C_COMPILER}")
  list(APPEND npuc_house_tests house/exports house/install)
endif()
set_tests_properties(${npuc_house_tests} PROPERTIES LABELS house)
