// SPDX-License-Identifier: Apache-2.0
#pragma once
// The fields of a model at one time.

#include <span>
#include <vector>

#include <halocline/field.hpp>

namespace halocline::stencil {

/// Fields in the order of the model's, or coefficients. A view: they must outlive it.
class Fields : public std::span<const FieldStorage> {
 public:
  Fields() = default;
  Fields(const FieldStorage& one) : span(&one, 1) {}  // NOLINT: one is some
  Fields(const std::vector<FieldStorage>& all) : span(all.data(), all.size()) {}  // NOLINT
};

}  // namespace halocline::stencil
