// SPDX-License-Identifier: Apache-2.0
#pragma once
// Selects the element type from a field's element size.

#include <fmt/format.h>

#include <halocline/error.hpp>
#include <halocline/field.hpp>

namespace halocline::field {

/// Calls `work.template operator()<Real>()` with float for elements of 4 bytes and double for 8.
/// Throws internal for others.
template <class Work>
auto with_real(const FieldStorage& field, const Work& work) {
  const std::int64_t bytes = field.shape().element_bytes;
  if (bytes != 4 && bytes != 8)
    throw Error(ErrorKind::internal,
                fmt::format("field '{}' has elements of {} bytes, which is neither f32 nor f64",
                            field.name(), bytes));
  return bytes == 4 ? work.template operator()<float>() : work.template operator()<double>();
}

}  // namespace halocline::field
