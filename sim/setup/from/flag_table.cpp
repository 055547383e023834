#include "sim/setup/from/flag_table.hpp"

#include <algorithm>
#include <array>

#include "sim/kernel/check.hpp"
#include "sim/setup/from/from.hpp"

namespace headroom {

std::span<const EngineFlags* const> all_engine_flags() {
  static constexpr std::array<const EngineFlags*, 6> kAll{
      &kVllmFlags, &kTrtllmFlags, &kSglangFlags, &kTgiFlags, &kLlamacppFlags, &kOllamaFlags};
  return kAll;
}

const EngineFlags* flags_of(std::string_view engine) {
  const auto all = all_engine_flags();
  const auto found = std::ranges::find(all, engine, &EngineFlags::engine);
  return found == all.end() ? nullptr : *found;
}

std::vector<std::string> pointers_from_commands(std::string_view engine) {
  const EngineFlags* flags = flags_of(engine);
  HEADROOM_CHECK(flags != nullptr, "no flag table of engine " + std::string(engine));
  std::vector<std::string> pointers{"/model",
                                    "/engine/name",
                                    "/engine/version",
                                    "/environment/name",
                                    "/environment/shm_size_gib",
                                    "/environment/memory_limit_gib"};
  for (const FlagRow& row : flags->rows) {
    if (row.pointer.starts_with('/')) pointers.emplace_back(row.pointer);
  }
  std::ranges::sort(pointers);
  pointers.erase(std::unique(pointers.begin(), pointers.end()), pointers.end());
  return pointers;
}

}  // namespace headroom
