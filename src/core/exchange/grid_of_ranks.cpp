// SPDX-License-Identifier: Apache-2.0
// The grid of a communicator. Not in grid/, which knows ranks as numbers only.
#include <halocline/communicator.hpp>
#include <halocline/grid.hpp>

namespace halocline {

Grid::Grid(const Communicator& communicator, const GridOptions& options)
    : Grid(communicator.rank(), communicator.size(), options) {}

}  // namespace halocline
