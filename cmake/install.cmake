# SPDX-License-Identifier: Apache-2.0
# Installs the program, the library, the headers, the CMake package, the documents and the examples.
# No installed file names the folder it was installed to, so the whole may be moved.

if(HALOCLINE_PYTHON)
  # One file: archives of packages have no links.
  set_target_properties(halocline halocline_solver PROPERTIES
    VERSION "${PROJECT_VERSION_MAJOR}.${PROJECT_VERSION_MINOR}")
  set_target_properties(halocline PROPERTIES INSTALL_RPATH "")
  set_target_properties(halocline_solver PROPERTIES INSTALL_RPATH "$ORIGIN")
  install(TARGETS halocline halocline_solver LIBRARY DESTINATION "halocline/lib/${halocline_mpi_family}"
    NAMELINK_SKIP COMPONENT python)
  set_target_properties(halocline_cli PROPERTIES INSTALL_RPATH "$ORIGIN/../../lib/${halocline_mpi_family}")
  install(TARGETS halocline_cli RUNTIME DESTINATION "halocline/bin/${halocline_mpi_family}" COMPONENT python)
  if(TARGET halocline_jax)
    set_target_properties(halocline_jax PROPERTIES INSTALL_RPATH "")
    install(TARGETS halocline_jax LIBRARY DESTINATION halocline/lib COMPONENT python)
  endif()
  return()
endif()
install(TARGETS halocline_cli)
install(FILES "${PROJECT_SOURCE_DIR}/LICENSE" "${PROJECT_SOURCE_DIR}/README.md"
  "${PROJECT_SOURCE_DIR}/CHANGELOG.md" DESTINATION "${CMAKE_INSTALL_DOCDIR}")
install(DIRECTORY "${PROJECT_SOURCE_DIR}/docs" DESTINATION "${CMAKE_INSTALL_DOCDIR}")
if(HALOCLINE_PORTABLE)
  return()  # a program to carry, nothing to develop with
endif()
if(halocline_fetched AND NOT BUILD_SHARED_LIBS)
  message(STATUS "The library is not installed: it is static and needs what was downloaded "
    "(${halocline_fetched})")
  return()
endif()

# Their CMakeLists.txt are part of this build; the README says how to compile without it.
install(DIRECTORY "${PROJECT_SOURCE_DIR}/examples"
  DESTINATION "${CMAKE_INSTALL_DATAROOTDIR}/halocline" PATTERN CMakeLists.txt EXCLUDE)

include(CMakePackageConfigHelpers)
set(package_folder "${CMAKE_INSTALL_LIBDIR}/cmake/halocline")

install(TARGETS halocline halocline_solver halocline_mpi halocline_c halocline_solver_c
  EXPORT halocline)
install(DIRECTORY "${PROJECT_SOURCE_DIR}/include/" "${halocline_generated}/include/"
  DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}")
install(EXPORT halocline NAMESPACE halocline:: FILE halocline-targets.cmake
  DESTINATION "${package_folder}")

# A .mod file fits the compiler that made it, so the modules' sources come along: with another
# compiler, compile those and link halocline::c or halocline::solver_c alone.
set(module_files "${PROJECT_SOURCE_DIR}/bindings/fortran/halocline.f90"
  "${PROJECT_SOURCE_DIR}/bindings/fortran/halocline_solver.f90")
if(halocline_fortran)
  install(TARGETS halocline_fortran halocline_solver_fortran EXPORT halocline)
  list(APPEND module_files
    "${halocline_module_folder}/halocline.mod" "${halocline_module_folder}/halocline_solver.mod")
endif()
install(FILES ${module_files} DESTINATION "${CMAKE_INSTALL_LIBDIR}/halocline/fortran")

# For build systems other than CMake. ${pcfiledir} is where the file is, wherever that was moved.
file(RELATIVE_PATH halocline_pc_to_prefix
  "/${CMAKE_INSTALL_LIBDIR}/pkgconfig" "/")
string(REGEX REPLACE "/$" "" halocline_pc_to_prefix "${halocline_pc_to_prefix}")
set(pc_files halocline halocline-solver)
if(halocline_fortran)
  list(APPEND pc_files halocline-fortran halocline-solver-fortran)
endif()
if(BUILD_SHARED_LIBS)
  foreach(name IN LISTS pc_files)
    configure_file("cmake/${name}.pc.in" "${PROJECT_BINARY_DIR}/package/${name}.pc" @ONLY)
    install(FILES "${PROJECT_BINARY_DIR}/package/${name}.pc"
      DESTINATION "${CMAKE_INSTALL_LIBDIR}/pkgconfig")
  endforeach()
endif()

set(halocline_fortran_compiler "no Fortran compiler")
if(halocline_fortran)
  set(halocline_fortran_compiler "${CMAKE_Fortran_COMPILER_ID} ${CMAKE_Fortran_COMPILER_VERSION}")
endif()
set(halocline_static ON)
if(BUILD_SHARED_LIBS)
  set(halocline_static OFF)
endif()
configure_package_config_file(cmake/halocline-config.cmake.in
  "${PROJECT_BINARY_DIR}/package/halocline-config.cmake" INSTALL_DESTINATION "${package_folder}"
  NO_SET_AND_CHECK_MACRO)
write_basic_package_version_file("${PROJECT_BINARY_DIR}/package/halocline-config-version.cmake"
  COMPATIBILITY SameMinorVersion)
install(FILES
  "${PROJECT_BINARY_DIR}/package/halocline-config.cmake"
  "${PROJECT_BINARY_DIR}/package/halocline-config-version.cmake"
  DESTINATION "${package_folder}")
