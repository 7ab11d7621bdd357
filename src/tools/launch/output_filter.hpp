// SPDX-License-Identifier: Apache-2.0
#pragma once
// Takes out of a job's stream what is meant for us.

#include <string>
#include <string_view>
#include <vector>

namespace halocline {

/// What a launcher explains between two lines of dashes, as Open MPI's mpirun does.
enum class Explanations { passed, withheld };

/// Passes a stream on, in pieces as they come, without lines that have a mark in them and, if
/// wished, without a launcher's explanations.
class OutputFilter {
 public:
  OutputFilter() = default;
  /// No mark if `mark` is empty.
  OutputFilter(std::string mark, Explanations explanations)
      : mark_(std::move(mark)), explanations_(explanations) {}

  /// Returns what of the stream can be passed on after this piece.
  std::string pass(std::string_view piece);
  /// Returns what was kept back at the end of the stream.
  std::string finish();

  /// Lists what stood behind the mark, line by line.
  const std::vector<std::string>& marked() const { return marked_; }
  /// Returns the explanations, whole.
  const std::string& withheld() const { return withheld_; }

 private:
  void take_line(std::string_view line, std::string& passed);
  bool take_explanation(std::string_view line);
  std::size_t passable(std::string_view part_of_line) const;

  std::string mark_;
  Explanations explanations_ = Explanations::passed;
  std::string kept_;             ///< the end of the stream, as far as it may not be passed on yet
  bool line_has_begun_ = false;  ///< part of the line has been passed on
  bool explains_ = false;
  std::string explanation_;
  std::vector<std::string> marked_;
  std::string withheld_;
};

}  // namespace halocline
