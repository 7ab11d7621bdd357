// SPDX-License-Identifier: Apache-2.0
#pragma once
// Copies cells between fields in memory of any kinds.

#include <string>

#include <halocline/field.hpp>

namespace halocline::program {

/// Whether a GPU has to copy the field: managed memory counts as the GPU's, for read by the host
/// its pages would migrate.
bool is_for_gpu(const FieldStorage& field);

/// Returns why copy_owned() cannot copy between these fields, or an empty text: the cells or the
/// elements differ.
std::string cannot_copy_because(const FieldStorage& from, const FieldStorage& to);

/// Copies the owned cells of a field to another of the same cells and elements; halo cells keep
/// their values. All earlier work on both must be done; the copy is done on return. A field in GPU
/// memory must be in that of the current GPU, and then the axes of both in the same order. Takes
/// 32 MiB at most in each memory for a GPU's field, nothing where the host reaches both. Throws
/// internal for fields that do not fit, resource if memory runs out.
void copy_owned(const FieldStorage& from, const FieldStorage& to);
/// The same for a box of cells that both hold.
void copy_box(const FieldStorage& from, const FieldStorage& to, const Box& box);
/// The same for all held cells of fields with equal halos.
void copy_held(const FieldStorage& from, const FieldStorage& to);

/// Makes a field of the same cells, halo and elements in rows in host memory.
FieldStorage make_rows(const Grid& grid, const FieldStorage& field);

}  // namespace halocline::program
