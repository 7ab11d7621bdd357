// SPDX-License-Identifier: Apache-2.0
#include "solver/run_files/trace.hpp"

#include <algorithm>
#include <map>
#include <sstream>

#include <fmt/format.h>

#include "base/files/temporary_file.hpp"
#include "comm/collectives.hpp"

namespace halocline::solver {
namespace {

std::string events_of(const Communicator& communicator) {
  const Recorder& recorder = comm::recorder(communicator);
  const int rank = communicator.rank();
  std::string text = fmt::format(
      R"({{"name":"process_name","ph":"M","pid":{0},"args":{{"name":"rank {0}"}}}})", rank);
  for (const TraceEvent& event : recorder.events())
    text += fmt::format(
        ",\n"
        R"({{"name":"{}","cat":"{}","ph":"X","pid":{},"tid":0,"ts":{:.3f},"dur":{:.3f},)"
        R"("args":{{"bytes":{}}}}})",
        event.site, name_of(event.phase), rank, event.start_seconds * 1e6, event.seconds * 1e6,
        event.bytes);
  if (recorder.events_dropped() > 0)
    text += fmt::format(
        ",\n"
        R"({{"name":"{} later spans were not kept","ph":"i","pid":{},"tid":0,)"
        R"("ts":{:.3f},"s":"p"}})",
        recorder.events_dropped(), rank, recorder.events().back().start_seconds * 1e6);
  return text;
}

}  // namespace

void write_trace(const Communicator& communicator, const std::string& path) {
  const std::vector<std::string> texts = comm::gather_texts(communicator, events_of(communicator));
  comm::together(communicator, [&] {
    if (communicator.rank() != 0) return;
    TemporaryFile file(path, Otherwise::use_working_folder);
    file.write("{\"displayTimeUnit\":\"ms\",\"traceEvents\":[\n");
    for (std::size_t rank = 0; rank < texts.size(); ++rank) {
      if (rank > 0) file.write(",\n");
      file.write(texts[rank]);
    }
    file.write("\n]}\n");
    file.commit();
  });
}

std::vector<SiteProfile> gather_profile(const Communicator& communicator) {
  std::string mine;
  for (const SiteTotals& site : comm::recorder(communicator).sites())
    mine += fmt::format("{}\t{}\t{} {} {} {}\n", site.site, name_of(site.phase), site.calls,
                        site.bytes, site.seconds, site.longest_seconds);
  std::map<std::string, SiteProfile> by_site;
  for (const std::string& text : comm::gather_texts(communicator, mine)) {
    std::istringstream lines(text);
    std::string name, phase;
    while (std::getline(lines, name, '\t') && std::getline(lines, phase, '\t')) {
      std::int64_t calls = 0, bytes = 0;
      double seconds = 0, longest = 0;
      lines >> calls >> bytes >> seconds >> longest >> std::ws;
      SiteProfile& site =
          by_site.try_emplace(name, SiteProfile{name, phase, 0, 0, 0, 0, 0}).first->second;
      site.calls += calls;
      site.bytes += bytes;
      site.mean_seconds += seconds / communicator.size();
      site.max_seconds = std::max(site.max_seconds, seconds);
      site.longest_seconds = std::max(site.longest_seconds, longest);
    }
  }
  std::vector<SiteProfile> profile;
  for (auto& [name, site] : by_site) profile.push_back(std::move(site));
  std::sort(profile.begin(), profile.end(), [](const SiteProfile& a, const SiteProfile& b) {
    return a.mean_seconds > b.mean_seconds;
  });
  return profile;
}

}  // namespace halocline::solver
