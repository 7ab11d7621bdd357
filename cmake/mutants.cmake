# SPDX-License-Identifier: Apache-2.0
# HALOCLINE_MUTANTS: for tests, the seeded faults of tests/mutants are compiled in, and HALOCLINE_MUTANT
# names the one that acts. Sources that have some are compiled from halocline_mutated, where
# tests/mutants/overlay.py writes them, and headers are found there first; empty without mutants.

option(HALOCLINE_MUTANTS "For tests: compile seeded faults in" OFF)
set(halocline_mutated "")
set(halocline_mutated_sources "")

if(HALOCLINE_MUTANTS)
  if(halocline_cuda AND NOT halocline_cuda_emulated)
    message(FATAL_ERROR "HALOCLINE_MUTANTS needs HALOCLINE_CUDA=CPU or OFF: a GPU has no environment")
  endif()
  find_package(Python3 REQUIRED COMPONENTS Interpreter)
  set(halocline_mutated "${PROJECT_BINARY_DIR}/mutated")
  set(writer "${PROJECT_SOURCE_DIR}/tests/mutants/overlay.py")
  execute_process(COMMAND "${Python3_EXECUTABLE}" -B "${writer}" "${halocline_mutated}"
    OUTPUT_VARIABLE halocline_mutated_sources COMMAND_ERROR_IS_FATAL ANY)
  # Written anew when one changes; those that stay the same are not compiled again.
  set(originals ${halocline_mutated_sources} tests/mutants/overlay.py tests/mutants/mutants.py
    tests/mutants/mutant.hpp)
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${originals})
endif()

# Names in a list of sources, instead of each that has mutants, its copy with them.
function(halocline_take_mutants which)
  set(taken "")
  foreach(source IN LISTS ${which})
    file(RELATIVE_PATH name "${PROJECT_SOURCE_DIR}" "${source}")
    if(name IN_LIST halocline_mutated_sources)
      set(source "${halocline_mutated}/${name}")
    endif()
    list(APPEND taken "${source}")
  endforeach()
  set(${which} ${taken} PARENT_SCOPE)
endfunction()
