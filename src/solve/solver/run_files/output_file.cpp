// SPDX-License-Identifier: Apache-2.0
#include "solver/run_files/output_file.hpp"

#include <filesystem>
#include <optional>
#include <system_error>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "comm/collectives.hpp"
#include "files/image_file.hpp"
#include "files/npy.hpp"
#include "files/picture.hpp"
#include "files/result_files.hpp"
#include "grid/text.hpp"
#include "solver/run_files/output_kind.hpp"
#include "solver/run_files/restart.hpp"

namespace halocline::solver {
namespace {

std::string path_of(const OutputParts& parts, const Case::Output& output, std::int64_t sweeps) {
  return parts.the_case.output_every ? numbered(output.path, sweeps) : output.path;
}

class ArrayFile final : public OutputFile {
 public:
  ArrayFile(const OutputParts& parts, const Case::Output& output)
      : parts_(parts), output_(output) {}
  void write(const Level& level, std::int64_t sweeps, Otherwise otherwise) override {
    files::write_npy(parts_.communicator, parts_.grid, level[output_.fields[0]],
                     path_of(parts_, output_, sweeps), otherwise);
  }

 private:
  OutputParts parts_;
  const Case::Output& output_;
};

class PictureFile final : public OutputFile {
 public:
  PictureFile(const OutputParts& parts, const Case::Output& output)
      : parts_(parts), output_(output) {}

  void write(const Level& level, std::int64_t sweeps, Otherwise otherwise) override {
    const Case& the_case = parts_.the_case;
    files::Look look{
        .title = title_of(sweeps), .spacing = the_case.model->spacing, .otherwise = otherwise};
    if (shown_.scale) look.at_least = shown_.scale->range;
    if (const auto fixed = the_case.ranges.find(field()); fixed != the_case.ranges.end())
      look.fixed = ValueRange{fixed->second.first, fixed->second.second};
    const std::string path = path_of(parts_, output_, sweeps);
    shown_ = files::write_picture(parts_.communicator, parts_.grid, level[field()], path, look);
    path_ = path;
    if (!first_scale_) first_scale_ = shown_.scale;
  }

  /// Tells the scale of the last picture, and notes the range that gives all pictures one scale,
  /// where it has widened.
  void report(SolveResult& result, Notes& notes) const override {
    if (path_.empty()) return;
    const auto &first = first_scale_, &last = shown_.scale;
    const problem::Model& model = *parts_.the_case.model;
    const std::string& name = model.fields[field()].name;
    SolveResult::Picture& picture = result.pictures.emplace_back();
    picture = {.path = path_, .field = name, .map = name_of(last.value_or(ColourScale()).map)};
    picture.text = fmt::format("{}{}{}", model.fields.size() > 1 ? name + ", " : "",
                               last ? last->text() : "no finite value", shown_.part);
    if (!last) return;
    picture.least = last->range.min;
    picture.largest = last->range.max;
    if (first->range.min != last->range.min || first->range.max != last->range.max)
      notes.add(fmt::format(
          "the colours of '{}' stand for {:g} to {:g} in the first picture and for {:g} to {:g} in "
          "the last: option 'ranges' set to '{}={:g},{:g}' gives all of them one scale",
          output_.path, first->range.min, first->range.max, last->range.min, last->range.max, name,
          last->range.min, last->range.max));
  }

 private:
  std::size_t field() const { return output_.fields[0]; }
  std::string title_of(std::int64_t sweeps) const {
    const problem::Model& model = *parts_.the_case.model;
    return fmt::format("{}{} {}, {} sweeps", model.name,
                       model.fields.size() > 1 ? " " + model.fields[field()].name : "",
                       grid::text_of(parts_.grid.cells()), sweeps);
  }

