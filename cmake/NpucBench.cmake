# SPDX-License-Identifier: Apache-2.0
# bench/NAME.c -> program bench_NAME, built on request: ninja bench_NAME, or `ninja bench` for all.
file(GLOB npuc_bench_sources CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/bench/*.c")
add_custom_target(bench)
foreach(file IN LISTS npuc_bench_sources)
  get_filename_component(name "${file}" NAME_WE)
  add_executable(bench_${name} EXCLUDE_FROM_ALL "${file}" ${npuc_objects_list})
  target_include_directories(bench_${name} PRIVATE "${PROJECT_SOURCE_DIR}/include" "${PROJECT_SOURCE_DIR}/src")
  target_link_libraries(bench_${name} PRIVATE npuc_flags ${npuc_compiler_libs} Threads::Threads m)
  add_dependencies(bench bench_${name})
endforeach()
