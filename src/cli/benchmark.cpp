#include "cli/benchmark.hpp"

#include <CLI/CLI.hpp>

#include "base/temporary_file.hpp"
#include "cli/common_options.hpp"
#include "cli/print.hpp"
#include "report/render.hpp"

namespace halocline::cli {

Benchmark::Benchmark(CLI::App& bench, const char* name, const char* summary, const char* footer)
    : app_(*bench.add_subcommand(name, summary)) {
  app_.footer(footer);
}

std::string Benchmark::name() const { return app_.get_name(); }

bool Benchmark::parsed() const { return app_.parsed(); }

void Benchmark::add_wait_limit(const char* group) {
  cli::add_wait_limit(app_, group, common_.wait_limit_seconds);
}

void Benchmark::add_results(const char* group) {
  add_json(app_, group, common_.json);
  add_quiet(app_, group, common_.quiet);
}

void Benchmark::add_ab(const char* group) {
  app_.add_option("--ab", common_.ab,
                  "measure with and without a variable of the environment, in turn;\n"
                  "NAME- takes away one that is set")
      ->type_name("NAME=VALUE")
      ->group(group);
}

RankJob Benchmark::job() const {
  RankJob job;
  job.wait_limit_seconds = common_.wait_limit_seconds;
  job.json = common_.json;
  job.proofs.says = common_.quiet ? ProofWish::Says::nothing : ProofWish::Says::what_it_does;
  return job;
}

void write_results(const CommonOptions& options, const Report& report) {
  const bool json_to_stdout = options.json == "-";
  if (!options.quiet && !json_to_stdout) print(render_text(report));
  if (json_to_stdout) print(render_json(report));
  if (options.json && !json_to_stdout) write_text_file(*options.json, render_json(report));
}

}  // namespace halocline::cli
