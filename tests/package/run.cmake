# SPDX-License-Identifier: Apache-2.0
# Installs BUILD into FOLDER/first, moves that to FOLDER/moved, and builds and runs the consumer
# against it. The first folder is gone by then: whatever names it fails.

include("${CMAKE_CURRENT_LIST_DIR}/paths.cmake")
include("${CMAKE_CURRENT_LIST_DIR}/test_paths.cmake")

function(run)
  execute_process(COMMAND ${ARGN} RESULT_VARIABLE failed)
  if(failed)
    message(FATAL_ERROR "failed (${failed}): ${ARGN}")
  endif()
endfunction()

file(REMOVE_RECURSE "${FOLDER}")
file(MAKE_DIRECTORY "${FOLDER}")
run("${CMAKE_COMMAND}" --install "${BUILD}" --prefix "${FOLDER}/first")
file(RENAME "${FOLDER}/first" "${FOLDER}/moved")

file(GLOB exported "${FOLDER}/moved/${LIBRARIES}/cmake/halocline/*.cmake")
foreach(file IN LISTS exported)
  file(READ "${file}" text)
  find_named_path(named "${text}" "${FOLDER}/first" "${BUILD}/" "${SOURCE}/")
  if(named)
    message(FATAL_ERROR "${file} names ${named}")
  endif()
endforeach()

foreach(file LICENSE README.md CHANGELOG.md docs/README.md docs/laplace.png)
  if(NOT EXISTS "${FOLDER}/moved/${DOCUMENTS}/${file}")
    message(FATAL_ERROR "${file} is not installed in ${DOCUMENTS}")
  endif()
endforeach()
set(examples "${FOLDER}/moved/${DATA}/halocline/examples")

run("${FOLDER}/moved/${PROGRAM}" --version)
run("${CMAKE_COMMAND}" -S "${CONSUMER}" -B "${FOLDER}/build" -G Ninja
  "-DCMAKE_PREFIX_PATH=${FOLDER}/moved" "-DCMAKE_CXX_COMPILER=${COMPILER}"
  "-DCMAKE_C_COMPILER=${C_COMPILER}" "-DMPI_C_COMPILER=${MPI_C_COMPILER}")
run("${CMAKE_COMMAND}" --build "${FOLDER}/build")
run("${FOLDER}/build/consumer")
run("${FOLDER}/build/consumer_with_mpi")
run("${FOLDER}/build/consumer_of_solver")

# Runs one of examples/*_laplace, whose last word is the checksum that `halocline solve` prints too.
function(solve program)
  execute_process(COMMAND ${program} RESULT_VARIABLE failed OUTPUT_VARIABLE said)
  string(TOLOWER "${said}" said)
  if(failed OR NOT said MATCHES "^199 sweeps, checksum eacb0e5c9c2d699c")
    message(FATAL_ERROR "failed (${failed}): ${program} says '${said}'")
  endif()
endfunction()

# Runs one of examples/thermostat.
function(heat program)
  execute_process(COMMAND ${program} RESULT_VARIABLE failed OUTPUT_VARIABLE said)
  if(failed OR NOT said MATCHES "minute 8: 17.04 degrees, heater off\n$")
    message(FATAL_ERROR "failed (${failed}): ${program} says '${said}'")
  endif()
endfunction()

# C and Fortran by CMake,
run("${CMAKE_COMMAND}" -S "${CONSUMER}/c_and_fortran" -B "${FOLDER}/bindings" -G Ninja
  "-DCMAKE_PREFIX_PATH=${FOLDER}/moved" "-DCMAKE_C_COMPILER=${C_COMPILER}"
  "-DMPI_C_COMPILER=${MPI_C_COMPILER}" "-DMPI_Fortran_COMPILER=${MPI_Fortran_COMPILER}"
  "-DFORTRAN=${FORTRAN}" "-DEXAMPLES=${examples}"
  "-DHALOCLINE_LIBRARIES=${FOLDER}/moved/${LIBRARIES}")
run("${CMAKE_COMMAND}" --build "${FOLDER}/bindings")
solve("${FOLDER}/bindings/c_laplace")
heat("${FOLDER}/bindings/thermostat_c")
if(FORTRAN)
  solve("${FOLDER}/bindings/fortran_laplace")
  solve("${FOLDER}/bindings/fortran_from_source")
  heat("${FOLDER}/bindings/thermostat_fortran")
  heat("${FOLDER}/bindings/thermostat_from_source")
endif()

# and by pkg-config.
find_program(pkg_config pkg-config)
if(pkg_config)
  set(ENV{PKG_CONFIG_PATH} "${FOLDER}/moved/${LIBRARIES}/pkgconfig")
  # These options are enough for a program to find its libraries as it starts.
  function(build_by_pkg_config compiler name source)
    execute_process(COMMAND "${pkg_config}" --cflags --libs ${name}
      OUTPUT_VARIABLE options OUTPUT_STRIP_TRAILING_WHITESPACE COMMAND_ERROR_IS_FATAL ANY)
    separate_arguments(options UNIX_COMMAND "${options}")
    run("${compiler}" "${examples}/${source}" ${options} -lm -o "${FOLDER}/by_pkg_config")
  endfunction()
  build_by_pkg_config("${MPI_C_COMPILER}" halocline c_laplace/c_laplace.c)
  solve("${FOLDER}/by_pkg_config")
  build_by_pkg_config("${MPI_C_COMPILER}" halocline-solver thermostat/thermostat_c.c)
  heat("${FOLDER}/by_pkg_config")

  # A program compiled with another MPI is told so.
  find_program(other_compiler mpicc.mpich)
  if(other_compiler AND MPI_IS_OPEN)
    execute_process(COMMAND "${pkg_config}" --cflags --libs halocline
      OUTPUT_VARIABLE options OUTPUT_STRIP_TRAILING_WHITESPACE COMMAND_ERROR_IS_FATAL ANY)
    separate_arguments(options UNIX_COMMAND "${options}")
    run("${other_compiler}" "${examples}/c_laplace/c_laplace.c" ${options} -lm
      -o "${FOLDER}/of_mpich")
    execute_process(COMMAND "${FOLDER}/of_mpich" RESULT_VARIABLE failed TIMEOUT 60
      OUTPUT_VARIABLE said ERROR_VARIABLE said)
    if(NOT failed OR NOT said MATCHES "runs MPICH.*built with Open MPI")
      message(FATAL_ERROR "a program of MPICH (${failed}) says '${said}'")
    endif()
  endif()
  if(FORTRAN)
    build_by_pkg_config("${MPI_Fortran_COMPILER}" halocline-fortran
      fortran_laplace/fortran_laplace.f90)
    solve("${FOLDER}/by_pkg_config")
    build_by_pkg_config("${MPI_Fortran_COMPILER}" halocline-solver-fortran
      thermostat/thermostat_fortran.f90)
    heat("${FOLDER}/by_pkg_config")
  endif()
endif()
file(REMOVE_RECURSE "${FOLDER}")
