# SPDX-License-Identifier: Apache-2.0
# Run as a script: writes OUTPUT, which defines the git commit of SOURCE.
set(HALOCLINE_COMMIT "unknown")
# A copy without .git must not report the commit of a repository around it.
if(EXISTS "${SOURCE}/.git")
  # Reading must not lock the index against a git command of the user.
  set(ENV{GIT_OPTIONAL_LOCKS} 0)
  execute_process(COMMAND git -C "${SOURCE}" describe --always --dirty --abbrev=12 --exclude=*
    OUTPUT_VARIABLE described OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET RESULT_VARIABLE failed)
  if(NOT failed)
    set(HALOCLINE_COMMIT "${described}")
  endif()
endif()
configure_file("${CMAKE_CURRENT_LIST_DIR}/commit.cpp.in" "${OUTPUT}" @ONLY)
