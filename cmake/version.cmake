# SPDX-License-Identifier: Apache-2.0
# Generates halocline/version.hpp (public), build_info.hpp (ours) and the source with the commit.

set(halocline_generated "${PROJECT_BINARY_DIR}/generated")
configure_file(cmake/version.hpp.in "${halocline_generated}/include/halocline/version.hpp" @ONLY)
configure_file(cmake/build_info.hpp.in "${halocline_generated}/src/build_info.hpp" @ONLY)

# Looked up in every build, written when it differs: a commit recompiles one small file.
set(halocline_commit_source "${halocline_generated}/src/commit.cpp")
set(write_commit "${CMAKE_COMMAND}" "-DSOURCE=${PROJECT_SOURCE_DIR}"
  "-DOUTPUT=${halocline_commit_source}" -P "${PROJECT_SOURCE_DIR}/cmake/write_commit.cmake")
add_custom_target(halocline_commit COMMAND ${write_commit} VERBATIM
  BYPRODUCTS "${halocline_commit_source}" COMMENT "Looking up the git commit")
