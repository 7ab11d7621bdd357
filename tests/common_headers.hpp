// SPDX-License-Identifier: Apache-2.0
// Compiled once: headers of others that most tests include, and that take long.
#include <gmock/gmock.h>

#include "../src/common_headers.hpp"
