#include "sim/engines/fix_candidates.hpp"

#include <algorithm>
#include <array>
#include <utility>

namespace headroom {

std::string_view name_of(FixCost cost) {
  switch (cost) {
    case FixCost::none: return "none";
    case FixCost::limits: return "limits";
    case FixCost::speed: return "speed";
    case FixCost::quality: return "quality";
    case FixCost::hardware: return "hardware";
  }
  return "";
}

std::span<const FixCandidate> environment_fixes() {
  using namespace fixes;
  static constexpr FixCandidate kCandidates[] = {
      {"/environment/page_cache_gib", Try::ladder, Cost::none,
       "drop the page cache right before the start", "0.0"},
      {"/environment/checkpoint_cache_share", Try::ladder, Cost::none,
       "read the checkpoint with direct reads, which bypass the page cache", "0.0"},
      {"/environment/tmpfs_gib", Try::ladder, Cost::none,
       "empty tmpfs and /dev/shm before the start", "0.0"},
      {"/environment/processes_gib", Try::ladder, Cost::none, "stop the other processes", "0.0"},
      {"/device/memory_used_gib", Try::ladder, Cost::none, "stop the other processes on the device",
       "0.0"},
      {"/environment/shm_size_gib", Try::ladder, Cost::none, "a limit, not a reservation",
       "0.5|1.0|2.0|4.0|8.0|16.0|64.0"},
      {"/environment/memory_limit_gib", Try::ladder, Cost::none,
       "a limit of the container, not a reservation",
       "2.0|4.0|8.0|16.0|32.0|64.0|128.0|256.0|512.0|1024.0"},
  };
  return kCandidates;
}

std::vector<Json> ladder_of(const FixCandidate& candidate) {
  std::vector<Json> values;
  std::string_view rest = candidate.values;
  while (!rest.empty()) {
    const std::size_t end = std::min(rest.find('|'), rest.size());
    const std::string text(rest.substr(0, end));
    rest.remove_prefix(std::min(end + 1, rest.size()));
    Json value = Json::parse(text, nullptr, false);
    if (value.is_discarded()) value = text;
    values.push_back(std::move(value));
  }
  return values;
}

std::string filled(std::string_view text, std::string_view value, std::string_view old) {
  std::string out(text);
  const auto replace = [&out](std::string_view mark, std::string_view with) {
    const std::size_t at = out.find(mark);
    if (at != std::string::npos) out.replace(at, mark.size(), with);
  };
  replace("{old}", old);
  replace("{}", value);
  return out;
}

}  // namespace headroom
