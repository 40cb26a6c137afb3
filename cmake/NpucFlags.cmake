# SPDX-License-Identifier: Apache-2.0
# What every translation unit is compiled with. A result must never depend on the compiler, so contraction is off
# everywhere and no fast-math flag exists; speed levels come from per-function target attributes, not from here.
add_library(npuc_flags INTERFACE)
target_compile_options(npuc_flags INTERFACE
  -Wall -Wextra -Wconversion -Wshadow -Wstrict-prototypes -Wvla
  -ffp-contract=off -fno-math-errno
  # Paths in assert and debug data are relative to the source tree: the same bytes from any build folder.
  "-fmacro-prefix-map=${PROJECT_SOURCE_DIR}/=")
# The sanitizer presets turn this off: GCC 12 warns about conversions that its own instrumentation adds.
if(NPUC_WERROR)
  target_compile_options(npuc_flags INTERFACE -Werror)
endif()
target_compile_definitions(npuc_flags INTERFACE _POSIX_C_SOURCE=200809L)

if(NPUC_SANITIZE)
  set(npuc_sanitize_flags -fsanitize=${NPUC_SANITIZE} -fno-omit-frame-pointer -fno-sanitize-recover=all)
  add_compile_options(${npuc_sanitize_flags})
  add_link_options(${npuc_sanitize_flags})
endif()

if(NPUC_FUZZ)
  add_compile_options(-fsanitize=fuzzer-no-link)
endif()

# Build facts for --version. Only the files that include base/build_info.h are rebuilt when the commit changes.
find_package(Git QUIET)
set(NPUC_COMMIT "unknown")
if(GIT_FOUND AND EXISTS "${PROJECT_SOURCE_DIR}/.git")
  execute_process(COMMAND "${GIT_EXECUTABLE}" -C "${PROJECT_SOURCE_DIR}" rev-parse --short=12 HEAD
    OUTPUT_VARIABLE npuc_git_output OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET RESULT_VARIABLE npuc_git_result)
  if(npuc_git_result EQUAL 0)
    set(NPUC_COMMIT "${npuc_git_output}")
  endif()
endif()
configure_file("${PROJECT_SOURCE_DIR}/cmake/build_info.h.in" "${PROJECT_BINARY_DIR}/generated/base/build_info.h" @ONLY)
