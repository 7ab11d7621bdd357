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

/// Describes an array to be written: slowest axis first, (NY, NX) for a plane of NX columns.
struct NpyArray {
  std::vector<std::int64_t> shape;
  std::string descr = "<f8";
};

/// Describes an array found in a file. It is little-endian and in C order: others are refused.
struct NpyHeader {
  std::vector<std::int64_t> shape;
  std::string descr;  ///< as in the file: '<f8', '|u1', ...
  char kind = 'f';    ///< NumPy's letter: f float, i integer, u unsigned, b bool, c complex, ...
  std::int64_t element_bytes = 0;
  std::size_t data_offset = 0;
};

/// What a reader needs an array to be.
struct NpyNeeds {
  std::vector<std::int64_t> shape;
  std::string descr;
  std::string asked_by;  ///< who fixed the shape, for the message: "--cells 32x128"
};

/// How much of a file parse_npy_header may want to see: NumPy itself refuses longer headers.
inline constexpr std::size_t npy_start_bytes = 10012;

/// Writes shapes as Python does: (128, 32), (5,), ().
std::string write_shape(std::span<const std::int64_t> shape);

/// Returns a header of format 1.0, padded so that the data after it starts at a multiple of 64
/// bytes.
std::string format_npy_header(const NpyArray& array);

/// Reads a header from the first bytes of a file: all of them, or npy_start_bytes of a longer
/// one. Throws usage, naming `file_name`, for what is no such file or cannot be used as it is:
/// truncated, malformed or of an unknown version; big-endian, in Fortran order, of Python objects
/// or of records.
NpyHeader parse_npy_header(std::span<const std::byte> start_of_file, std::string_view file_name);

/// Throws usage, with both sides' values, unless shape and type are as needed and the file of
/// `file_bytes` holds all data.
void require(const NpyHeader& header, const NpyNeeds& needs, std::int64_t file_bytes,
             std::string_view file_name);

}  // namespace halocline
