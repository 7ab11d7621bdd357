# SPDX-License-Identifier: Apache-2.0
# HALOCLINE_CUDA: ON, OFF, AUTO (where nvcc is), or CPU: the CUDA sources are compiled by the C++
# compiler against tests/cuda_on_cpu, which runs them on the host. Sets halocline_cuda to TRUE where
# CUDA sources are built, and halocline_cuda_libraries.

set(HALOCLINE_CUDA AUTO CACHE STRING "Build for GPUs: ON, OFF, AUTO (where nvcc is), or CPU (tests)")
set_property(CACHE HALOCLINE_CUDA PROPERTY STRINGS AUTO ON OFF CPU)

set(HALOCLINE_CUDA_ARCHITECTURES "" CACHE STRING
  "GPUs to build for: compute capabilities (80;90), or all; empty: those that are here, or 90")

# Sets `result` to the compute capabilities of the GPUs that are here: "90".
function(halocline_find_gpus result)
  execute_process(COMMAND nvidia-smi --query-gpu=compute_cap --format=csv,noheader
    OUTPUT_VARIABLE found RESULT_VARIABLE failed ERROR_QUIET OUTPUT_STRIP_TRAILING_WHITESPACE)
  if(failed OR NOT found MATCHES "^[0-9.\n]+$")
    set(found "")
  endif()
  string(REGEX REPLACE "\\.|\r" "" found "${found}")
  string(REPLACE "\n" ";" found "${found}")
  list(REMOVE_DUPLICATES found)
  set(${result} ${found} PARENT_SCOPE)
endfunction()

# Sets CMAKE_CUDA_ARCHITECTURES, unless the user has. With PTX of the newest: GPUs to come translate it.
macro(halocline_choose_architectures)
  if(NOT CMAKE_CUDA_ARCHITECTURES OR CMAKE_CUDA_ARCHITECTURES STREQUAL "${halocline_architectures}")
    set(why "as chosen")
    set(capabilities ${HALOCLINE_CUDA_ARCHITECTURES})
    if("${capabilities}" STREQUAL "all")
      set(capabilities 75 80 90 100 120)
    elseif(NOT capabilities)
      set(why "of the GPUs here")
      halocline_find_gpus(capabilities)
    endif()
    if(NOT capabilities)
      set(why "there is no GPU here")
      set(capabilities 90)
    endif()
    list(SORT capabilities COMPARE NATURAL)
    message(STATUS "Building for GPUs of compute capability ${capabilities} (${why}; "
      "-DHALOCLINE_CUDA_ARCHITECTURES names others, or all)")
    list(POP_BACK capabilities newest)
    list(TRANSFORM capabilities APPEND "-real")
    set(halocline_architectures ${capabilities} ${newest} CACHE INTERNAL "")
    set(CMAKE_CUDA_ARCHITECTURES ${halocline_architectures} CACHE STRING "" FORCE)
  endif()
endmacro()

set(halocline_cuda FALSE)
set(halocline_cuda_libraries "")
set(halocline_cuda_emulated FALSE)

if(HALOCLINE_CUDA STREQUAL "CPU")
  set(halocline_cuda TRUE)
  set(halocline_cuda_emulated TRUE)
  set(halocline_cuda_libraries cuda_on_cpu)
  add_subdirectory(tests/cuda_on_cpu)
  # Libraries that stand for NVIDIA's call the runtime of the program that loads them.
  set(CMAKE_ENABLE_EXPORTS ON)
elseif(HALOCLINE_CUDA STREQUAL "AUTO" OR HALOCLINE_CUDA)
  if(NOT CMAKE_CUDA_COMPILER AND NOT DEFINED ENV{CUDACXX})
    # The last is what scripts/setup brings.
    find_program(halocline_nvcc nvcc PATHS /usr/local/cuda/bin
      "${PROJECT_SOURCE_DIR}/build/cuda-toolkit/bin" NO_CACHE)
    if(halocline_nvcc)
      set(CMAKE_CUDA_COMPILER "${halocline_nvcc}")
    endif()
  endif()
  halocline_choose_architectures()
  set(CMAKE_CUDA_RUNTIME_LIBRARY Static)
  include(CheckLanguage)
  check_language(CUDA)
  if(CMAKE_CUDA_COMPILER)
    enable_language(CUDA)
    # CMake before 3.26 does not know that nvcc takes C++20.
    if(NOT DEFINED CMAKE_CUDA20_STANDARD_COMPILE_OPTION)
      set(CMAKE_CUDA20_STANDARD_COMPILE_OPTION "-std=c++20")
      set(CMAKE_CUDA20_EXTENSION_COMPILE_OPTION "-std=c++20")
    endif()
    find_package(CUDAToolkit 12.0 REQUIRED)
    set(halocline_cuda TRUE)
    set(halocline_cuda_libraries CUDA::cudart_static)
  elseif(HALOCLINE_CUDA STREQUAL "AUTO")
    message(STATUS "No nvcc: building for the CPU only (scripts/setup --for cuda brings a compiler)")
  else()
    message(FATAL_ERROR "HALOCLINE_CUDA is ON, but there is no nvcc; give its place with "
      "-DCMAKE_CUDA_COMPILER=..., or run scripts/setup --for cuda")
  endif()
endif()
set(CMAKE_CUDA_STANDARD 20)
set(CMAKE_CUDA_STANDARD_REQUIRED ON)
set(CMAKE_CUDA_EXTENSIONS OFF)
