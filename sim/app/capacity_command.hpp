#pragma once
// `headroom capacity`: what fits, without traffic.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "sim/memory/worksheet.hpp"

namespace headroom {

struct CapacityArguments {
  // Several names between commas, or the flag several times; the cross product is compared.
  std::vector<std::string> models;
  std::vector<std::string> devices;
  std::vector<std::string> engines;  // name or name@version
  std::vector<std::string> environments;
  std::vector<std::string> contexts{"2048,8192,32768,131072"};  // tokens; k is x 1024
  std::vector<std::string> set;                                 // path=value
  std::string scenario;                                         // optional base
  std::optional<double> kv_bytes_per_token;                     // of the whole model
  std::optional<double> usable_fraction;  // pool = F x (device memory - weights)
  std::string catalog;                    // folder laid over the embedded one; empty: none
  bool json = false;
  // The worksheet of seed 002 instead of an engine's rule. Its tensor parallel size is the
  // system's; models may also be its own names (llama_70b).
  bool worksheet = false;
  std::optional<std::int64_t> concurrency;  // requests at a time; absent: 1
  std::optional<double> weights_gb;     // of the whole model; absent: the worksheet's or geometry's
  std::optional<double> gpu_memory_gb;  // absent: the device's, without a device 80
  std::optional<double> overhead_gb;    // absent: kWorksheetOverheadGb
};

// What to print. ConfigError: a name, flag or file is wrong.
[[nodiscard]] std::string capacity_command(const CapacityArguments& arguments);

}  // namespace headroom
