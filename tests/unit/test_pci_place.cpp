// SPDX-License-Identifier: Apache-2.0
// How near devices are, from folders laid out like the system's.

#include <gtest/gtest.h>

#include "doctor/pci_place.hpp"
#include "support/temporary_folder.hpp"

namespace halocline::test {
namespace {

using doctor::Nearness;
using doctor::PciPlace;

/// A system with two sockets; on the first, two switches below one host bridge.
class PciPlaces : public testing::Test {
 protected:
  PciPlaces() {
    put("gpu0", "pci0000:15/0000:15:01.0/0000:16:00.0/0000:17:01.0/0000:18:00.0", "0");
    put("nic0", "pci0000:15/0000:15:01.0/0000:16:00.0/0000:17:02.0/0000:19:00.0", "0");
    // Behind a switch of its own below that one.
    put("nic1",
        "pci0000:15/0000:15:01.0/0000:16:00.0/0000:17:03.0/0000:1a:00.0/0000:1b:00.0/0000:1c:00.0",
        "0");
    put("nic2", "pci0000:15/0000:15:02.0/0000:20:00.0", "0");
    put("nic3", "pci0000:30/0000:30:01.0/0000:31:00.0", "0");
    put("nic4", "pci0000:80/0000:80:01.0/0000:81:00.0", "1");
  }

  void put(const char* name, const std::string& path, const char* numa_node) const {
    folder_.put("devices/" + path + "/numa_node", numa_node);
    std::filesystem::create_directory_symlink("devices/" + path, folder_ / name);
  }

  PciPlace place(const char* name) const { return doctor::pci_place(folder_ / name).value(); }

  Nearness from_gpu(const char* name) const {
    const Nearness there = doctor::nearness(place("gpu0"), place(name));
    EXPECT_EQ(doctor::nearness(place(name), place("gpu0")), there) << "either way";
    return there;
  }

  TemporaryFolder folder_;
};

TEST_F(PciPlaces, AreReadFromTheSystem) {
  const PciPlace gpu = place("gpu0");
  EXPECT_EQ(gpu.host_bridge, "pci0000:15");
  EXPECT_EQ(gpu.bridges,
            (std::vector<std::string>{"0000:15:01.0", "0000:16:00.0", "0000:17:01.0"}));
  EXPECT_EQ(gpu.numa_node, 0);
  EXPECT_EQ(place("nic4").numa_node, 1);
  EXPECT_FALSE(doctor::pci_place(folder_ / "nothing"));
  folder_.put("devices/virtual/net/lo/x", "");
  EXPECT_FALSE(doctor::pci_place(folder_ / "devices/virtual/net/lo")) << "no PCIe";
}

TEST_F(PciPlaces, AreNearAsTheDriversToolSays) {
  EXPECT_EQ(name_of(from_gpu("nic0")), "PIX");
  EXPECT_EQ(name_of(from_gpu("nic1")), "PXB");
  EXPECT_EQ(name_of(from_gpu("nic2")), "PHB");
  EXPECT_EQ(name_of(from_gpu("nic3")), "NODE");
  EXPECT_EQ(name_of(from_gpu("nic4")), "SYS");
}

TEST_F(PciPlaces, OfAVirtualMachineAreAllOnOneBus) {
  put("gpu", "pci0001:00/0001:00:05.0", "-1");
  put("nic", "pci0001:00/0001:00:06.0", "-1");
  EXPECT_EQ(doctor::nearness(place("gpu"), place("nic")), Nearness::phb);
}

}  // namespace
}  // namespace halocline::test
