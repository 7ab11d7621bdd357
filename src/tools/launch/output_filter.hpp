// SPDX-License-Identifier: Apache-2.0
#pragma once
// Filters a job's output stream.

#include <string>
#include <string_view>
#include <vector>

namespace halocline {

/// Explanations that a launcher prints between two lines of dashes, as Open MPI's mpirun does.
enum class Explanations { passed, withheld };

/// Passes a stream on, in pieces of any size, without lines that contain a mark and, on request,
/// without a launcher's explanations.
class OutputFilter {
 public:
  OutputFilter() = default;
  /// No mark if `mark` is empty.
  OutputFilter(std::string mark, Explanations explanations)
      : mark_(std::move(mark)), explanations_(explanations) {}

  /// Returns the text that can be passed on after this piece.
  std::string pass(std::string_view piece);
  /// Returns the text kept back, at the end of the stream.
  std::string finish();

  /// Lists the text after the mark of each marked line.
  const std::vector<std::string>& marked() const { return marked_; }
  /// Returns the explanations, whole.
  const std::string& withheld() const { return withheld_; }

 private:
  void take_line(std::string_view line, std::string& passed);
  bool take_explanation(std::string_view line);
  std::size_t passable(std::string_view part_of_line) const;

  std::string mark_;
  Explanations explanations_ = Explanations::passed;
  std::string kept_;             ///< end of the stream that cannot be passed on yet
  bool line_has_begun_ = false;  ///< part of the line has been passed on
  bool explains_ = false;
  std::string explanation_;
  std::vector<std::string> marked_;
  std::string withheld_;
};

}  // namespace halocline
