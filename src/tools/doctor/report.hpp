// SPDX-License-Identifier: Apache-2.0
#pragma once
// The report of doctor: what a colleague would say, and for programs all that was gathered.

#include <optional>
#include <string>
#include <vector>

#include "doctor/changes.hpp"
#include "doctor/doctor.hpp"
#include "report/report.hpp"

namespace halocline::doctor {

/// Who reads the facts.
enum class FactsFor { programs, all };

struct ReportOptions {
  FactsFor facts = FactsFor::programs;
  std::optional<Batch> batch = {};
  std::optional<std::string> compared_with = {};  ///< name of the earlier report
  std::vector<Change> changes = {};               ///< since then
};

Report report_of(const Diagnosis& diagnosis, const ReportOptions& options);

}  // namespace halocline::doctor
