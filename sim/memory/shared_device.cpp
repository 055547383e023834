#include "sim/memory/shared_device.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>

namespace headroom {
namespace {

constexpr std::size_t kOwnChanges = 3;
constexpr int kLowestPercent = 10;  // of the device: below it a start makes no sense
constexpr std::string_view kSharedOrigin = "shared device";

bool has_own_memory(const BudgetedSystem& system) {
  return system.resolved.device.memory_model != MemoryModel::unified;
}

// `scenario` with `taken` bytes more in the hands of other processes.
Scenario beside(const Scenario& scenario, const BudgetedSystem& alone, ByteCount taken) {
  Scenario changed = scenario;
  if (taken == 0) return changed;
  const bool own = has_own_memory(alone);
  const ByteCount already = own ? bytes_from_gib(scenario.device.memory_used_gib.value_or(0))
                                : alone.resolved.environment.processes_bytes;
  set_option(changed, own ? "/device/memory_used_gib" : "/environment/processes_gib",
             gib_from_bytes(already + taken), std::string(kSharedOrigin));
  return changed;
}

// What the engine itself holds: all but what others do, the page cache, which makes way, and what
// is free.
ByteCount held_bytes(const BudgetedSystem& system) {
  const BudgetTerms& terms = system.budget.terms;
  ByteCount held = system.budget.capacity_bytes - terms[MemoryPurpose::margin] -
                   terms[MemoryPurpose::others] - terms[MemoryPurpose::page_cache] +
                   system.budget.mapped_weight_bytes;
  if (has_own_memory(system)) {
    // The term also holds the context of the engine's own process.
    const auto& given = system.resolved.scenario.device.memory_used_gib;
    held += terms[MemoryPurpose::others] - bytes_from_gib(given.value_or(0));
  }
  return held;
}

std::vector<std::string> taken_devices(const SharingEngine& engine, const BudgetedSystem& system) {
  if (!has_own_memory(system)) return {"0"};
  const auto wanted = static_cast<std::size_t>(system.resolved.sharding.devices());
  if (!engine.devices.empty() && engine.devices.size() < wanted) {
    throw ConfigError(Complaint{
        .kind = ErrorKind::conflict,
        .origin = engine.name,
        .problem = fmt::format("the engine spreads over {} devices, and the service sees {} ({})",
                               wanted, engine.devices.size(), fmt::join(engine.devices, ", "))});
  }
  std::vector<std::string> ids = engine.devices;
  if (!ids.empty()) ids.resize(wanted);
  for (std::size_t i = 0; engine.devices.empty() && i < wanted; ++i) {
    ids.push_back(std::to_string(i));
  }
  return ids;
}

std::vector<SharedStart> started(const std::vector<SharingEngine>& engines, const Catalog& catalog,
                                 std::size_t count) {
  std::map<std::string, ByteCount> held;
  std::vector<SharedStart> starts;
  for (std::size_t i = 0; i < count; ++i) {
    SharedStart start;
    start.name = engines[i].name;
    start.scenario = engines[i].scenario;
    const auto& alone = engines[i].alone;
    start.system = alone ? *alone : budget_system(start.scenario, catalog);
    start.devices = taken_devices(engines[i], start.system);
    for (const std::string& id : start.devices) {
      start.taken_bytes = std::max(start.taken_bytes, held[id]);
    }
    if (start.taken_bytes > 0) {
      start.scenario = beside(engines[i].scenario, start.system, start.taken_bytes);
      start.system = budget_system(start.scenario, catalog);
    }
    start.verdict = start_verdict(start.system.resolved, start.system.budget);
    if (start.verdict != StartVerdict::does_not_start) {
      start.held_bytes = held_bytes(start.system);
      for (const std::string& id : start.devices) held[id] += start.held_bytes;
    }
    starts.push_back(std::move(start));
  }
  return starts;
}

bool all_start(const std::vector<SharedStart>& starts) {
  return std::ranges::all_of(
      starts, [](const SharedStart& one) { return one.verdict == StartVerdict::starts; });
}

// What an engine before the one that fails may leave to it.
class RoomFinder {
 public:
  RoomFinder(const std::vector<SharingEngine>& engines, const Catalog& catalog, std::size_t failed)
      : engines_(engines), catalog_(catalog), failed_(failed) {}

  std::optional<SharedChange> less_of(const SharedStart& earlier, std::size_t at,
                                      const FixCandidate& candidate) {
    const Json from = option_value(earlier.system.resolved.scenario, candidate.pointer);
    std::optional<Json> to;
    if (is_share(candidate) && from.is_number()) to = smaller_share(at, candidate, from);
    if (candidate.search == FixSearch::count_down && candidate.cost <= FixCost::limits &&
        from.is_number_integer()) {
      to = smaller_count(at, candidate, from.get<std::int64_t>());
    }
    if (!to) return std::nullopt;
    SharedChange change{.name = earlier.name, .fix = {}};
    change.fix.option = option_path(candidate.pointer);
    change.fix.pointer = candidate.pointer;
    change.fix.value = *to;
    change.fix.from = from.dump();
    change.fix.to = to->dump();
    change.fix.cost = is_share(candidate) ? FixCost::none : candidate.cost;
    const std::string shown =
        to->is_number_integer() ? with_commas(to->get<std::int64_t>()) : change.fix.to;
    change.fix.cost_text = is_share(candidate) ? "leaves room on the device: a smaller pool"
                                               : filled(candidate.text, shown,
                                                        from.is_number_integer()
                                                            ? with_commas(from.get<std::int64_t>())
                                                            : from.dump());
    const BudgetedSystem& system = found_->at(at).system;
    change.fix.kv_tokens = pool_tokens(system.resolved, system.budget);
    return change;
  }

