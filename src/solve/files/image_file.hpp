// SPDX-License-Identifier: Apache-2.0
#pragma once
// Writes fields as files that ParaView and VTK open, on all ranks at once.

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <halocline/communicator.hpp>
#include <halocline/exchange.hpp>
#include <halocline/grid.hpp>

#include "base/files/temporary_file.hpp"
#include "base/text/json_text.hpp"
#include "files/vtk_image.hpp"

namespace halocline::files {

/// Writes an image with these fields, which the host must be able to read: a .vtkhdf file if the
/// path ends so, else a .vti file. Replaces an old file once all data is on the disk. Collective.
/// Throws, on every rank, unavailable if HDF5 is needed and missing; usage and resource as
/// write_npy().
void write_image(const Communicator& communicator, const Grid& grid, const Image& image,
                 const FieldList& fields, const std::string& path,
                 Otherwise otherwise = Otherwise::fail);

/// A .vtkhdf file with the same fields at several times. Whenever the run ends, the file has all
/// times that were added. All calls are collective.
class ImageTimes {
 public:
  /// Room for a maximum number of times; unused room stays empty in the file, and takes no space on
  /// the disk. Creates nothing yet. The parts must outlive it.
  ImageTimes(const Communicator& communicator, const Grid& grid, Image image, std::string path,
             std::int64_t most);

  /// Continues the file of an earlier run, if there is one: keeps those `before`, all of them or
  /// the last ones, and none after them; a file that begins with the `next` time is replaced, and
  /// one without room for `more` times by a longer copy. To be called first. Throws, on every
  /// rank, usage for any other file; resource.
  struct Times {
    std::vector<double> before;
    double next;
    std::int64_t more;
  };
  void resume(const Times& times);
  /// Writes the fields at one more time. The first one replaces an old file. Throws as
  /// write_image(); the file then has the times before.
  void add(const FieldList& fields, double time, Otherwise otherwise = Otherwise::fail);
  std::int64_t count() const { return count_; }

 private:
  [[noreturn]] void refuse(const std::string& why) const;
  Json head() const;
  std::vector<double> read_earlier();
  std::int64_t times_to_keep(const std::vector<double>& there, const Times& times) const;
  void make_room(const std::vector<double>& kept);
  std::string begin(std::optional<TemporaryFile>& temporary, Otherwise otherwise);
  std::int64_t place(std::size_t field, std::int64_t time) const;
  void write(const FieldList& fields, double time, const std::string& path);
  void count(std::int64_t times, const std::string& path);

  const Communicator& communicator_;
  const Grid& grid_;
  Image image_;
  std::string path_;
  std::int64_t most_, count_ = 0;
  LayoutWithTimes layout_;
};

}  // namespace halocline::files
