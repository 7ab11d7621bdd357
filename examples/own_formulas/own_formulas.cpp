// SPDX-License-Identifier: Apache-2.0
// Two species that react (Gray-Scott), their formulas written in C++.
#include <array>
#include <cstdio>

#include <halocline/communicator.hpp>
#include <halocline/error.hpp>
#include <halocline/solver.hpp>

// Whatever is not a formula.
constexpr const char* text = R"toml(
axes = 2
cells = [128, 96]
precision = "f32"
[fields.u]
initial  = "select(abs(i - nx/2) < 10 and abs(j - ny/2) < 10, 0.5, 1)"
boundary = "periodic"
[fields.v]
initial  = "select(abs(i - nx/2) < 10 and abs(j - ny/2) < 10, 0.25, 0) + 0.01*noise()"
boundary = "periodic"
[stop]
sweeps = 1000
)toml";

struct GrayScott {
  double diffusion_u, diffusion_v, feed, kill;
  std::array<halocline::Formula, 2> operator()(const halocline::Formula& u,
                                               const halocline::Formula& v) const {
    const halocline::Formula reaction = u * pow(v, 2);
    return {u + (diffusion_u * laplace(u) - reaction + feed * (1 - u)),
            v + (diffusion_v * laplace(v) + reaction - (feed + kill) * v)};
  }
};

int main() {
  using namespace halocline;
  Runtime runtime;
  const Communicator world = Communicator::world();
  try {
    const GrayScott reaction{0.16, 0.08, 0.035, 0.06};
    const auto [u, v] = reaction(Cells("u"), Cells("v"));
    SolveOptions options;
    options.problem = Problem::from_text(text, "labyrinth").update("u", u).update("v", v);
    const SolveResult result = solve(world, options);
    if (world.rank() == 0)
      std::printf("%lld sweeps, checksum %016llx\n", static_cast<long long>(result.sweeps),
                  static_cast<unsigned long long>(result.checksum));
    return 0;
  } catch (const Error& error) {
    if (world.rank() == 0) std::fprintf(stderr, "%s\n", error.what());
    return error.kind() == ErrorKind::usage ? 2 : 4;
  }
}