 private:
  static bool is_share(const FixCandidate& candidate) {
    return candidate.search == FixSearch::share_down || candidate.search == FixSearch::share_up;
  }

  bool works(std::size_t at, const FixCandidate& candidate, const Json& value) {
    std::vector<SharingEngine> changed = engines_;
    set_option(changed[at].scenario, std::string(candidate.pointer), value,
               std::string(kSharedOrigin));
    changed[at].alone.reset();
    if (!try_system(changed[at].scenario, catalog_)) return false;
    std::vector<SharedStart> starts = started(changed, catalog_, failed_ + 1);
    if (!all_start(starts)) return false;
    found_ = std::move(starts);
    return true;
  }

  // The largest hundredth below.
  std::optional<Json> smaller_share(std::size_t at, const FixCandidate& candidate,
                                    const Json& from) {
    auto percent = static_cast<int>(from.get<double>() * 100 + 1e-9);
    if (static_cast<double>(percent) / 100 >= from.get<double>()) --percent;
    for (; percent >= kLowestPercent; --percent) {
      const Json value = static_cast<double>(percent) / 100;
      if (works(at, candidate, value)) return value;
    }
    return std::nullopt;
  }

  std::optional<Json> smaller_count(std::size_t at, const FixCandidate& candidate,
                                    std::int64_t from) {
    const std::int64_t unit = candidate.unit;
    const bool length = candidate.counts == FixCounts::tokens;
    std::int64_t low = std::max(candidate.low, length ? kShortestService / unit : 1);
    std::int64_t high = from / unit;
    if (low >= high || !works(at, candidate, low * unit)) return std::nullopt;
    while (high - low > 1) {
      const std::int64_t middle = low + (high - low) / 2;
      (works(at, candidate, middle * unit) ? low : high) = middle;
    }
    return works(at, candidate, low * unit) ? std::optional<Json>(low * unit) : std::nullopt;
  }

  const std::vector<SharingEngine>& engines_;
  const Catalog& catalog_;
  std::size_t failed_;
  std::optional<std::vector<SharedStart>> found_;  // with the last change that worked
};

std::vector<SharedChange> changes_for(const std::vector<SharingEngine>& engines,
                                      const SharedStarts& together, std::size_t failed,
                                      const Catalog& catalog) {
  const SharedStart& start = together.starts[failed];
  std::vector<SharedChange> changes;
  for (Fix& fix : find_fixes(start.scenario, {}, catalog)) {
    // To stop the others is no way to run with them.
    const bool alone =
        fix.pointer == "/device/memory_used_gib" || fix.pointer == "/environment/processes_gib";
    if (!alone && changes.size() < kOwnChanges)
      changes.push_back({.name = start.name, .fix = std::move(fix)});
  }
  RoomFinder finder(engines, catalog, failed);
  for (std::size_t i = 0; i < failed; ++i) {
    const SharedStart& earlier = together.starts[i];
    if (!share_a_device(earlier, start)) continue;
    std::vector<std::string_view> tried;
    for (const FixCandidate& candidate : earlier.system.resolved.engine->fixes()) {
      if (std::ranges::find(tried, candidate.pointer) != tried.end()) continue;
      tried.push_back(candidate.pointer);
      std::optional<SharedChange> change = finder.less_of(earlier, i, candidate);
      if (change) changes.push_back(std::move(*change));
    }
  }
  return changes;
}

// The first engine that does not start once `change` is made; empty: all do. Nothing: its service
// cannot make it, for it sees too few devices.
std::optional<std::string> stopped_by(const SharedChange& change,
                                      std::vector<SharingEngine> engines, const Catalog& catalog) {
  const auto changed = std::ranges::find(engines, change.name, &SharingEngine::name);
  set_option(changed->scenario, std::string(change.fix.pointer), change.fix.value,
             std::string(kSharedOrigin));
  changed->alone.reset();
  try {
    for (const SharedStart& one : started(engines, catalog, engines.size())) {
      if (one.verdict == StartVerdict::does_not_start) return one.name;
    }
  } catch (const ConfigError&) {
    return std::nullopt;
  }
  return "";
}

}  // namespace

bool share_a_device(const SharedStart& a, const SharedStart& b) {
  return std::ranges::any_of(a.devices, [&](const std::string& id) {
    return std::ranges::find(b.devices, id) != b.devices.end();
  });
}

SharedStarts start_together(const std::vector<SharingEngine>& engines, const Catalog& catalog) {
  SharedStarts together;
  together.starts = started(engines, catalog, engines.size());
  // One that does not start counts before one that may not.
  for (const StartVerdict verdict : {StartVerdict::does_not_start, StartVerdict::may_not_start}) {
    const auto first = std::ranges::find(together.starts, verdict, &SharedStart::verdict);
    if (together.failed || first == together.starts.end()) continue;
    together.failed = static_cast<std::size_t>(first - together.starts.begin());
  }
  if (together.failed) {
    together.changes = changes_for(engines, together, *together.failed, catalog);
    std::erase_if(together.changes, [&](SharedChange& change) {
      const std::optional<std::string> stopped = stopped_by(change, engines, catalog);
      change.stops = stopped.value_or("");
      return !stopped;
    });
    std::stable_partition(together.changes.begin(), together.changes.end(),
                          [](const SharedChange& one) { return one.stops.empty(); });
  }
  return together;
}

}  // namespace headroom
