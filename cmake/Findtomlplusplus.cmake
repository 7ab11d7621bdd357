# SPDX-License-Identifier: Apache-2.0
# Finds the headers of toml++ as target tomlplusplus::tomlplusplus. Not by its own CMake package:
# some distributions build a shared library of it, which the portable build must not need.
find_path(tomlplusplus_INCLUDE_DIR toml++/toml.h)
mark_as_advanced(tomlplusplus_INCLUDE_DIR)

include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(tomlplusplus REQUIRED_VARS tomlplusplus_INCLUDE_DIR)
if(tomlplusplus_FOUND AND NOT TARGET tomlplusplus::tomlplusplus)
  add_library(tomlplusplus::tomlplusplus INTERFACE IMPORTED GLOBAL)
  set_target_properties(tomlplusplus::tomlplusplus PROPERTIES
    INTERFACE_INCLUDE_DIRECTORIES "${tomlplusplus_INCLUDE_DIR}"
    INTERFACE_COMPILE_DEFINITIONS TOML_HEADER_ONLY=1)
endif()
