// SPDX-License-Identifier: Apache-2.0
#pragma once
// What tests on several ranks share. These go to MPI directly: they shall hold when what is
// tested does not.

#include <chrono>

namespace halocline::test {

/// This rank, and how many there are, of all that were started.
int rank();
int ranks();

/// True if `ok` is true on every rank. Collective; a rank that does not come ends the program,
/// with the test's name. To be asked before going on after a failure: a rank that leaves a test
/// alone leaves the others hanging.
bool agree(bool ok);

/// agree() that nothing has failed so far in the running test.
bool all_well();

/// Gives the running test that much time from now on, instead of the minute that every test has.
/// For runs that somebody made long.
void allow(std::chrono::seconds time);

}  // namespace halocline::test
