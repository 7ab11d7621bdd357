# SPDX-License-Identifier: Apache-2.0
# Shows that find_named_path() tells a path from text that only contains it. run.cmake begins with it;
# by itself: cmake -P tests/package/test_paths.cmake

include("${CMAKE_CURRENT_LIST_DIR}/paths.cmake")

function(expect expected text)
  find_named_path(found "${text}" ${ARGN})
  if(NOT found STREQUAL expected)
    message(FATAL_ERROR "in '${text}' find_named_path finds '${found}', not '${expected}'")
  endif()
endfunction()

# A clone in /halocline, where every installed file has its name.
set(paths /halocline/build/tests/package/first /halocline/build/ /halocline/)
expect("" "set(dir \"\${PACKAGE_PREFIX_DIR}/halocline/include\")" ${paths})
expect("" "include(\"\${prefix}/lib/cmake/halocline/halocline-targets.cmake\")" ${paths})
expect("" "\"\$ENV{HOME}/halocline/x\" $<INSTALL_PREFIX>/halocline/x $(prefix)/halocline/x" ${paths})
expect("" "lib64/halocline/x ../halocline/x ~/halocline/x a-b/halocline/x c++/halocline/x" ${paths})
expect("" "/usr/lib//halocline/x /opt/halocline/x" ${paths})
expect("" "" ${paths})
expect(/halocline/ "/halocline/include" ${paths})
expect(/halocline/ "set(dir \"/halocline/include\")" ${paths})
expect(/halocline/ "set(dir [[/halocline/include]])" ${paths})
expect(/halocline/ "a;/halocline/include" ${paths})
expect(/halocline/ "lib/cmake/halocline/x\n/halocline/include\n" ${paths})
expect(/halocline/ "-I/halocline/include" ${paths})
expect(/halocline/ "-Wl,-rpath,/halocline/lib -DFROM=/halocline/x" ${paths})
expect(/halocline/ "$<BUILD_INTERFACE:/halocline/include>" ${paths})
expect(/halocline/build/ "-L/halocline/build/lib" ${paths})
expect(/halocline/build/tests/package/first "'/halocline/build/tests/package/first'" ${paths})

# Letters that mean something in a regular expression mean themselves.
expect("" "\"/tmp/a+b.c (1)/x\" /tmp/aXb/" "/tmp/a.b/")
expect("/tmp/a+b.c (1)/" "\"/tmp/a+b.c (1)/x\"" "/tmp/a.b/" "/tmp/a+b.c (1)/")
expect("/tmp/[x]^\$|/" "\"/tmp/[x]^\$|/x\"" "/tmp/[x]^\$|/")
