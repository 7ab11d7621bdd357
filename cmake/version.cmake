# SPDX-License-Identifier: Apache-2.0
# Generates halocline/version.hpp (public), build_info.hpp (ours) and the source with the commit.

# What decides how fast a build is: a compiler's version and flags, as the text of a C++ string.
function(halocline_describe_compiler result language)
  string(TOUPPER "${CMAKE_BUILD_TYPE}" type)
  string(STRIP "${CMAKE_${language}_FLAGS} ${CMAKE_${language}_FLAGS_${type}}" flags)
  set(text "${CMAKE_${language}_COMPILER_ID} ${CMAKE_${language}_COMPILER_VERSION} with ${flags}")
  string(REGEX REPLACE "([\"\\\\])" "\\\\\\1" text "${text}")
  set(${result} "${text}" PARENT_SCOPE)
endfunction()
halocline_describe_compiler(halocline_cxx_text CXX)
set(halocline_cuda_text "")
if(halocline_cuda AND NOT halocline_cuda_emulated)
  halocline_describe_compiler(halocline_cuda_text CUDA)
  list(JOIN CMAKE_CUDA_ARCHITECTURES " " architectures)
  string(APPEND halocline_cuda_text ", for ${architectures}")
endif()

set(halocline_generated "${PROJECT_BINARY_DIR}/generated")
configure_file(cmake/version.hpp.in "${halocline_generated}/include/halocline/version.hpp" @ONLY)
configure_file(cmake/build_info.hpp.in "${halocline_generated}/src/build_info.hpp" @ONLY)

# Looked up in every build, written when it differs: a commit recompiles one small file.
set(halocline_commit_source "${halocline_generated}/src/commit.cpp")
set(write_commit "${CMAKE_COMMAND}" "-DSOURCE=${PROJECT_SOURCE_DIR}"
  "-DOUTPUT=${halocline_commit_source}" -P "${PROJECT_SOURCE_DIR}/cmake/write_commit.cmake")
add_custom_target(halocline_commit COMMAND ${write_commit} VERBATIM
  BYPRODUCTS "${halocline_commit_source}" COMMENT "Looking up the git commit")
