#pragma once
// What to change when device memory cannot be given to MPI.

#include <string>

#include "launch/variables.hpp"

namespace halocline::proof {

/// Says what to do about a failure, for the MPI at hand: `library` as comm::library_version()
/// names it, `how` as Proof::how tells it. Words without a full stop.
std::string remedy(const std::string& library, const Variables& variables, const std::string& how);

}  // namespace halocline::proof
