// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <halocline/error.hpp>
#include <halocline/npy.hpp>

#include "comm/collectives.hpp"
#include "files/npy.hpp"

namespace halocline {
namespace {

/// Programs have fields of any type; files have numbers. The rest is checked with the file.
void require_real(const Communicator& communicator, const FieldStorage& field) {
  comm::together(communicator, [&] {
    if (!field.shape().may_be_real)
      throw Error(ErrorKind::usage,
                  fmt::format("the elements of field '{}' are of another type than float and "
                              "double; files need one float or double per cell",
                              field.name()));
  });
}

}  // namespace

void write_npy(const Communicator& communicator, const Grid& grid, const FieldStorage& field,
               const std::string& path) {
  require_real(communicator, field);
  files::write_npy(communicator, grid, field, path);
}

void read_npy(const Communicator& communicator, const Grid& grid, const FieldStorage& field,
              const std::string& path) {
  require_real(communicator, field);
  files::read_npy(communicator, grid, field, path);
}

}  // namespace halocline
