# SPDX-License-Identifier: Apache-2.0
# OpenACC and OpenMP directives for GPUs: which of GCC's offloading compilers are here. Finds
# halocline_offload, a list of nvptx-none and amdgcn-amdhsa. Where there is none, directives run on
# the host.

include(CheckCSourceCompiles)
set(halocline_offload "")
# The driver that translates PTX may know no GPU older than this, as ptxas of CUDA 13 does.
set(halocline_offload_options_nvptx-none -foffload-options=nvptx-none=-misa=sm_75)
set(halocline_offload_options_amdgcn-amdhsa "")
# On GPUs as on the host: results are bitwise the same.
set(halocline_offload_options -foffload-options=-O3 -foffload-options=-ffp-contract=off)

if(CMAKE_C_COMPILER_ID STREQUAL "GNU" AND NOT HALOCLINE_SANITIZE AND NOT HALOCLINE_PORTABLE)
  foreach(target nvptx-none amdgcn-amdhsa)
    string(MAKE_C_IDENTIFIER "HALOCLINE_OFFLOADS_${target}" found)
    set(CMAKE_REQUIRED_FLAGS "-fopenmp -foffload=${target} ${halocline_offload_options_${target}}")
    set(CMAKE_REQUIRED_LINK_OPTIONS -no-pie)
    check_c_source_compiles("
      int main(void) {
        int x = 0;
      #pragma omp target map(tofrom : x)
        x = 1;
        return x != 1;
      }" ${found})
    if(${found})
      list(APPEND halocline_offload ${target})
    endif()
  endforeach()
  unset(CMAKE_REQUIRED_FLAGS)
  unset(CMAKE_REQUIRED_LINK_OPTIONS)
  if(NOT "nvptx-none" IN_LIST halocline_offload)
    message(STATUS "Directives are not compiled for NVIDIA's GPUs and run on the host: GCC has no "
      "compiler for them (apt install gcc-offload-nvptx)")
  endif()
  if(NOT "amdgcn-amdhsa" IN_LIST halocline_offload)
    message(STATUS "Directives are not compiled for AMD's GPUs (apt install gcc-offload-amdgcn)")
  endif()
endif()

# Lets a program's directives of a model, openacc or openmp, be compiled for the GPUs there are
# compilers for. `ARGN`: its sources.
function(halocline_compile_directives program model)
  if(halocline_offload)
    list(JOIN halocline_offload "," targets)
    set(flags -f${model} -foffload=${targets} ${halocline_offload_options})
    foreach(target IN LISTS halocline_offload)
      list(APPEND flags ${halocline_offload_options_${target}})
    endforeach()
  else()
    set(flags -f${model} -foffload=disable)
  endif()
  # As options of the sources, which come last: MPI's compiler wrappers may ask for stack protectors,
  # which GPUs have not.
  set_source_files_properties(${ARGN} PROPERTIES COMPILE_OPTIONS -fno-stack-protector)
  target_compile_options(${program} PRIVATE ${flags})
  # GCC's tables of offloaded code do not fit a program that can lie anywhere.
  set_target_properties(${program} PROPERTIES POSITION_INDEPENDENT_CODE OFF)
  target_link_options(${program} PRIVATE ${flags} -no-pie)
endfunction()
