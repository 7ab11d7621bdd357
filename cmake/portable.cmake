# SPDX-License-Identifier: Apache-2.0
# HALOCLINE_PORTABLE: a build folder whose bin/ and lib/ run on another machine that has the same
# family of MPI and a libc that is not older. All else is linked in.
set(BUILD_SHARED_LIBS OFF)
set(halocline_fmt fmt::fmt-header-only)

set(shared_first ${CMAKE_FIND_LIBRARY_SUFFIXES})
set(CMAKE_FIND_LIBRARY_SUFFIXES .a ${shared_first})
find_package(ZLIB REQUIRED)
set(CMAKE_FIND_LIBRARY_SUFFIXES ${shared_first})

# FindOpenMP knows the shared libgomp only; the compiler has the archive beside it.
execute_process(COMMAND ${CMAKE_CXX_COMPILER} -print-file-name=libgomp.a
  OUTPUT_VARIABLE gomp_archive OUTPUT_STRIP_TRAILING_WHITESPACE)
if(NOT IS_ABSOLUTE "${gomp_archive}")
  message(FATAL_ERROR "HALOCLINE_PORTABLE needs the compiler's libgomp.a")
endif()
add_library(halocline_gomp INTERFACE)
target_compile_options(halocline_gomp INTERFACE ${OpenMP_CXX_FLAGS})
target_link_libraries(halocline_gomp INTERFACE "${gomp_archive}" Threads::Threads ${CMAKE_DL_LIBS})
set(halocline_openmp halocline_gomp)

set(CMAKE_BUILD_WITH_INSTALL_RPATH ON)
