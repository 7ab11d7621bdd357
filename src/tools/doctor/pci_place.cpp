// SPDX-License-Identifier: Apache-2.0
#include "doctor/pci_place.hpp"

#include <algorithm>
#include <array>
#include <sstream>
#include <system_error>

#include "base/files/small_files.hpp"

namespace halocline::doctor {

namespace fs = std::filesystem;

std::string_view name_of(Nearness nearness) {
  constexpr std::array<std::string_view, 5> names{"PIX", "PXB", "PHB", "NODE", "SYS"};
  return names[static_cast<std::size_t>(nearness)];
}

std::optional<PciPlace> pci_place(const fs::path& device) {
  std::error_code error;
  const fs::path real = fs::canonical(device, error);
  if (error) return std::nullopt;
  PciPlace place;
  // ".../pci0000:15/0000:15:01.0/0000:16:00.0/0000:17:02.0/0000:1b:00.0"
  for (const fs::path& part : real.parent_path()) {
    if (!place.host_bridge.empty())
      place.bridges.push_back(part.string());
    else if (part.native().starts_with("pci") && part.native().find(':') != std::string::npos)
      place.host_bridge = part.string();
  }
  if (place.host_bridge.empty()) return std::nullopt;
  std::istringstream(first_line(real / "numa_node")) >> place.numa_node;
  return place;
}

Nearness nearness(const PciPlace& a, const PciPlace& b) {
  if (a.host_bridge != b.host_bridge)
    return a.numa_node == b.numa_node ? Nearness::node : Nearness::sys;
  const auto [of_a, of_b] =
      std::mismatch(a.bridges.begin(), a.bridges.end(), b.bridges.begin(), b.bridges.end());
  if (of_a == a.bridges.begin()) return Nearness::phb;
  // Below one switch, each device is behind one of its ports.
  return a.bridges.end() - of_a <= 1 && b.bridges.end() - of_b <= 1 ? Nearness::pix : Nearness::pxb;
}

}  // namespace halocline::doctor
