# SPDX-License-Identifier: Apache-2.0
# HALOCLINE_FORTRAN: ON, OFF, or AUTO (where a Fortran compiler is). Sets halocline_fortran to TRUE
# where the module `halocline` is built, which needs no MPI, and halocline_fortran_examples where
# MPI's Fortran module is there too, which examples and tests use.

set(HALOCLINE_FORTRAN AUTO CACHE STRING "Build the Fortran module: ON, OFF, or AUTO (where a compiler is)")
set_property(CACHE HALOCLINE_FORTRAN PROPERTY STRINGS AUTO ON OFF)

set(halocline_fortran FALSE)
set(halocline_fortran_examples FALSE)
# Neither a carried program nor a sanitizer gains by it.
if(NOT HALOCLINE_PORTABLE AND NOT HALOCLINE_SANITIZE AND (HALOCLINE_FORTRAN STREQUAL "AUTO" OR HALOCLINE_FORTRAN))
  include(CheckLanguage)
  check_language(Fortran)
  if(CMAKE_Fortran_COMPILER)
    enable_language(Fortran)
    find_package(MPI COMPONENTS Fortran)
    set(halocline_fortran TRUE)
    if(MPI_Fortran_HAVE_F90_MODULE)
      set(halocline_fortran_examples TRUE)
    else()
      message(STATUS "This MPI has no Fortran module: examples and tests in Fortran are not built")
    endif()
  elseif(HALOCLINE_FORTRAN STREQUAL "AUTO")
    message(STATUS "No Fortran compiler: the Fortran module is not built (apt install gfortran)")
  else()
    message(FATAL_ERROR "HALOCLINE_FORTRAN is ON, but there is no Fortran compiler; install gfortran, "
      "or give its place with -DCMAKE_Fortran_COMPILER=...")
  endif()
endif()
