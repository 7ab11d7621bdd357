# Finds Highway as target hwy::hwy: by its own CMake package, which older distributions leave out
# (Ubuntu 22.04), else by pkg-config.
find_package(hwy CONFIG QUIET)
if(NOT hwy_FOUND)
  find_package(PkgConfig QUIET)
  if(PkgConfig_FOUND)
    pkg_check_modules(hwy QUIET IMPORTED_TARGET GLOBAL libhwy)
    if(TARGET PkgConfig::hwy AND NOT TARGET hwy::hwy)
      add_library(hwy::hwy ALIAS PkgConfig::hwy)
    endif()
  endif()
endif()
