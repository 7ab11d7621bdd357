# Installs BUILD into FOLDER/first, moves that to FOLDER/moved, and builds and runs the consumer
# against it. The first folder is gone by then: whatever names it fails.

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
  foreach(path "${FOLDER}/first" "${BUILD}/" "${SOURCE}/")
    string(FIND "${text}" "${path}" at)
    if(NOT at EQUAL -1)
      message(FATAL_ERROR "${file} names ${path}")
    endif()
  endforeach()
endforeach()

run("${FOLDER}/moved/${PROGRAM}" --version)
run("${CMAKE_COMMAND}" -S "${CONSUMER}" -B "${FOLDER}/build" -G Ninja
  "-DCMAKE_PREFIX_PATH=${FOLDER}/moved" "-DCMAKE_CXX_COMPILER=${COMPILER}"
  "-DCMAKE_C_COMPILER=${C_COMPILER}" "-DMPI_C_COMPILER=${MPI_C_COMPILER}")
run("${CMAKE_COMMAND}" --build "${FOLDER}/build")
run("${FOLDER}/build/consumer")
run("${FOLDER}/build/consumer_with_mpi")
file(REMOVE_RECURSE "${FOLDER}")
