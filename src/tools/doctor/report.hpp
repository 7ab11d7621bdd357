// SPDX-License-Identifier: Apache-2.0
#pragma once
// The report of doctor: findings and advice as text, and all facts as JSON.

#include <optional>
#include <string>
#include <vector>

#include "doctor/changes.hpp"
#include "doctor/doctor.hpp"
#include "report/report.hpp"

namespace halocline::doctor {

/// Whether the text shows all facts, or only the JSON.
enum class FactsFor { programs, all };

struct ReportOptions {
  FactsFor facts = FactsFor::programs;
  std::optional<Batch> batch = {};
  std::optional<std::string> compared_with = {};  ///< name of the earlier report
  std::vector<Change> changes = {};               ///< since then
};

Report report_of(const Diagnosis& diagnosis, const ReportOptions& options);

/// Adds the facts of the first node, of the ranks and of all nodes.
void add_facts(Report& report, const Evidence& evidence, FactsFor readers);

/// Returns the GPUs that the first rank sees; null if there are none.
const std::vector<machine::VisibleGpu>* gpus_of(const Facts& facts);

}  // namespace halocline::doctor
