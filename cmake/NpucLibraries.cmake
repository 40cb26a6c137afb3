# SPDX-License-Identifier: Apache-2.0
# libnpuc-runtime (loads and runs artifacts) is a subset of libnpuc (the compiler), so each source is compiled once, into one of
# two object sets: `npuc_runtime_objects`, and `npuc_compiler_objects` for the rest.
file(GLOB_RECURSE npuc_all_sources CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/src/*.c")
file(GLOB_RECURSE npuc_cli_sources CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/src/cli/*.c")
file(GLOB_RECURSE npuc_runtime_sources CONFIGURE_DEPENDS
  "${PROJECT_SOURCE_DIR}/src/base/*.c"
  "${PROJECT_SOURCE_DIR}/src/tensor/*.c"
  "${PROJECT_SOURCE_DIR}/src/formats/npu_file.c"
  "${PROJECT_SOURCE_DIR}/src/kernels/*.c"
  "${PROJECT_SOURCE_DIR}/src/runtime/*.c")
# The part of src/npu that a `.npu` file's reader stands on: tables and the graph's verifier, no JSON, no compiler.
foreach(name arch_valid isa isa_check layout program qgraph qgraph_verify read read_records)
  list(APPEND npuc_runtime_sources "${PROJECT_SOURCE_DIR}/src/npu/${name}.c")
endforeach()
set(npuc_compiler_sources ${npuc_all_sources} "${npuc_assets_source}")
if(npuc_cli_sources OR npuc_runtime_sources)
  list(REMOVE_ITEM npuc_compiler_sources ${npuc_cli_sources} ${npuc_runtime_sources})
endif()

# Per-file settings: kernels are worth the compiler's time (and no result depends on a floating-point exception flag, which lets GCC turn
# selections into vectors), and only the operating-system files may step outside POSIX.
foreach(source IN LISTS npuc_all_sources)
  if(source MATCHES "/src/kernels/" AND NPUC_FUZZ)
    # Kernels take numbers, not files: bounds are watched, their branches are no coverage; and Clang takes minutes for the templates with all checks at -O3.
    set_source_files_properties("${source}" PROPERTIES COMPILE_OPTIONS "-O1;-fno-trapping-math;-fno-sanitize=undefined,fuzzer-no-link")
  elseif(source MATCHES "/src/kernels/")
    set_source_files_properties("${source}" PROPERTIES COMPILE_OPTIONS "$<$<NOT:$<CONFIG:Debug>>:-O3>;-fno-trapping-math")
  elseif(source MATCHES "/src/base/version\\.c$")
    set_source_files_properties("${source}" PROPERTIES COMPILE_DEFINITIONS "NPUC_VERSION=\"${PROJECT_VERSION}\"")
  elseif(source MATCHES "/src/base/os[^/]*\\.c$")
    set_source_files_properties("${source}" PROPERTIES COMPILE_DEFINITIONS "_GNU_SOURCE")
  endif()
endforeach()

# npuc_add_objects(NAME SOURCES...): an object library; its objects are in ${NAME}_list, empty when there are no sources.
function(npuc_add_objects name)
  if(NOT ARGN)
    set(${name}_list "" PARENT_SCOPE)
    return()
  endif()
  add_library(${name} OBJECT ${ARGN})
  target_include_directories(${name} PRIVATE
    "${PROJECT_SOURCE_DIR}/include" "${PROJECT_SOURCE_DIR}/src" "${PROJECT_BINARY_DIR}/generated")
  target_link_libraries(${name} PRIVATE npuc_flags Threads::Threads)
  set(${name}_list "$<TARGET_OBJECTS:${name}>" PARENT_SCOPE)
endfunction()

npuc_add_objects(npuc_runtime_objects ${npuc_runtime_sources})
npuc_add_objects(npuc_compiler_objects ${npuc_compiler_sources})
if(TARGET npuc_compiler_objects)
  target_link_libraries(npuc_compiler_objects PRIVATE ${npuc_compiler_libs})
endif()

# npuc_add_library(STEM OBJECTS LIBS): lib<STEM>.so with a soname, lib<STEM>.a, targets npuc::STEM and npuc::STEM-static.
set(npuc_libraries "")
function(npuc_add_library stem objects libs)
  if(NOT objects)
    return()
  endif()
  add_library(${stem}-shared SHARED ${objects})
  add_library(${stem}-static STATIC ${objects})
  set_target_properties(${stem}-shared PROPERTIES
    VERSION ${PROJECT_VERSION} SOVERSION ${PROJECT_VERSION_MAJOR} LINKER_LANGUAGE C EXPORT_NAME ${stem})
  if(NOT NPUC_SANITIZE) # a sanitizer's runtime is found at load time only
    target_link_options(${stem}-shared PRIVATE -Wl,-z,defs)
  endif()
  set_target_properties(${stem}-static PROPERTIES LINKER_LANGUAGE C EXPORT_NAME ${stem}-static)
  foreach(kind shared static)
    set_target_properties(${stem}-${kind} PROPERTIES OUTPUT_NAME ${stem})
    target_include_directories(${stem}-${kind} PUBLIC
      "$<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include>" "$<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>")
    target_link_libraries(${stem}-${kind} PRIVATE ${libs})
  endforeach()
  add_library(npuc::${stem} ALIAS ${stem}-shared)
  add_library(npuc::${stem}-static ALIAS ${stem}-static)
  set(npuc_libraries ${npuc_libraries} ${stem}-shared ${stem}-static PARENT_SCOPE)
endfunction()

npuc_add_library(npuc-runtime "${npuc_runtime_objects_list}" "Threads::Threads;m")
set(npuc_objects_list ${npuc_runtime_objects_list} ${npuc_compiler_objects_list})
npuc_add_library(npuc "${npuc_objects_list}" "${npuc_compiler_libs};Threads::Threads;m")

npuc_add_objects(npuc_cli_objects ${npuc_cli_sources})
if(TARGET npuc_cli_objects AND TARGET npuc-static)
  target_link_libraries(npuc_cli_objects PRIVATE ${npuc_compiler_libs})
  add_executable(npuc ${npuc_cli_objects_list})
  set_target_properties(npuc PROPERTIES LINKER_LANGUAGE C)
  target_link_libraries(npuc PRIVATE $<LINK_LIBRARY:WHOLE_ARCHIVE,npuc-static>)
endif()
