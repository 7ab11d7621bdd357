// SPDX-License-Identifier: Apache-2.0
#pragma once
// Fields with known halo bytes after an exchange.

#include <memory>
#include <optional>
#include <string>

#include <halocline/exchange.hpp>

namespace halocline::bench {

struct KnownFieldsOptions {
  std::int64_t count = 1;          ///< of fields
  std::int64_t element_bytes = 8;  ///< 4 or 8
  std::int64_t width = 1;          ///< of the halo, on all sides
  Memory memory = Memory::host;
};

/// Owned cells hold a value made of global index and field number; all other cells hold poison.
class KnownFields {
 public:
  /// Throws resource and what Field throws.
  KnownFields(const Grid& grid, const KnownFieldsOptions& options);
  virtual ~KnownFields() = default;

  FieldList list() const;
  /// Writes values and poison, from the host; done on return.
  virtual void fill() const = 0;
  /// Returns the first halo cell that is wrong after fill() and one exchange: it should hold
  /// another rank's value, or poison if no rank fills it. All work must be complete.
  virtual std::optional<std::string> first_wrong(Neighbours neighbours) const = 0;

 protected:
  Grid grid_;
  KnownFieldsOptions options_;
  std::vector<FieldStorage> fields_;
};

std::unique_ptr<KnownFields> make_known_fields(const Grid& grid, const KnownFieldsOptions& options);

}  // namespace halocline::bench
