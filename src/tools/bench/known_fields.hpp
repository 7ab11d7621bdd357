// SPDX-License-Identifier: Apache-2.0
#pragma once
// Fields whose every halo byte is known after an exchange.

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

/// Owned cells hold a value made of their global index and the field's number, all else is poison.
class KnownFields {
 public:
  /// Throws resource and what Field throws.
  KnownFields(const Grid& grid, const KnownFieldsOptions& options);
  virtual ~KnownFields() = default;

  FieldList list() const;
  /// Writes values and poison, from the host; done on return.
  virtual void fill() const = 0;
  /// Tells of the first byte of a halo that is not as after fill() and one exchange: another
  /// rank's value, or poison where nobody's is due. All work has to be done.
  virtual std::optional<std::string> first_wrong(Neighbours neighbours) const = 0;

 protected:
  Grid grid_;
  KnownFieldsOptions options_;
  std::vector<FieldStorage> fields_;
};

std::unique_ptr<KnownFields> make_known_fields(const Grid& grid, const KnownFieldsOptions& options);

}  // namespace halocline::bench
