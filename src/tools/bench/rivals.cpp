// SPDX-License-Identifier: Apache-2.0
#include "bench/rivals.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <halocline/error.hpp>

namespace halocline::bench {

std::span<const Rival> rivals() {
  static constexpr Rival all[] = {
      {"derived_types", "MPI types",
       "MPI_Type_create_subarray for each direction and field, MPI_Irecv, MPI_Isend and "
       "MPI_Waitall",
       why_no_derived_types, make_derived_types},
  };
  return all;
}

std::vector<std::string> names_of_rivals() {
  std::vector<std::string> names;
  for (const Rival& rival : rivals()) names.emplace_back(rival.name);
  return names;
}

const Rival& find_rival(const std::string& name) {
  for (const Rival& rival : rivals())
    if (rival.name == name) return rival;
  throw Error(ErrorKind::usage, fmt::format("unknown rival '{}'; choose from: {}, none", name,
                                            fmt::join(names_of_rivals(), ", ")));
}

}  // namespace halocline::bench
