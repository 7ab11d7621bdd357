# SPDX-License-Identifier: Apache-2.0
# Finds what Halocline stands on. Sets halocline_core_libraries and halocline_solver_libraries (linked) and
# halocline_headers (needed to compile only), and turns HALOCLINE_TESTS from AUTO into ON or OFF.

include(FetchContent)

# Finds a package, of headers that `target` stands for, at least of the version given last. Where it is not installed,
# takes the headers of a source package (scripts/sdist), or downloads it where HALOCLINE_FETCH allows, and adds its name
# to halocline_fetched; else says what to do.
macro(halocline_find package target git_repository git_tag)
  find_package(${package} ${ARGN} QUIET)
  if(NOT ${package}_FOUND AND EXISTS "${PROJECT_SOURCE_DIR}/third_party")
    add_library(${target} INTERFACE IMPORTED)
    target_include_directories(${target} SYSTEM INTERFACE "${PROJECT_SOURCE_DIR}/third_party")
    target_compile_definitions(${target} INTERFACE FMT_HEADER_ONLY=1 TOML_HEADER_ONLY=1)
  elseif(NOT ${package}_FOUND)
    if(NOT HALOCLINE_FETCH)
      message(FATAL_ERROR "${package} ${ARGN} is not installed, or too old. Run scripts/setup, "
        "or give its place with -DCMAKE_PREFIX_PATH=..., or let CMake download it with -DHALOCLINE_FETCH=ON.")
    endif()
    message(STATUS "${package}: not installed or too old, downloading ${git_tag}")
    list(APPEND halocline_fetched ${package})
    FetchContent_Declare(${package} GIT_REPOSITORY ${git_repository} GIT_TAG ${git_tag}
      GIT_SHALLOW ON)
    # Linked into ours, so that nothing of theirs needs to be installed.
    set(build_shared ${BUILD_SHARED_LIBS})
    set(BUILD_SHARED_LIBS OFF)
    foreach(option FMT_INSTALL JSON_BuildTests INSTALL_GTEST
                   HWY_ENABLE_TESTS HWY_ENABLE_EXAMPLES HWY_ENABLE_CONTRIB HWY_ENABLE_INSTALL)
      set(${option} OFF CACHE INTERNAL "")
    endforeach()
    FetchContent_MakeAvailable(${package})
    set(BUILD_SHARED_LIBS ${build_shared})
  endif()
endmacro()

set(CMAKE_POLICY_DEFAULT_CMP0077 NEW)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)

halocline_find(fmt fmt::fmt-header-only https://github.com/fmtlib/fmt.git 9.1.0)
halocline_find(nlohmann_json nlohmann_json::nlohmann_json https://github.com/nlohmann/json.git v3.11.2)
halocline_find(CLI11 CLI11::CLI11 https://github.com/CLIUtils/CLI11.git v2.3.2)
halocline_find(hwy hwy::hwy https://github.com/google/highway.git 1.2.0 1.0)
if(NOT TARGET hwy::hwy)
  add_library(hwy::hwy ALIAS hwy)
endif()
# Its headers only; distributions have its library as a shared one, which would have to travel along.
add_library(halocline_hwy INTERFACE)
target_include_directories(halocline_hwy SYSTEM INTERFACE
  $<TARGET_PROPERTY:hwy::hwy,INTERFACE_INCLUDE_DIRECTORIES>)
# Headers only, and none of them reaches ours that are installed.
halocline_find(tomlplusplus tomlplusplus::tomlplusplus https://github.com/marzer/tomlplusplus.git v3.3.0)

find_package(Threads REQUIRED)
find_package(OpenMP REQUIRED COMPONENTS CXX)
include(cmake/mpi.cmake)

if(HALOCLINE_PORTABLE)
  include(cmake/portable.cmake)
else()
  find_package(ZLIB REQUIRED)
  set(halocline_fmt fmt::fmt)
  if(HALOCLINE_PYTHON)
    set(halocline_fmt fmt::fmt-header-only)  # wheels go where there is no libfmt
  endif()
  set(halocline_openmp OpenMP::OpenMP_CXX)
endif()

if(HALOCLINE_PORTABLE OR HALOCLINE_PYTHON)
  # Every system has libgcc_s.so.1; GCC 12's, linked in, would ask for glibc 2.35. Parts of libstdc++ that nothing calls
  # would ask for 2.36. Without both 2.34 is enough.
  add_link_options(-static-libstdc++ -Wl,--gc-sections,--exclude-libs,ALL -s)
endif()

set(halocline_core_libraries ${halocline_openmp} Threads::Threads MPI::MPI_C ${CMAKE_DL_LIBS})
set(halocline_solver_libraries ZLIB::ZLIB)
set(halocline_headers nlohmann_json::nlohmann_json)
set(halocline_solver_headers tomlplusplus::tomlplusplus halocline_hwy)
# fmt has code of its own unless it is used as headers only.
if(halocline_fmt STREQUAL "fmt::fmt")
  list(APPEND halocline_core_libraries ${halocline_fmt})
else()
  list(APPEND halocline_headers ${halocline_fmt})
endif()

if(HALOCLINE_TESTS STREQUAL "AUTO")
  find_package(GTest QUIET)
  if(PROJECT_IS_TOP_LEVEL AND GTest_FOUND)
    set(HALOCLINE_TESTS ON)
  else()
    set(HALOCLINE_TESTS OFF)
  endif()
  if(PROJECT_IS_TOP_LEVEL AND NOT GTest_FOUND)
    message(STATUS "Tests are not built: no GoogleTest (scripts/setup --for test)")
  endif()
elseif(HALOCLINE_TESTS)
  halocline_find(GTest GTest::gtest https://github.com/google/googletest.git release-1.12.1)
endif()
