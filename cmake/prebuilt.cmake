# SPDX-License-Identifier: Apache-2.0
# Kernels of built-in problems, compiled with the program for each GPU that it is built for, by NVRTC, as
# those of all other formulas are when a run begins. Adds halocline_prebuilt_objects, which hold none where
# there is no NVRTC, and sets halocline_prebuilt_for to the last of those GPUs.

set(halocline_prebuilt_problems ${halocline_built_in})

set(halocline_prebuilt_for 0)
set(capabilities)
if(halocline_cuda_emulated)
  # As many as it takes to test that they are found.
  set(halocline_prebuilt_problems laplace-2)
  set(capabilities 90)
  set(nvrtc "$<TARGET_FILE:nvrtc_on_cpu>")
elseif(TARGET CUDA::nvrtc)
  # Where there is to be machine code, and not PTX alone.
  set(capabilities ${CMAKE_CUDA_ARCHITECTURES})
  list(FILTER capabilities INCLUDE REGEX "^[0-9]+(-real)?$")
  list(TRANSFORM capabilities REPLACE "-real" "")
  get_target_property(nvrtc CUDA::nvrtc IMPORTED_LOCATION)
else()
  message(STATUS "No NVRTC beside nvcc: all formulas are compiled for GPUs when a run begins")
endif()

set(halocline_bundles "")
set(halocline_bundle_views "")
set(bundles)
if(capabilities)
  add_executable(halocline_prebuild "${PROJECT_SOURCE_DIR}/src/prebuild.cpp"
    "${PROJECT_SOURCE_DIR}/src/nothing_built_in.cpp"
    $<TARGET_OBJECTS:halocline_core_objects> $<TARGET_OBJECTS:halocline_solve_objects>)
  target_link_libraries(halocline_prebuild PRIVATE halocline_solve_objects)
  if(halocline_cuda_emulated)
    add_dependencies(halocline_prebuild nvrtc_on_cpu)
  endif()
  file(MAKE_DIRECTORY "${halocline_generated}/prebuilt")
endif()
foreach(capability IN LISTS capabilities)
  set(halocline_prebuilt_for ${capability})
  foreach(row IN LISTS halocline_prebuilt_problems)
    string(REPLACE "-" ";" words ${row})
    foreach(precision f32 f64)
      # Nothing is taken over that another NVRTC made.
      set(bundle "${halocline_generated}/prebuilt/${row}-${precision}-sm${capability}-${CUDAToolkit_VERSION}")
      add_custom_command(OUTPUT "${bundle}"
        COMMAND ${CMAKE_COMMAND} -E env "HALOCLINE_NVRTC=${nvrtc}" ASAN_OPTIONS=detect_leaks=0
          $<TARGET_FILE:halocline_prebuild> "${bundle}" ${capability} ${words} ${precision}
        DEPENDS halocline_prebuild
        COMMENT "Compiling kernels of ${row} in ${precision} for sm_${capability}" VERBATIM)
      list(LENGTH bundles number)
      list(APPEND bundles "${bundle}")
      string(APPEND halocline_bundles "asm(\".pushsection .rodata\\n\"\n"
        "    \".globl halocline_bundle_${number}, halocline_bundle_end_${number}\\n\"\n"
        "    \".hidden halocline_bundle_${number}, halocline_bundle_end_${number}\\n\"\n"
        "    \"halocline_bundle_${number}: .incbin \\\"${bundle}\\\"\\n\"\n"
        "    \"halocline_bundle_end_${number}: .popsection\\n\");\n"
        "extern \"C\" const char halocline_bundle_${number}[], halocline_bundle_end_${number}[];\n")
      string(APPEND halocline_bundle_views "\n      {halocline_bundle_${number}, "
        "static_cast<std::size_t>(halocline_bundle_end_${number} - halocline_bundle_${number})},")
    endforeach()
  endforeach()
endforeach()

set(prebuilt_source "${halocline_generated}/src/prebuilt_bundles.cpp")
configure_file("${PROJECT_SOURCE_DIR}/cmake/prebuilt_bundles.cpp.in" "${prebuilt_source}" @ONLY)
# A unity source would not know its dependencies.
set_source_files_properties("${prebuilt_source}" PROPERTIES OBJECT_DEPENDS "${bundles}"
  SKIP_UNITY_BUILD_INCLUSION ON)
add_library(halocline_prebuilt_objects OBJECT "${prebuilt_source}")
target_link_libraries(halocline_prebuilt_objects PRIVATE halocline_solve_objects)
