// SPDX-License-Identifier: Apache-2.0
#pragma once
// Ways to fill halos without Halocline, timed for comparison with its transports.

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <halocline/communicator.hpp>
#include <halocline/exchange.hpp>

#include "grid/halo_regions.hpp"
#include "mpi/derived_types.hpp"

namespace halocline::bench {

/// The ranks between which halos move, and their memory.
struct RivalPlace {
  const Communicator& communicator;
  const Grid& grid;
  Memory memory = Memory::host;
  std::optional<std::string> proofs{};  ///< see ExchangeOptions::proofs
};

/// Fills the full halos of fields, which must outlive it.
class RivalExchange {
 public:
  virtual ~RivalExchange() = default;
  RivalExchange(const RivalExchange&) = delete;
  RivalExchange& operator=(const RivalExchange&) = delete;
  /// Fills the halos once; complete on return. Work of GPUs on the fields must be complete.
  /// Collective.
  virtual void run() = 0;

  std::int64_t messages = 0, bytes = 0;  ///< of one run, from this rank to others

 protected:
  RivalExchange() = default;
};

struct Rival {
  const char* name;   ///< in --rivals and in JSON
  const char* title;  ///< in tables
  const char* text;   ///< description
  /// Returns why it cannot run here, or nothing; the same on every rank. Collective.
  std::optional<std::string> (*why_not)(const RivalPlace& place);
  /// Collective; throws communication if MPI fails.
  std::unique_ptr<RivalExchange> (*make)(const RivalPlace& place, const FieldList& fields,
                                         Neighbours neighbours);
};

std::span<const Rival> rivals();
std::vector<std::string> names_of_rivals();
/// Throws usage for other names.
const Rival& find_rival(const std::string& name);

std::optional<std::string> why_no_derived_types(const RivalPlace& place);
std::unique_ptr<RivalExchange> make_derived_types(const RivalPlace& place, const FieldList& fields,
                                                  Neighbours neighbours);

/// Returns the messages of field number `field` with a neighbour, without their boxes. Tags contain
/// the direction.
mpi::Swap swap_across(const grid::HaloRegion& region, int field);

}  // namespace halocline::bench
