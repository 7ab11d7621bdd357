// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <string>
#include <vector>

#include <halocline/checkpoint.hpp>
#include <halocline/solver.h>

#include "../guard.hpp"
#include "../handles.hpp"
#include "../translate.hpp"

using namespace halocline;
using binding::made;

// A later version adds members at the end of the struct, and earlier_sizes has its size before.
static_assert(sizeof(halocline_checkpoint_options) == 64);

namespace {

std::vector<NamedField> fields_from(const halocline_named_field* fields, int count) {
  std::vector<NamedField> all;
  binding::for_each(fields, count, "the list of fields", [&](const halocline_named_field& one) {
    all.push_back(
        {binding::text(one.name, "the name of a field"), made(one.field, "field").storage});
  });
  return all;
}

CheckpointOptions options_from(const halocline_checkpoint_options& given) {
  CheckpointOptions options;
  if (given.text != nullptr) options.text = given.text;
  std::copy_n(given.origin, 3, options.origin.begin());
  std::copy_n(given.spacing, 3, options.spacing.begin());
  return options;
}

}  // namespace

halocline_status halocline_write_checkpoint(const halocline_grid* grid,
                                            const halocline_named_field* fields, int field_count,
                                            const char* path,
                                            const halocline_checkpoint_options* options) {
  return binding::guarded([&] {
    const halocline_grid& on = made(grid, "grid");
    CheckpointOptions wanted;
    if (options != nullptr)
      wanted = options_from(binding::checked(options, "halocline_checkpoint_options"));
    write_checkpoint(on.communicator, on.grid, fields_from(fields, field_count),
                     binding::text(path, "the path"), wanted);
  });
}

halocline_status halocline_read_checkpoint(const halocline_grid* grid,
                                           const halocline_named_field* fields, int field_count,
                                           const char* path, const char** text) {
  thread_local std::string kept;
  return binding::guarded([&] {
    const halocline_grid& on = made(grid, "grid");
    kept = read_checkpoint(on.communicator, on.grid, fields_from(fields, field_count),
                           binding::text(path, "the path"));
    if (text != nullptr) *text = kept.c_str();
  });
}
