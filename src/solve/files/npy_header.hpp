// SPDX-License-Identifier: Apache-2.0
#pragma once
// The header of NumPy's .npy format, versions 1.0 to 3.0, as pure functions on bytes.
// Source: NEP 1, "A simple file format for NumPy arrays", and numpy.lib.format.

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace halocline {

/// An array to write: slowest axis first, (NY, NX) for a plane of NX columns.
struct NpyArray {
  std::vector<std::int64_t> shape;
  std::string descr = "<f8";
};

/// An array in a file, little-endian and in C order; parse_npy_header() rejects others.
struct NpyHeader {
  std::vector<std::int64_t> shape;
  std::string descr;  ///< as in the file: '<f8', '|u1', ...
  char kind = 'f';    ///< NumPy's letter: f float, i integer, u unsigned, b bool, c complex, ...
  std::int64_t element_bytes = 0;
  std::size_t data_offset = 0;
};

/// The shape and type that a reader needs.
struct NpyNeeds {
  std::vector<std::int64_t> shape;
  std::string descr;
  std::string asked_by;  ///< the option that requires the shape, for the message: "--cells 32x128"
};

/// The most bytes that parse_npy_header() needs: NumPy itself rejects longer headers.
inline constexpr std::size_t npy_start_bytes = 10012;

/// The fewest bytes that format_npy_header() returns for one to three axes.
inline constexpr std::size_t npy_header_bytes = 128;

/// Writes shapes as Python does: (128, 32), (5,), ().
std::string write_shape(std::span<const std::int64_t> shape);

/// Returns a header of format 1.0, padded so that the data after it starts at a multiple of 64
/// bytes.
std::string format_npy_header(const NpyArray& array);

/// Parses the header in the first bytes of a file: all of them, or npy_start_bytes of a longer
/// file. Throws usage, with `file_name`, if it is not a .npy file, is truncated, malformed or of an
/// unknown version, or if its array is big-endian, in Fortran order, or of Python objects or
/// records.
NpyHeader parse_npy_header(std::span<const std::byte> start_of_file, std::string_view file_name);

/// Throws usage unless a file of `file_bytes` bytes holds all data.
void require_complete(const NpyHeader& header, std::int64_t file_bytes, std::string_view file_name);

/// Throws usage, with the values found and needed, unless shape and type match and the file of
/// `file_bytes` bytes holds all data.
void require(const NpyHeader& header, const NpyNeeds& needs, std::int64_t file_bytes,
             std::string_view file_name);

}  // namespace halocline
