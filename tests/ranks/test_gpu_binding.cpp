// SPDX-License-Identifier: Apache-2.0
// Binding ranks to the GPUs of this machine, or failing alike where there are none.

#include <algorithm>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <halocline/communicator.hpp>

#include "comm/collectives.hpp"
#include "machine/gpu_binding.hpp"
#include "support/caught.hpp"
#include "support/communicators.hpp"
#include "support/ranks.hpp"

namespace halocline::test {
namespace {

using machine::GpuBinding;
using testing::HasSubstr;

TEST(BindGpu, TellsEveryRankTheSame) {
  const Communicator& world = communicator_with();
  GpuBinding binding;
  const Caught error = caught([&] { binding = machine::bind_gpu(world); });
  std::vector<std::string> told{error.text};
  for (const GpuBinding::Row& row : binding.map)
    told.push_back(std::to_string(row.rank) + ' ' + row.uuid + ' ' + row.pci + ' ' + row.cores);
  told.insert(told.end(), binding.notes.begin(), binding.notes.end());
  EXPECT_NO_THROW(comm::require_same(world, "bindings", told));

  if (device::gpus().list.empty()) {
    EXPECT_EQ(error.kind, ErrorKind::unavailable);
    EXPECT_THAT(error.text, HasSubstr("GPU"));
    return;
  }
  ASSERT_EQ(error.kind, std::nullopt) << error.text;
  ASSERT_EQ(static_cast<int>(binding.map.size()), ranks());
  const GpuBinding::Row& mine = binding.map[static_cast<std::size_t>(rank())];
  EXPECT_EQ(mine.rank, rank());
  EXPECT_EQ(mine.uuid, binding.gpu.uuid);
  EXPECT_EQ(mine.ordinal, binding.gpu.ordinal);
  EXPECT_EQ(binding.ranks_on_gpu,
            std::count_if(binding.map.begin(), binding.map.end(),
                          [&](const GpuBinding::Row& row) { return row.uuid == mine.uuid; }));
}

}  // namespace
}  // namespace halocline::test
