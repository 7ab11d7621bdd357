# SPDX-License-Identifier: Apache-2.0
# Compiles the problems of problems/ in: sets halocline_problems_source.

set(halocline_problems laplace jacobi heat star7 star13 star25 box27 box125
  heat_source poisson smoother27 anisotropic advection burgers wave_sponge acoustic shallow_water
  gray_scott fitzhugh_nagumo allen_cahn cahn_hilliard life)

set(halocline_problem_rows)
foreach(name IN LISTS halocline_problems)
  set(file "${PROJECT_SOURCE_DIR}/problems/${name}.toml")
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS "${file}")
  file(READ "${file}" text)
  string(APPEND halocline_problem_rows "    {\"${name}\", R\"toml(${text})toml\"},\n")
endforeach()
set(halocline_problems_source "${halocline_generated}/src/built_in_problems.cpp")
configure_file(cmake/built_in_problems.cpp.in "${halocline_problems_source}" @ONLY)
