# SPDX-License-Identifier: Apache-2.0
# Finds Highway as target hwy::hwy: by its own CMake package, which some distributions leave out,
# else by pkg-config.
find_package(hwy ${hwy_FIND_VERSION} CONFIG QUIET)
if(NOT hwy_FOUND)
  find_package(PkgConfig QUIET)
  if(PkgConfig_FOUND)
    pkg_check_modules(hwy QUIET IMPORTED_TARGET GLOBAL libhwy)
  endif()
endif()

include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(hwy REQUIRED_VARS hwy_VERSION VERSION_VAR hwy_VERSION)
if(hwy_FOUND AND NOT TARGET hwy::hwy)
  add_library(hwy::hwy ALIAS PkgConfig::hwy)
endif()
