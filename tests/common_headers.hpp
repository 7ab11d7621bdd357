// Compiled once: headers of others that most tests include, and that take long.
#include "../src/common_headers.hpp"

#include <gmock/gmock.h>
