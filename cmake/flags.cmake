# SPDX-License-Identifier: Apache-2.0
# Flags of everything that is built here. Options of the host compiler are tied to C and CXX, so
# that another language of the build does not get them.

set(CMAKE_C_STANDARD 11)
set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)

# Results are bitwise the same in every configuration, and an installed program runs on every CPU
# of its architecture.
if("${CMAKE_C_FLAGS} ${CMAKE_CXX_FLAGS}" MATCHES
   "-(ffast-math|Ofast|funsafe-math-optimizations|ffp-contract=fast|march=native)")
  message(FATAL_ERROR "${CMAKE_MATCH_0} would change results or tie the program to this CPU; "
    "take it out of CFLAGS and CXXFLAGS")
endif()
add_compile_options("$<$<COMPILE_LANGUAGE:C,CXX>:-ffp-contract=off>"
  "$<$<COMPILE_LANG_AND_ID:Fortran,GNU>:-ffp-contract=off>")

# The same for GPUs; and the host's part of CUDA sources gets what C++ gets. Line tables cost
# nothing and let profilers and compute-sanitizer name lines.
if(halocline_cuda AND NOT halocline_cuda_emulated)
  if("${CMAKE_CUDA_FLAGS}" MATCHES "use_fast_math|fmad=true|ftz=true")
    message(FATAL_ERROR "${CMAKE_MATCH_0} would change results; take it out of CUDAFLAGS")
  endif()
  add_compile_options("$<$<COMPILE_LANGUAGE:CUDA>:-fmad=false;-lineinfo>"
    "$<$<COMPILE_LANGUAGE:CUDA>:-Xcompiler=-ffp-contract=off,-Wall,-Wextra,-Wshadow>")
  if(HALOCLINE_WERROR)
    add_compile_options("$<$<COMPILE_LANGUAGE:CUDA>:-Werror=all-warnings;-Xcompiler=-Werror>")
  endif()
endif()

# Line numbers in back traces, at a tenth of the disk that -g takes.
add_compile_options("$<$<AND:$<CONFIG:Release>,$<COMPILE_LANGUAGE:C,CXX>>:-g1>")
# In the sources' own folder for everybody: what is built elsewhere has the same bytes. (ccache knows the
# objects of another folder again. nvcc writes whole paths into its line tables all the same.)
add_compile_options("$<$<AND:$<CONFIG:Release>,$<COMPILE_LANGUAGE:C,CXX>>:-ffile-prefix-map=${PROJECT_SOURCE_DIR}=.>")
if(halocline_cuda AND NOT halocline_cuda_emulated)
  add_compile_options(
    "$<$<AND:$<CONFIG:Release>,$<COMPILE_LANGUAGE:CUDA>>:-Xcompiler=-ffile-prefix-map=${PROJECT_SOURCE_DIR}=.>")
endif()

add_compile_options("$<$<COMPILE_LANGUAGE:C,CXX>:-Wall;-Wextra;-Wshadow;-Wconversion>")
# GCC 12 sees an overlap, or a length beyond all memory, in "text" + std::string (GCC bug 105651).
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
  add_compile_options("$<$<COMPILE_LANGUAGE:CXX>:-Wno-restrict;-Wno-stringop-overflow;-Wno-array-bounds>")
endif()
# A class of one source alone may have fields of that source's types; where several sources are compiled
# together, GCC takes the class for one of a header.
if(CMAKE_UNITY_BUILD AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  add_compile_options("$<$<COMPILE_LANGUAGE:CXX>:-Wno-subobject-linkage>")
endif()
if(HALOCLINE_WERROR)
  add_compile_options("$<$<COMPILE_LANGUAGE:C,CXX>:-Werror>")
endif()

# MPI's deprecated C++ classes.
add_compile_definitions(OMPI_SKIP_MPICXX MPICH_SKIP_MPICXX)

if(HALOCLINE_SANITIZE STREQUAL "address")
  set(sanitize -fsanitize=address,undefined -fno-sanitize-recover=all)
elseif(HALOCLINE_SANITIZE STREQUAL "thread")
  set(sanitize -fsanitize=thread)
elseif(HALOCLINE_SANITIZE STREQUAL "fuzzer")
  # The programs of tests/fuzz alone are linked with libFuzzer, which has a main() of its own.
  set(sanitize -fsanitize=fuzzer-no-link,address,undefined -fno-sanitize-recover=all)
elseif(HALOCLINE_SANITIZE)
  message(FATAL_ERROR "HALOCLINE_SANITIZE is '${HALOCLINE_SANITIZE}', not address, thread or fuzzer")
endif()
if(HALOCLINE_SANITIZE)
  add_compile_options("$<$<COMPILE_LANGUAGE:C,CXX>:${sanitize};-fno-omit-frame-pointer>")
  add_compile_definitions(_GLIBCXX_ASSERTIONS)
  add_link_options(${sanitize})
endif()

set(CMAKE_RUNTIME_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/bin")
set(CMAKE_LIBRARY_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/lib")
set(CMAKE_ARCHIVE_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/lib")

# Build and install folders may be moved. An MPI outside the system's folders stays findable,
# except in a portable build, whose MPI is that of another machine, and from Python, where mpi4py has
# found it: by a path to another, two would be loaded.
file(RELATIVE_PATH bin_to_lib "/${CMAKE_INSTALL_BINDIR}" "/${CMAKE_INSTALL_LIBDIR}")
set(CMAKE_BUILD_RPATH_USE_ORIGIN ON)
set(CMAKE_INSTALL_RPATH "$ORIGIN/${bin_to_lib}")
if(NOT HALOCLINE_PORTABLE AND NOT HALOCLINE_PYTHON)
  set(CMAKE_INSTALL_RPATH_USE_LINK_PATH ON)
endif()
