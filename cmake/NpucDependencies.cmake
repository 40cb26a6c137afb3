# SPDX-License-Identifier: Apache-2.0
# The compiler's libraries, all from Debian. The runtime library links none of them: libm and pthreads only.
find_package(PkgConfig REQUIRED)
find_package(Threads REQUIRED)
pkg_check_modules(JANSSON REQUIRED IMPORTED_TARGET jansson)
pkg_check_modules(ZLIB REQUIRED IMPORTED_TARGET zlib)
pkg_check_modules(MINIZIP REQUIRED IMPORTED_TARGET minizip)
pkg_check_modules(YAML REQUIRED IMPORTED_TARGET yaml-0.1)
pkg_check_modules(XXHASH REQUIRED IMPORTED_TARGET libxxhash)
set(npuc_compiler_libs PkgConfig::JANSSON PkgConfig::ZLIB PkgConfig::MINIZIP PkgConfig::YAML PkgConfig::XXHASH ${CMAKE_DL_LIBS})
if(NPUC_TESTS)
  pkg_check_modules(CMOCKA REQUIRED IMPORTED_TARGET cmocka)
endif()
