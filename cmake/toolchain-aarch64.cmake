# SPDX-License-Identifier: Apache-2.0
# Cross-compiles to 64-bit ARM with Debian's gcc-aarch64-linux-gnu; tests run under qemu-user. The libraries that the compiler links come from
# a folder that scripts/aarch64-sysroot fills (NPUC_AARCH64_SYSROOT in the environment; default build-aarch64/sysroot of the tree). libnpuc-runtime needs none of them.
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR aarch64)
set(CMAKE_C_COMPILER aarch64-linux-gnu-gcc)
set(npuc_cross_libc /usr/aarch64-linux-gnu)

if(DEFINED ENV{NPUC_AARCH64_SYSROOT})
  set(npuc_sysroot "$ENV{NPUC_AARCH64_SYSROOT}")
else()
  get_filename_component(npuc_sysroot "${CMAKE_CURRENT_LIST_DIR}/../build-aarch64/sysroot" ABSOLUTE)
endif()
set(npuc_sysroot_libs "${npuc_sysroot}/usr/lib/aarch64-linux-gnu" "${npuc_sysroot}/lib/aarch64-linux-gnu")

# pkg-config must see that folder's files only, and print the paths that it would leave out as the system's own.
set(ENV{PKG_CONFIG_LIBDIR} "${npuc_sysroot}/usr/lib/aarch64-linux-gnu/pkgconfig")
set(ENV{PKG_CONFIG_SYSROOT_DIR} "${npuc_sysroot}")
set(ENV{PKG_CONFIG_ALLOW_SYSTEM_CFLAGS} 1)
set(ENV{PKG_CONFIG_ALLOW_SYSTEM_LIBS} 1)

set(CMAKE_FIND_ROOT_PATH "${npuc_sysroot}" "${npuc_cross_libc}")
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY BOTH)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE BOTH)
foreach(npuc_folder IN LISTS npuc_sysroot_libs)
  string(APPEND CMAKE_EXE_LINKER_FLAGS_INIT " -Wl,-rpath-link,${npuc_folder}")
  string(APPEND CMAKE_SHARED_LINKER_FLAGS_INIT " -Wl,-rpath-link,${npuc_folder}")
endforeach()
set(CMAKE_BUILD_RPATH "${npuc_sysroot_libs}")
set(CMAKE_CROSSCOMPILING_EMULATOR qemu-aarch64 -L "${npuc_cross_libc}")
