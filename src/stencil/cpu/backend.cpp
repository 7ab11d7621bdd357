#include "stencil/cpu/backend.hpp"

#include <cstdlib>
#include <vector>

#include <fmt/format.h>

#include <halocline/error.hpp>

#include "stencil/check.hpp"
#include "stencil/cpu/caches.hpp"
#include "stencil/cpu/kernel.hpp"
#include "stencil/partition.hpp"
#include "stencil/scalar_cells.hpp"

namespace halocline::stencil {
namespace cpu {
namespace {

const char* tune(const char* n, const char* d) { const char* v = std::getenv(n); return v ? v : d; }
class CpuSweep final : public Sweep {
 public:
  CpuSweep(std::unique_ptr<Kernel> kernel, std::unique_ptr<Kernel> strided_kernel,
           const SweepNeeds& needs, const SweepOptions& options)
      : kernel_(std::move(kernel)),
        strided_kernel_(std::move(strided_kernel)),
        needs_(needs),
        threads_(options.threads),
        maxima_(static_cast<std::size_t>(options.threads)) {}

  void run(const SweepArguments& arguments, Stream stream) override {
    check_arguments(arguments, needs_, stream);
    if (arguments.norm == problem::NormKind::none)
      return update(arguments, arguments.region, problem::NormKind::none);
    const Box owned = intersect(arguments.region, arguments.out.shape().owned);
    update(arguments, owned, arguments.norm);
    for (const Box& rim : subtract(arguments.region, owned))
      update(arguments, rim, problem::NormKind::none);
  }

 private:
  void update(const SweepArguments& arguments, const Box& box, problem::NormKind norm) {
    if (box.empty()) return;
    const Int3 extent = box.extent();
    if (norm == problem::NormKind::l2) {
      const std::int64_t W = std::min(T_W, segment_cells(box));
      row_sums_.resize(static_cast<std::size_t>((extent.x + W - 1) / W * extent.y * extent.z));
    }
    std::fill(maxima_.begin(), maxima_.end(), 0.0);
    if (box.cells() < T_MIN || threads_ == 1) {
      update_share(arguments, box, box, norm, 0);
    } else {
#pragma omp parallel for num_threads(threads_) schedule(static, 1)
      for (int thread = 0; thread < threads_; ++thread)
        update_share(arguments, box, share_of(box, threads_, thread), norm, thread);
    }
    if (norm == problem::NormKind::max)
      for (const double maximum : maxima_)
        *arguments.norm_sum = larger(*arguments.norm_sum, maximum);
    if (norm == problem::NormKind::l2) {
      double sum = 0;
      for (const double row_sum : row_sums_) sum += row_sum;
      *arguments.norm_sum += sum;
    }
  }

  void update_share(const SweepArguments& arguments, const Box& box, const Box& share,
                    problem::NormKind kind, int thread) {
    const Int3 extent = box.extent();
    const bool nt = T_NT >= 0 ? T_NT : exceeds(caches(), 2 * arguments.out.shape().owned.cells() * arguments.out.shape().element_bytes, 1, threads_);
    const bool strided = arguments.in.strides().x != 1 || arguments.out.strides().x != 1;
    const Kernel& kernel = strided ? *strided_kernel_ : *kernel_;
    const std::int64_t W = std::min(T_W, segment_cells(box));
    BlockNorm norm{.kind = kind, .plane = extent.y};
    for (std::int64_t x = share.lower.x; x < share.upper.x; x += W)
    for (std::int64_t y = share.lower.y; y < share.upper.y; y += T_B) {
      const Box blockbox{{x,y,share.lower.z}, {std::min(x+W, share.upper.x), std::min(y+T_B, share.upper.y), share.upper.z}};
      Block block{address_of(arguments.in, blockbox.lower), address_of(arguments.out, blockbox.lower), blockbox.extent(), steps_of(arguments.in), steps_of(arguments.out)};
      norm.row_sums = row_sums_.data() + ((x - box.lower.x) / W * extent.z + share.lower.z - box.lower.z) * extent.y + y - box.lower.y;
      kernel.update(block, nt ? Stores::streamed : Stores::cached, norm);
    }
    maxima_[static_cast<std::size_t>(thread)] = norm.max;
    if (nt) flush_stores();
  }

  std::unique_ptr<Kernel> kernel_, strided_kernel_;
  SweepNeeds needs_;
  int threads_;
  std::vector<double> maxima_, row_sums_;
  std::int64_t T_W = std::atoll(tune("T_W", "1000000000")), T_B = std::atoll(tune("T_B", "1000000000"));
  int T_NT = std::atoi(tune("T_NT", "-1"));
  std::int64_t T_MIN = std::atoll(tune("T_MIN", "32768"));
};

std::string names_of_levels() {
  std::string names = "auto";
  for (const Level& level : levels()) names += fmt::format(", {}", level.name);
  return names;
}

const Level& find_level(std::string_view name) {
  if (name == "auto") return levels().back();
  for (const Level& level : levels())
    if (level.name == name) return level;
  throw Error(ErrorKind::usage,
              fmt::format("there is no vector level '{}' on this processor; there are: {}", name,
                          names_of_levels()));
}

}  // namespace

std::unique_ptr<Sweep> Backend::make(const problem::Problem& problem,
                                     const problem::Setting& setting,
                                     problem::Precision precision,
                                     const SweepOptions& options) const {
  if (options.threads < 1)
    throw Error(ErrorKind::usage,
                fmt::format("{} threads per rank: at least 1 is needed", options.threads));
  return std::make_unique<CpuSweep>(find_level(options.simd).make(problem, setting, precision),
                                    make_strided_kernel(problem, setting, precision),
                                    SweepNeeds{setting.axes, precision}, options);
}

}  // namespace cpu

std::vector<std::string> simd_levels() {
  std::vector<std::string> names;
  for (const cpu::Level& level : cpu::levels()) names.emplace_back(level.name);
  return names;
}

}  // namespace halocline::stencil
