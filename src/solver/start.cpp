#include "solver/start.hpp"

#include "files/npy.hpp"
#include "stencil/fill.hpp"

namespace halocline::solver {

void fill_levels(const Case& the_case, const Grid& grid, std::array<FieldStorage, 2>& levels,
                 const Communicator& communicator, int threads) {
  // Both levels, so that each page of either is first touched by the thread that sweeps it.
  for (FieldStorage& level : levels)
    stencil::fill_start(level, *the_case.problem, the_case.setting, threads);
  if (the_case.initial) files::read_npy(communicator, grid, levels[0], *the_case.initial);
  for (FieldStorage& level : levels)
    stencil::fill_boundary(level, grid, *the_case.problem, the_case.setting);
}

}  // namespace halocline::solver
