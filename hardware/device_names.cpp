#include "hardware/device_names.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "sim/kernel/nearest_name.hpp"

namespace headroom {
namespace {

constexpr std::string_view kDigits = "0123456789";

// Longest first: "macbookpro" before "macbook".
constexpr std::array<std::string_view, 7> kMachines{
    "macbookpro", "macbookair", "macstudio", "macbook", "macmini", "macpro", "imac"};
constexpr std::array<std::string_view, 7> kMakers{"nvidia", "amd",    "apple",   "geforce",
                                                  "tesla",  "radeon", "instinct"};

std::string plain_device(std::string_view name) {
  std::string text = plain_letters(name);
  for (const std::string_view maker : kMakers) {
    if (text.starts_with(maker) && text.size() > maker.size()) text.erase(0, maker.size());
  }
  return text;
}

// "macstudiom3ultra", "m3ultramacstudio": the chip alone.
std::string without_machine(const std::string& plain) {
  for (const std::string_view machine : kMachines) {
    if (plain.size() <= machine.size()) continue;
    if (plain.starts_with(machine)) return plain_device(plain.substr(machine.size()));
    if (plain.ends_with(machine)) return plain.substr(0, plain.size() - machine.size());
  }
  return plain;
}

// "rtx306012gb" without "12gb".
struct StatedMemory {
  std::string chip;
  std::string gib;
};

// A chip's own number may end where the memory begins: each split of "rtx306012gb" is one.
std::vector<StatedMemory> stated_memory(const std::string& plain) {
  std::vector<StatedMemory> splits;
  constexpr std::string_view kUnit = "gb";
  if (!plain.ends_with(kUnit)) return splits;
  const std::string front = plain.substr(0, plain.size() - kUnit.size());
  const std::size_t letters = front.find_last_not_of(kDigits);
  const std::size_t first = letters == std::string::npos ? 0 : letters + 1;
  for (std::size_t at = std::max<std::size_t>(first, 1); at < front.size(); ++at) {
    splits.push_back({front.substr(0, at), front.substr(at)});
  }
  return splits;
}

std::string nominal_gib(const DeviceSpec& device) {
  return fmt::to_string(device.memory_nominal_bytes >> 30);
}

bool is_called(const DeviceSpec& device, const std::string& plain) {
  return plain_device(device.id) == plain || plain_device(device.name) == plain ||
         std::ranges::find(device.aliases, plain, plain_device) != device.aliases.end();
}

std::vector<std::string> called(const std::string& plain, const DeviceRows& devices) {
  std::vector<std::string> ids;
  for (const auto& [id, device] : devices) {
    if (is_called(device, plain)) ids.push_back(id);
  }
  if (!ids.empty()) return ids;
  const std::vector<StatedMemory> splits = stated_memory(plain);
  for (const auto& [id, device] : devices) {
    const bool stated = std::ranges::any_of(splits, [&device = device](const StatedMemory& split) {
      return split.gib == nominal_gib(device) && is_called(device, split.chip);
    });
    if (stated) ids.push_back(id);
  }
  return ids;
}

std::string first_number(std::string_view name) {
  const std::string plain = plain_device(name);
  const std::size_t first = plain.find_first_of(kDigits);
  if (first == std::string::npos) return {};
  return plain.substr(first, plain.find_first_not_of(kDigits, first) - first);
}

}  // namespace

std::optional<CountedDevice> counted_device(const std::string& text) {
  constexpr std::size_t kMostDigits = 3;
  constexpr std::string_view kTimes = "\xc3\x97";  // the multiplication sign in UTF-8
  const std::size_t digits = text.find_first_not_of(kDigits);
  if (digits == 0 || digits > kMostDigits || digits == std::string::npos) return std::nullopt;
  std::size_t at = text.find_first_not_of(' ', digits);
  if (at == std::string::npos) return std::nullopt;
  if (text[at] == 'x' || text[at] == 'X') {
    at += 1;
  } else if (text.compare(at, kTimes.size(), kTimes) == 0) {
    at += kTimes.size();
  } else {
    return std::nullopt;
  }
  at = text.find_first_not_of(' ', at);
  if (at == std::string::npos) return std::nullopt;
  return CountedDevice{.count = std::stoll(text.substr(0, digits)), .name = text.substr(at)};
}

std::string plain_letters(std::string_view name) {
  std::string text;
  for (const char c : name) {
    if (c >= 'A' && c <= 'Z') text += static_cast<char>(c - 'A' + 'a');
    if ((c >= 'a' && c <= 'z') || (c >= '0' && c <= '9')) text += c;
  }
  return text;
}

std::vector<std::string> devices_called(std::string_view name, const DeviceRows& devices) {
  const std::string plain = plain_device(name);
  std::vector<std::string> ids = called(plain, devices);
  const std::string chip = without_machine(plain);
  if (ids.empty() && chip != plain) ids = called(chip, devices);
  return ids;
}

std::string usual_of(std::string_view name, const std::vector<std::string>& called,
                     const DeviceRows& devices) {
  const std::string plain = plain_device(name);
  for (const std::string& id : called) {
    const auto device = devices.find(id);
    if (device == devices.end()) continue;
    const auto is_it = [&](const std::string& one) { return plain_device(one) == plain; };
    if (std::ranges::any_of(device->second.usual_for, is_it)) return id;
  }
  return {};
}

std::vector<std::string> ids_of_same_number(std::string_view name,
                                            const std::vector<std::string>& ids) {
  const std::string number = first_number(name);
  std::vector<std::string> same;
  for (const std::string& id : ids) {
    if (first_number(id) == number) same.push_back(id);
  }
  return same;
}

std::vector<std::string> ids_like(std::string_view name, const std::vector<std::string>& ids) {
  constexpr std::size_t kShortest = 3;
  std::vector<std::string> like;
  if (name.size() < kShortest) return like;
  for (const std::string& id : ids) {
    if (edit_distance(name, id.substr(0, id.find('-'))) <= 1) like.push_back(id);
  }
  return like;
}

std::string other_memory_of(std::string_view name, const DeviceRows& devices) {
  const std::string plain = plain_device(name);
  for (const StatedMemory& split : stated_memory(without_machine(plain))) {
    std::vector<std::string> sizes;
    for (const auto& [id, device] : devices) {
      if (!is_called(device, split.chip)) continue;
      sizes.push_back(fmt::format("{} has {} GB", id, nominal_gib(device)));
    }
    if (sizes.empty()) continue;
    return fmt::format("{}; device.memory_total_gib sets what the runtime of another one reports",
                       comma_list(sizes));
  }
  return {};
}

}  // namespace headroom
