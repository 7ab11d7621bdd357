# SPDX-License-Identifier: Apache-2.0
# Updates of built-in problems, printed and compiled for CPUs with the program, as those of all other formulas
# are when a run begins. Adds halocline_built_in_objects.

# A problem and its axes each. jacobi is laplace with other sides. To add one, add a row.
set(halocline_built_in laplace-2 laplace-3 heat-1 heat-2 heat-3 star7-3)

add_executable(halocline_print_updates "${PROJECT_SOURCE_DIR}/src/print_updates.cpp"
  "${PROJECT_SOURCE_DIR}/src/nothing_built_in.cpp"
  $<TARGET_OBJECTS:halocline_core_objects> $<TARGET_OBJECTS:halocline_solve_objects>)
target_link_libraries(halocline_print_updates PRIVATE halocline_solve_objects)
set(folder "${halocline_generated}/updates")
file(MAKE_DIRECTORY "${folder}")
set(sources "${folder}/built_in_updates.cpp")
foreach(level IN LISTS halocline_levels)
  set(source "${folder}/${level}.cpp")
  list(APPEND sources "${source}")
  set_source_files_properties("${source}" PROPERTIES
    COMPILE_OPTIONS "-O3;-fno-math-errno;-Wno-psabi;${halocline_flags_of_${level}}"
    COMPILE_DEFINITIONS "HALOCLINE_VECTORS=${level}")
endforeach()
list(JOIN halocline_levels "," levels)
add_custom_command(OUTPUT ${sources}
  COMMAND ${CMAKE_COMMAND} -E env ASAN_OPTIONS=detect_leaks=0
    $<TARGET_FILE:halocline_print_updates> "${folder}" ${levels} ${halocline_built_in}
  DEPENDS halocline_print_updates
  COMMENT "Printing updates of built-in problems" VERBATIM)
add_library(halocline_built_in_objects OBJECT ${sources})
set_target_properties(halocline_built_in_objects PROPERTIES UNITY_BUILD OFF)
target_link_libraries(halocline_built_in_objects PRIVATE halocline_solve_objects)
