// SPDX-License-Identifier: Apache-2.0
// Which stream is meant by which handle.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <halocline/stream.hpp>

#include "support/caught.hpp"

namespace halocline::test {
namespace {

TEST(Stream, OfTheHostIsTheNullOne) {
  EXPECT_TRUE(Stream::host().is_host());
  EXPECT_EQ(Stream::host().native(), nullptr);
}

TEST(Stream, OfCudaIsNeverNull) {
  int queue = 0;
  EXPECT_EQ(Stream::cuda(&queue).native(), &queue);
  EXPECT_FALSE(Stream::cuda_default().is_host());
  const Caught error = caught([] { Stream::cuda(nullptr); });
  EXPECT_EQ(error.kind, ErrorKind::usage);
  EXPECT_THAT(error.text, testing::HasSubstr("Stream::cuda_default()"));
}

}  // namespace
}  // namespace halocline::test
