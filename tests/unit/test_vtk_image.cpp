// SPDX-License-Identifier: Apache-2.0
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "files/vtk_image.hpp"

namespace halocline::test {
namespace {

TEST(Pvd, NamesFilesAsXmlDoes) {
  EXPECT_THAT(files::pvd_text({{"a<b>&\"\n'{}%.vti", 0.5}}),
              testing::HasSubstr(
                  "<DataSet timestep=\"0.5\" file=\"a&#60;b&#62;&#38;&#34;&#10;'{}%.vti\"/>\n"));
}

}  // namespace
}  // namespace halocline::test
