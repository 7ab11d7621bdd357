// SPDX-License-Identifier: Apache-2.0
#pragma once
// The places of devices on a node's PCIe buses, and the distances between them.

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace halocline::doctor {

/// The connection of two devices, with the names of `nvidia-smi topo -m`; nearest first.
enum class Nearness {
  pix,   ///< one PCIe switch
  pxb,   ///< several PCIe switches
  phb,   ///< a host bridge
  node,  ///< several host bridges of one NUMA node
  sys    ///< NUMA nodes
};
/// "PIX".
std::string_view name_of(Nearness nearness);

struct PciPlace {
  std::string host_bridge;           ///< "pci0000:15"
  std::vector<std::string> bridges;  ///< from there down, root port first: "0000:15:01.0"
  int numa_node = -1;                ///< -1: the system does not report it
};

/// Reads the place from a device's folder, or a link to it, such as
/// /sys/bus/pci/devices/0000:1b:00.0. Nothing if there is no such device.
std::optional<PciPlace> pci_place(const std::filesystem::path& device);

Nearness nearness(const PciPlace& a, const PciPlace& b);

}  // namespace halocline::doctor
