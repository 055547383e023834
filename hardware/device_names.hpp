#pragma once
// What people call a device: with or without its maker, its machine, its memory and spaces
// ("NVIDIA L4", "Mac Studio M3 Ultra", "RTX 4060 Ti 16GB"), and so many of it ("2 x RTX 4090").

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "hardware/device.hpp"

namespace headroom {

using DeviceRows = std::map<std::string, DeviceSpec, std::less<>>;

// "2x4090": so many of one device, as people write it for one replica on several.
struct CountedDevice {
  std::int64_t count = 0;
  std::string name;
};
// Nothing where `text` has no such number in front.
[[nodiscard]] std::optional<CountedDevice> counted_device(const std::string& text);

// Letters and digits, in lower case.
[[nodiscard]] std::string plain_letters(std::string_view name);

// The ids of all devices that `name` calls: by id, name or alias as it stands; else by what is
// left without the memory that it states, if the device has that; else without the machine.
[[nodiscard]] std::vector<std::string> devices_called(std::string_view name,
                                                      const DeviceRows& devices);

// Which of `called` is meant where nothing else is said: the one that says so (usual_for). Empty:
// none of them.
[[nodiscard]] std::string usual_of(std::string_view name, const std::vector<std::string>& called,
                                   const DeviceRows& devices);

// Those ids that a slip of `name` may mean: their first number is the same. "M4 Pro" is no m1-pro.
[[nodiscard]] std::vector<std::string> ids_of_same_number(std::string_view name,
                                                          const std::vector<std::string>& ids);

// Ids that begin with a word that is one slip away from `name` ("h1000": h100-nvl, h100-sxm, ...).
[[nodiscard]] std::vector<std::string> ids_like(std::string_view name,
                                                const std::vector<std::string>& ids);

// What to do where `name` states another memory than the devices of that chip have; else empty.
[[nodiscard]] std::string other_memory_of(std::string_view name, const DeviceRows& devices);

}  // namespace headroom
