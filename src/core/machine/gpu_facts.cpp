// SPDX-License-Identifier: Apache-2.0
#include "machine/gpu_facts.hpp"

#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "base/process/allowed_cores.hpp"
#include "base/process/environment.hpp"
#include "base/process/host_name.hpp"
#include "base/text/json_text.hpp"
#include "comm/collectives.hpp"
#include "machine/cores.hpp"

namespace halocline::machine {
namespace {

RankFacts own_facts(const Communicator& communicator) {
  RankFacts facts;
  facts.rank = communicator.rank();
  facts.node = communicator.node_of(facts.rank);
  facts.host = host_name();
  for (const device::Gpu& gpu : device::gpus().list)
    facts.visible.push_back({gpu, near_cores(gpu.pci)});
  facts.none_because = device::gpus().none_because;
  facts.cores = allowed_cores();
  facts.all_cores = static_cast<long>(facts.cores.size()) >= sysconf(_SC_NPROCESSORS_ONLN);
  facts.visible_devices = environment("CUDA_VISIBLE_DEVICES");
  facts.under_mps = mps_listens();
  return facts;
}

}  // namespace

std::vector<RankFacts> gather_facts(const Communicator& communicator) {
  std::string all;
  for (const std::string& line : comm::gather_texts(communicator, to_line(own_facts(communicator))))
    all += line + '\n';
  std::istringstream lines(comm::broadcast(communicator, all, 0));
  std::vector<RankFacts> facts;
  for (std::string line; std::getline(lines, line);) facts.push_back(from_line(line));
  return facts;
}

std::string to_line(const RankFacts& facts) {
  Json gpus = Json::array();
  for (const auto& [gpu, near] : facts.visible)
    gpus.push_back({gpu.ordinal, gpu.uuid, gpu.name, gpu.pci, gpu.memory_bytes, gpu.multiprocessors,
                    gpu.major, gpu.minor, static_cast<int>(gpu.mode), gpu.no_system_memory,
                    ranges_of(near)});
  const Json line{
      {"rank", facts.rank},
      {"node", facts.node},
      {"host", facts.host},
      {"gpus", gpus},
      {"none_because", facts.none_because},
      {"cores", ranges_of(facts.cores)},
      {"all_cores", facts.all_cores},
      {"visible_devices", facts.visible_devices ? Json(*facts.visible_devices) : Json()},
      {"under_mps", facts.under_mps}};
  return write_json(line);
}

RankFacts from_line(const std::string& line) {
  const Json json = Json::parse(line);
  RankFacts facts;
  json.at("rank").get_to(facts.rank);
  json.at("node").get_to(facts.node);
  json.at("host").get_to(facts.host);
  for (const Json& of_gpu : json.at("gpus")) {
    auto& [gpu, near] = facts.visible.emplace_back();
    of_gpu.at(0).get_to(gpu.ordinal);
    of_gpu.at(1).get_to(gpu.uuid);
    of_gpu.at(2).get_to(gpu.name);
    of_gpu.at(3).get_to(gpu.pci);
    of_gpu.at(4).get_to(gpu.memory_bytes);
    of_gpu.at(5).get_to(gpu.multiprocessors);
    of_gpu.at(6).get_to(gpu.major);
    of_gpu.at(7).get_to(gpu.minor);
    gpu.mode = static_cast<device::ComputeMode>(of_gpu.at(8).get<int>());
    of_gpu.at(9).get_to(gpu.no_system_memory);
    near = numbers_in(of_gpu.at(10).get<std::string>());
  }
  json.at("none_because").get_to(facts.none_because);
  facts.cores = numbers_in(json.at("cores").get<std::string>());
  json.at("all_cores").get_to(facts.all_cores);
  if (const Json& value = json.at("visible_devices"); !value.is_null())
    facts.visible_devices = value.get<std::string>();
  json.at("under_mps").get_to(facts.under_mps);
  return facts;
}

std::vector<int> near_cores(const std::string& pci, const std::string& devices) {
  std::ifstream file(std::filesystem::path(devices) / pci / "local_cpulist");
  std::string list;
  std::getline(file, list);
  return numbers_in(list);
}

bool mps_listens(const std::optional<std::string>& pipe_directory) {
  std::error_code ignored;  // CUDA cannot use a folder that cannot be searched either
  return std::filesystem::exists(
      std::filesystem::path(pipe_directory.value_or("/tmp/nvidia-mps")) / "control", ignored);
}

bool mps_listens() { return mps_listens(environment("CUDA_MPS_PIPE_DIRECTORY")); }

}  // namespace halocline::machine