  OutputParts parts_;
  const Case::Output& output_;
  std::optional<ColourScale> first_scale_ = {};
  files::Shown shown_ = {};  // by the last picture
  std::string path_ = {};    // of it; empty: there is none
};

files::Image image_of(const OutputParts& parts, const Case::Output& output) {
  const problem::Model& model = *parts.the_case.model;
  files::Image image{.cells = parts.grid.cells(),
                     .lower = model.lower,
                     .spacing = model.spacing,
                     .element_bytes = model.element_bytes(),
                     .fields = {}};
  for (const std::size_t field : output.fields) image.fields.push_back(model.fields[field].name);
  return image;
}

FieldList fields_of(const Level& level, const Case::Output& output) {
  FieldList fields;
  for (const std::size_t field : output.fields) fields.emplace_back(level[field]);
  return fields;
}

/// Returns the time after some sweeps; without dt, their number.
double time_of(const Case& the_case, std::int64_t sweeps) {
  return the_case.model->dt ? the_case.time_of(sweeps) : static_cast<double>(sweeps);
}

/// Returns the sweeps whose outputs an earlier run may have written, and this one will not.
std::vector<std::int64_t> sweeps_of_earlier(const Case& the_case) {
  std::vector<std::int64_t> all;
  if (the_case.restart && the_case.output_every)
    for (std::int64_t sweeps = 0; sweeps < the_case.restart->state.sweep;
         sweeps += *the_case.output_every)
      all.push_back(sweeps);
  return all;
}

class ImageFile final : public OutputFile {
 public:
  ImageFile(const OutputParts& parts, const Case::Output& output)
      : parts_(parts), output_(output), image_(image_of(parts, output)) {
    for (const std::int64_t sweeps : sweeps_of_earlier(parts.the_case))
      if (std::error_code ignored; std::filesystem::exists(path_of(parts, output, sweeps), ignored))
        add_to_list(sweeps);
  }

  void write(const Level& level, std::int64_t sweeps, Otherwise otherwise) override {
    const std::string path = path_of(parts_, output_, sweeps);
    files::write_image(parts_.communicator, parts_.grid, image_, fields_of(level, output_), path,
                       otherwise);
    if (!parts_.the_case.output_every) return;
    add_to_list(sweeps);
    comm::on_first_rank(parts_.communicator, [&] {
      write_text_file(list_of_numbered(output_.path), files::pvd_text(written_), otherwise);
    });
  }

 private:
  void add_to_list(std::int64_t sweeps) {
    const std::filesystem::path path = path_of(parts_, output_, sweeps);
    written_.emplace_back(path.filename(), time_of(parts_.the_case, sweeps));
  }

  OutputParts parts_;
  const Case::Output& output_;
  files::Image image_;
  std::vector<std::pair<std::string, double>> written_;
};

class TimesFile final : public OutputFile {
 public:
  TimesFile(const OutputParts& parts, const Case::Output& output)
      : parts_(parts),
        output_(output),
        times_(parts.communicator, parts.grid, image_of(parts, output), output.path,
               most_outputs(parts.the_case)) {
    files::ImageTimes::Times times{};
    for (const std::int64_t sweeps : sweeps_of_earlier(parts.the_case)) {
      times.before.push_back(time_of(parts.the_case, sweeps));
      times.next = time_of(parts.the_case, sweeps + *parts.the_case.output_every);
    }
    times.more = most_outputs(parts.the_case) - std::ssize(times.before);
    times_.resume(times);
  }

  void write(const Level& level, std::int64_t sweeps, Otherwise otherwise) override {
    times_.add(fields_of(level, output_), time_of(parts_.the_case, sweeps), otherwise);
  }

 private:
  OutputParts parts_;
  const Case::Output& output_;
  files::ImageTimes times_;
};

}  // namespace

std::unique_ptr<OutputFile> make_output_file(const OutputParts& parts, const Case::Output& output) {
  switch (kind_of(output.path)) {
    case OutputKind::npy:
      return std::make_unique<ArrayFile>(parts, output);
    case OutputKind::png:
      return std::make_unique<PictureFile>(parts, output);
    case OutputKind::vti:
      return std::make_unique<ImageFile>(parts, output);
    case OutputKind::vtkhdf:
      break;
  }
  if (parts.the_case.output_every) return std::make_unique<TimesFile>(parts, output);
  return std::make_unique<ImageFile>(parts, output);
}

std::int64_t most_outputs(const Case& the_case) {
  if (!the_case.output_every) return 1;
  const std::int64_t every = *the_case.output_every, sweeps = the_case.sweeps;
  // A run that ends on its way writes its end, too.
  return sweeps / every + 2;
}

std::string list_of_numbered(const std::string& path) {
  return std::filesystem::path(path).replace_extension(".pvd");
}

}  // namespace halocline::solver
