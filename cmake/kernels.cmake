# SPDX-License-Identifier: Apache-2.0
# Compiles the sources of the sweep kernels in as texts, for formulas that are compiled when the
# program runs: sets halocline_kernels_source, a list.

# Sets `result` to the source that #include "NAME" finds; empty for a header of others.
function(halocline_kernel_file result name)
  set(${result} "" PARENT_SCOPE)
  foreach(root IN ITEMS "${halocline_mutated}" "${PROJECT_SOURCE_DIR}")
    foreach(folder core solve)
      if(root AND EXISTS "${root}/src/${folder}/${name}")
        set(${result} "${root}/src/${folder}/${name}" PARENT_SCOPE)
        return()
      endif()
    endforeach()
  endforeach()
endfunction()

# Appends `name`, as #include has it, and what it includes itself to `result`.
function(halocline_included result name)
  set(all ${${result}})
  halocline_kernel_file(file "${name}")
  if(name IN_LIST all OR NOT file)
    return()
  endif()
  list(APPEND all "${name}")
  file(STRINGS "${file}" lines REGEX "^#include \"")
  foreach(line IN LISTS lines)
    string(REGEX REPLACE "^#include \"(.*)\".*$" "\\1" included "${line}")
    halocline_included(all "${included}")
  endforeach()
  set(${result} ${all} PARENT_SCOPE)
endfunction()

# For CPUs, as one text.
set(headers)
halocline_included(headers stencil/cpu/text/rows.hpp)
list(REVERSE headers)  # what is included comes first
set(halocline_rows_text "")
foreach(name IN LISTS headers)
  halocline_kernel_file(file "${name}")
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS "${file}")
  file(READ "${file}" text)
  string(REGEX REPLACE "#(pragma once|include \"[^\"]*\")[^\n]*\n" "" text "${text}")
  string(APPEND halocline_rows_text "${text}")
endforeach()

# The kinds of vectors, narrowest first, and the flags of GCC and Clang for each.
set(halocline_flags_of_scalar "")
set(halocline_flags_of_neon "")
set(halocline_flags_of_sse4 -msse4.2)
set(halocline_flags_of_avx2 -mavx2 -mfma -mbmi -mbmi2)
set(halocline_flags_of_avx512 ${halocline_flags_of_avx2} -mavx512f -mavx512vl -mavx512dq -mavx512bw
  -mavx512cd -mprefer-vector-width=512)
if(CMAKE_SYSTEM_PROCESSOR MATCHES "^(x86_64|AMD64)$")
  set(halocline_levels scalar sse4 avx2 avx512)
elseif(CMAKE_SYSTEM_PROCESSOR MATCHES "^(aarch64|arm64)$")
  set(halocline_levels scalar neon)
else()
  set(halocline_levels scalar)
endif()
set(halocline_level_rows)
foreach(level IN LISTS halocline_levels)
  list(JOIN halocline_flags_of_${level} " " flags)
  string(APPEND halocline_level_rows "      {\"${level}\", \"${flags}\"},\n")
endforeach()

set(halocline_kernels_source "${halocline_generated}/src/cpu_text.cpp")
configure_file(cmake/cpu_text.cpp.in "${halocline_kernels_source}" @ONLY)

if(NOT halocline_cuda)
  return()
endif()

# For GPUs, as files.
set(halocline_kernel_headers)
halocline_included(halocline_kernel_headers stencil/cuda/text/generated.cuh)
halocline_included(halocline_kernel_headers stencil/cuda/passes/pass.cuh)
halocline_included(halocline_kernel_headers stencil/cuda/passes/side_terms.cuh)

set(halocline_kernel_rows)
foreach(name IN LISTS halocline_kernel_headers)
  halocline_kernel_file(file "${name}")
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS "${file}")
  file(READ "${file}" text)
  string(APPEND halocline_kernel_rows "    {\"${name}\", R\"cuda(${text})cuda\"},\n")
endforeach()
set(source "${halocline_generated}/src/kernel_headers.cpp")
configure_file(cmake/kernel_headers.cpp.in "${source}" @ONLY)
list(APPEND halocline_kernels_source "${source}")
