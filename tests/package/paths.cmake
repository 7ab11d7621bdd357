# SPDX-License-Identifier: Apache-2.0
# Looks for paths of the build in text that others will read.

# Sets `result` to the first of the absolute paths that `text` names, or to nothing. A path stands
# where one can begin: "${prefix}/halocline/x" and "lib/cmake/halocline/x" do not name /halocline/,
# "-I/halocline/x" does.
function(find_named_path result text)
  # None of these ends a word or a reference to a variable; an option of one dash takes a path.
  set(begin "(^|[^]A-Za-z0-9_.+~@%/})>-])(-[A-Za-z]+)?")
  set(${result} "" PARENT_SCOPE)
  foreach(path IN LISTS ARGN)
    string(REGEX REPLACE "([][+.*()^$?|\\\\])" "\\\\\\1" literal "${path}")
    string(REGEX MATCH "${begin}${literal}" found "${text}")
    if(NOT found STREQUAL "")
      set(${result} "${path}" PARENT_SCOPE)
      return()
    endif()
  endforeach()
endfunction()
