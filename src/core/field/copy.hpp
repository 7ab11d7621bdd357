// SPDX-License-Identifier: Apache-2.0
#pragma once
// Copies cells between fields whose cells lie differently.

#include <halocline/field.hpp>

namespace halocline::field {

/// Copies the cells of a box from a field of floats or doubles to another, each in rows or in
/// bricks, both in memory that the host reads. The box must be held by both.
void copy_on_host(const FieldStorage& from, const FieldStorage& to, const Box& box);

}  // namespace halocline::field
