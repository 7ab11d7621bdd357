# SPDX-License-Identifier: Apache-2.0
# HALOCLINE_FORTRAN: ON, OFF, or AUTO (where a Fortran compiler is). Sets halocline_fortran to TRUE
# where the module `halocline` is built, which needs no MPI, and halocline_fortran_examples where
# MPI's Fortran module is there too, which examples and tests use.

set(HALOCLINE_FORTRAN AUTO CACHE STRING "Build the Fortran module: ON, OFF, or AUTO (where a compiler is)")
set_property(CACHE HALOCLINE_FORTRAN PROPERTY STRINGS AUTO ON OFF)

# Sets halocline_fortran_mpi_is_open as halocline_mpi_is_open is set for C. A program with libraries of both MPIs
# crashes in MPI_Init.
function(halocline_check_fortran_family)
  include(CheckFortranSourceCompiles)
  set(CMAKE_REQUIRED_LIBRARIES MPI::MPI_Fortran)
  check_fortran_source_compiles("program p\nuse mpi\nimplicit none\nprint *, OMPI_MAJOR_VERSION\nend program"
    halocline_fortran_mpi_is_open SRC_EXT f90)
endfunction()

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
    halocline_check_fortran_family()
    if(NOT MPI_Fortran_HAVE_F90_MODULE)
      message(STATUS "This MPI has no Fortran module: examples and tests in Fortran are not built")
    elseif(NOT "${halocline_fortran_mpi_is_open}" STREQUAL "${halocline_mpi_is_open}")
      message(WARNING "${MPI_Fortran_COMPILER} and ${MPI_C_COMPILER} belong to different MPIs: examples and tests in "
        "Fortran are not built; give the right one with -DMPI_Fortran_COMPILER=...")
    else()
      set(halocline_fortran_examples TRUE)
    endif()
  elseif(HALOCLINE_FORTRAN STREQUAL "AUTO")
    message(STATUS "No Fortran compiler: the Fortran module is not built (apt install gfortran)")
  else()
    message(FATAL_ERROR "HALOCLINE_FORTRAN is ON, but there is no Fortran compiler; install gfortran, "
      "or give its place with -DCMAKE_Fortran_COMPILER=...")
  endif()
endif()
