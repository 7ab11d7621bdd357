# Installs the program, the library, the headers and the CMake package. No installed file names the
# folder it was installed to, so the whole may be moved.

install(TARGETS halocline_cli)
if(HALOCLINE_PORTABLE)
  return()  # a program to carry, nothing to develop with
endif()
if(halocline_fetched AND NOT BUILD_SHARED_LIBS)
  message(STATUS "The library is not installed: it is static and needs what was downloaded "
    "(${halocline_fetched})")
  return()
endif()

include(CMakePackageConfigHelpers)
set(package_folder "${CMAKE_INSTALL_LIBDIR}/cmake/halocline")

install(TARGETS halocline halocline_mpi EXPORT halocline)
install(DIRECTORY "${PROJECT_SOURCE_DIR}/include/" "${halocline_generated}/include/"
  DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}")
install(EXPORT halocline NAMESPACE halocline:: FILE halocline-targets.cmake
  DESTINATION "${package_folder}")

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
if(NOT BUILD_SHARED_LIBS)
  install(FILES "${PROJECT_SOURCE_DIR}/cmake/Findhwy.cmake" DESTINATION "${package_folder}")
endif()
