# SPDX-License-Identifier: Apache-2.0
# make install: headers, both libraries, the program, its data, and two ways to find them (pkg-config, find_package). The files
# are relocatable: paths are relative to where they lie.

# A Python wheel (pyproject.toml) gets the library and its data, inside the package. Wheels have no links: the library has no versions in its name.
if(SKBUILD)
  set_property(TARGET npuc-shared PROPERTY VERSION)
  set_property(TARGET npuc-shared PROPERTY SOVERSION)
  install(TARGETS npuc-shared LIBRARY DESTINATION npuc/lib)
  install(DIRECTORY "${PROJECT_SOURCE_DIR}/share/npuc" DESTINATION npuc/share)
  return()
endif()

include(CMakePackageConfigHelpers)

install(DIRECTORY "${PROJECT_SOURCE_DIR}/include/npuc" DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}" FILES_MATCHING PATTERN "*.h")
install(DIRECTORY "${PROJECT_SOURCE_DIR}/share/npuc" DESTINATION "${CMAKE_INSTALL_DATADIR}" OPTIONAL)
install(FILES "${PROJECT_SOURCE_DIR}/LICENSE" "${PROJECT_SOURCE_DIR}/README.md" DESTINATION "${CMAKE_INSTALL_DOCDIR}")

set(npuc_package_dir "${CMAKE_INSTALL_LIBDIR}/cmake/npuc")
foreach(kind shared static)
  set(npuc_kind_targets "")
  foreach(stem npuc-runtime npuc)
    if(TARGET ${stem}-${kind})
      list(APPEND npuc_kind_targets ${stem}-${kind})
    endif()
  endforeach()
  install(TARGETS ${npuc_kind_targets} EXPORT npuc-${kind}
    LIBRARY DESTINATION "${CMAKE_INSTALL_LIBDIR}" ARCHIVE DESTINATION "${CMAKE_INSTALL_LIBDIR}")
  install(EXPORT npuc-${kind} NAMESPACE npuc:: DESTINATION "${npuc_package_dir}")
endforeach()
if(TARGET npuc)
  install(TARGETS npuc RUNTIME DESTINATION "${CMAKE_INSTALL_BINDIR}")
endif()

# The program prints its own completion scripts and manual page. One that is built for another machine cannot be asked.
if(TARGET npuc AND NOT CMAKE_CROSSCOMPILING)
  set(npuc_told "")
  function(npuc_ask file destination)
    add_custom_command(OUTPUT "${PROJECT_BINARY_DIR}/told/${file}"
      COMMAND ${CMAKE_COMMAND} -E make_directory "${PROJECT_BINARY_DIR}/told"
      COMMAND $<TARGET_FILE:npuc> ${ARGN} > "${PROJECT_BINARY_DIR}/told/${file}" DEPENDS npuc VERBATIM)
    set(npuc_told ${npuc_told} "${PROJECT_BINARY_DIR}/told/${file}" PARENT_SCOPE)
    install(FILES "${PROJECT_BINARY_DIR}/told/${file}" DESTINATION "${destination}")
  endfunction()
  npuc_ask(npuc "${CMAKE_INSTALL_DATADIR}/bash-completion/completions" completion bash)
  npuc_ask(_npuc "${CMAKE_INSTALL_DATADIR}/zsh/site-functions" completion zsh)
  npuc_ask(npuc.fish "${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d" completion fish)
  npuc_ask(npuc.1 "${CMAKE_INSTALL_MANDIR}/man1" man)
  add_custom_target(npuc-told ALL DEPENDS ${npuc_told})
endif()

configure_package_config_file("${PROJECT_SOURCE_DIR}/cmake/npuc-config.cmake.in" "${PROJECT_BINARY_DIR}/npuc-config.cmake"
  INSTALL_DESTINATION "${npuc_package_dir}" NO_SET_AND_CHECK_MACRO NO_CHECK_REQUIRED_COMPONENTS_MACRO)
write_basic_package_version_file("${PROJECT_BINARY_DIR}/npuc-config-version.cmake" COMPATIBILITY SameMinorVersion)
install(FILES "${PROJECT_BINARY_DIR}/npuc-config.cmake" "${PROJECT_BINARY_DIR}/npuc-config-version.cmake"
  DESTINATION "${npuc_package_dir}")

file(RELATIVE_PATH npuc_pc_prefix "${CMAKE_INSTALL_FULL_LIBDIR}/pkgconfig" "${CMAKE_INSTALL_PREFIX}")
function(npuc_install_pc name description requires)
  configure_file("${PROJECT_SOURCE_DIR}/cmake/npuc.pc.in" "${PROJECT_BINARY_DIR}/${name}.pc" @ONLY)
  install(FILES "${PROJECT_BINARY_DIR}/${name}.pc" DESTINATION "${CMAKE_INSTALL_LIBDIR}/pkgconfig")
endfunction()
npuc_install_pc(npuc "Compiler from trained networks to NPUs" "jansson zlib minizip yaml-0.1 libxxhash")
npuc_install_pc(npuc-runtime "Loads and runs the artifacts of npuc" "")
