# SPDX-License-Identifier: Apache-2.0
# Failures injected into a compile of the demo network (tests/inject). ctest inject/memory and inject/files take samples, inject/every (second tier) takes every call. Sanitizers have a malloc of
# their own, which the preload would replace.
if(NOT NPUC_SANITIZE AND NOT CMAKE_CROSSCOMPILING AND TARGET npuc)
  add_library(inject_preload MODULE "${PROJECT_SOURCE_DIR}/tests/inject/preload.c")
  target_compile_definitions(inject_preload PRIVATE _GNU_SOURCE) # RTLD_NEXT
  target_compile_options(inject_preload PRIVATE -Wall -Wextra -fvisibility=default)
  target_link_libraries(inject_preload PRIVATE ${CMAKE_DL_LIBS})
  add_executable(inject_demo "${PROJECT_SOURCE_DIR}/tests/inject/demo.c")
  target_include_directories(inject_demo PRIVATE "${PROJECT_SOURCE_DIR}/include")
  target_link_libraries(inject_demo PRIVATE npuc_flags)
  file(MAKE_DIRECTORY "${PROJECT_BINARY_DIR}/scratch")
  function(npuc_add_injection name stride)
    add_test(NAME inject/${name} COMMAND inject_demo $<TARGET_FILE:npuc> $<TARGET_FILE:inject_preload> "${PROJECT_SOURCE_DIR}/examples/demo"
      "${PROJECT_BINARY_DIR}/scratch/inject-${name}" ${stride} ${ARGN})
    set_tests_properties(inject/${name} PROPERTIES LABELS inject TIMEOUT 1200)
  endfunction()
  npuc_add_injection(memory 211 memory:fail)
  npuc_add_injection(files 61 io:fail io:short io:eintr io:before io:after)
  npuc_add_injection(every 1)
  set_tests_properties(inject/every PROPERTIES LABELS "inject;extra" TIMEOUT 14400)
endif()
