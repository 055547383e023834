#include "sim/memory/audit_fixes.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <functional>
#include <span>

#include "sim/kernel/errors.hpp"
#include "sim/resolve/start_verdict.hpp"

namespace headroom {
namespace {

constexpr std::string_view kFixOrigin = "audit";
constexpr double kLowestShare = 0.10;     // of memory: below it a start makes no sense
constexpr double kHighestShare = 0.99;    // the driver itself needs some of the rest
constexpr std::int64_t kMostGrowth = 64;  // of a pool of given size: then it is another machine

// The device's and the host's bytes that the environment, not the scenario, may have set.
Json environment_value(const Resolved& r, std::string_view pointer) {
  const Environment& e = r.environment;
  const auto gib = [](ByteCount bytes) { return Json(gib_from_bytes(bytes)); };
  if (pointer == "/environment/page_cache_gib") return gib(e.page_cache_bytes);
  if (pointer == "/environment/processes_gib") return gib(e.processes_bytes);
  if (pointer == "/environment/tmpfs_gib") return gib(e.tmpfs_bytes);
  if (pointer == "/environment/checkpoint_cache_share") return e.checkpoint_cache_share;
  if (pointer == "/environment/shm_size_gib" && e.shm_size_bytes) return gib(*e.shm_size_bytes);
  if (pointer == "/environment/memory_limit_gib" && e.memory_limit_bytes) {
    return gib(*e.memory_limit_bytes);
  }
  return nullptr;
}

std::string shown(const Json& value) {
  if (value.is_null()) return "not set";
  return value.is_string() ? value.get<std::string>() : value.dump();
}

class FixFinder {
 public:
  FixFinder(const Scenario& scenario, const AuditNeed& need, const Catalog& catalog)
      : scenario_(scenario),
        need_(need),
        catalog_(catalog),
        base_(budget_system(scenario, catalog)) {}

  std::vector<Fix> run() {
    if (verdict_of(base_, need_) == AuditVerdict::fits) return {};
    const auto try_all = [this](std::span<const FixCandidate> candidates) {
      for (const FixCandidate& candidate : candidates) {
        if (applies(candidate)) add(candidate);
      }
    };
    try_all(environment_fixes());
    try_all(base_.resolved.engine->fixes());
    std::stable_sort(fixes_.begin(), fixes_.end(), [](const Fix& a, const Fix& b) {
      return a.cost != b.cost ? a.cost < b.cost : a.change < b.change;
    });
    return std::move(fixes_);
  }

 private:
  [[nodiscard]] bool applies(const FixCandidate& candidate) const {
    if (candidate.pointer == "/engine/quantization") {
      return !is_quantised(main_dtype(base_.resolved.model));
    }
    if (candidate.pointer == "/engine/kv_cache_dtype") return !is_quantised(base_.resolved.kv);
    // Absent, these leave the size of the pool to the engine: nothing to change.
    const bool only_given = candidate.pointer == "/engine/kv_cache_memory_bytes" ||
                            candidate.pointer == "/engine/num_gpu_blocks_override";
    return !only_given || !option_value(scenario_, candidate.pointer).is_null();
  }

  [[nodiscard]] Json current(const FixCandidate& candidate) const {
    if (candidate.pointer.starts_with("/environment/")) {
      return environment_value(base_.resolved, candidate.pointer);
    }
    return option_value(base_.resolved.scenario, candidate.pointer);
  }

  [[nodiscard]] std::optional<BudgetedSystem> serving(const FixCandidate& candidate,
                                                      const Json& value) const {
    Scenario changed = scenario_;
    set_option(changed, std::string(candidate.pointer), value, std::string(kFixOrigin));
    std::optional<BudgetedSystem> system = try_system(changed, catalog_);
    if (system && verdict_of(*system, need_) != AuditVerdict::fits) system.reset();
    return system;
  }

  void add(const FixCandidate& candidate) {
    const Json from = current(candidate);
    const std::optional<Json> to = search(candidate, from);
    if (!to) return;
    const std::optional<BudgetedSystem> system = serving(candidate, *to);
    Fix fix;
    fix.option = option_path(candidate.pointer);
    fix.pointer = candidate.pointer;
    fix.value = *to;
    fix.from = shown(from);
    fix.to = shown(*to);
    fix.cost = candidate.cost;
    const bool count = to->is_number_integer();
    fix.cost_text = filled(
        candidate.text, count ? with_commas(to->get<std::int64_t>()) : fix.to,
        count && from.is_number_integer() ? with_commas(from.get<std::int64_t>()) : fix.from);
    fix.change = 1;
    if (from.is_number() && from.get<double>() != 0) {
      const double ratio = to->get<double>() / from.get<double>() - 1;
      fix.change = ratio < 0 ? -ratio : ratio;
    }
    fix.kv_tokens = pool_tokens(system->resolved, system->budget);
    const TokenCount context = need_.context > 0 ? need_.context : longest_request(*system);
    fix.pool_requests = concurrent_sequences(system->budget, context);
    fixes_.push_back(std::move(fix));
  }

  [[nodiscard]] std::optional<Json> search(const FixCandidate& candidate, const Json& from) const {
    switch (candidate.search) {
      case FixSearch::share_up: return share(candidate, from, 1);
      case FixSearch::share_down: return share(candidate, from, -1);
      case FixSearch::count_down: return count_down(candidate, from);
      case FixSearch::count_up: return count_up(candidate, from);
      case FixSearch::ladder: return first_value(candidate, from);
    }
    return std::nullopt;
  }

  // The nearest hundredth that works. Not bisected: more memory helps the pool until the check of
  // free memory refuses it.
  [[nodiscard]] std::optional<Json> share(const FixCandidate& candidate, const Json& from,
                                          int sign) const {
    if (!from.is_number()) return std::nullopt;
    const double start = from.get<double>();
    auto percent = static_cast<int>(start * 100 + 1e-9);
    if (sign > 0 || static_cast<double>(percent) / 100 >= start) percent += sign;
    for (; percent >= kLowestShare * 100 && percent <= kHighestShare * 100; percent += sign) {
      const Json value = static_cast<double>(percent) / 100;
      if (serving(candidate, value)) return value;
    }
    return std::nullopt;
  }

  [[nodiscard]] std::int64_t lowest(const FixCandidate& candidate) const {
    if (candidate.counts == FixCounts::tokens) {
      return std::max<std::int64_t>(need_.context, kShortestService);
    }
    return candidate.counts == FixCounts::requests ? need_.concurrency : candidate.low;
  }

  // Largest below `from` that works.
  [[nodiscard]] std::optional<Json> count_down(const FixCandidate& candidate,
                                               const Json& from) const {
    const std::int64_t unit = candidate.unit;
    std::int64_t high =
        from.is_number_integer()
            ? from.get<std::int64_t>() / unit
            : (candidate.counts == FixCounts::layers ? base_.resolved.model.layers() + 1 : 0);
    std::int64_t low = std::max<std::int64_t>(lowest(candidate) / unit, candidate.low);
    if (low >= high || !serving(candidate, low * unit)) return std::nullopt;
    while (high - low > 1) {
      const std::int64_t middle = low + (high - low) / 2;
      (serving(candidate, middle * unit) ? low : high) = middle;
    }
    return Json(low * unit);
  }

  // Smallest above `from` that works, up to what the need can use. Where nothing bounds it, it is
  // raised by eighths: a pool can be too small and, soon after, too large.
  [[nodiscard]] std::optional<Json> count_up(const FixCandidate& candidate,
                                             const Json& from) const {
    if (!from.is_number_integer()) return std::nullopt;
    const std::int64_t unit = candidate.unit;
    std::int64_t low = from.get<std::int64_t>() / unit;
    std::int64_t high = most_useful(candidate);
    const bool bounded = candidate.counts != FixCounts::other;
    const std::int64_t most = bounded ? high : low * kMostGrowth;
    if (!bounded) high = low + low / 8 + 1;
    for (; high <= most && !serving(candidate, high * unit); high += high / 8 + 1) {
      if (bounded) return std::nullopt;
      low = high;
    }
    if (low >= high || high > most) return std::nullopt;
    while (high - low > 1) {
      const std::int64_t middle = low + (high - low) / 2;
      (serving(candidate, middle * unit) ? high : low) = middle;
    }
    return Json(high * unit);
  }

  [[nodiscard]] std::int64_t most_useful(const FixCandidate& candidate) const {
    if (candidate.counts == FixCounts::requests) return need_.concurrency;
    if (candidate.counts == FixCounts::tokens) return need_.context;
    // Cells of every slot, in whole 256.
    return (need_.context + 256) *
           std::max<std::int64_t>(need_.concurrency, base_.resolved.max_num_seqs);
  }

  // The first value of a ladder that works; of numbers only those on its side of `from`.
  [[nodiscard]] std::optional<Json> first_value(const FixCandidate& candidate,
                                                const Json& from) const {
    for (const Json& value : ladder_of(candidate)) {
      const bool rises = value.is_number() && value.get<double>() > 0;
      if (value == from || (rises && from.is_number() && value < from)) continue;
      if (rises && from.is_null()) return std::nullopt;  // no limit is larger than any
      if (serving(candidate, value)) return value;
    }
    return std::nullopt;
  }

  const Scenario& scenario_;
  const AuditNeed& need_;
  const Catalog& catalog_;
  BudgetedSystem base_;
  std::vector<Fix> fixes_;
};

}  // namespace

void check_need(const AuditNeed& need) {
  if (need.context < 0) {
    throw ConfigError(fmt::format("--context {}: expected at least 1 token", need.context));
  }
  if (need.concurrency < 1) {
    throw ConfigError(
        fmt::format("--concurrency {}: expected at least 1 request", need.concurrency));
  }
}

std::string_view name_of(AuditVerdict verdict) {
  switch (verdict) {
    case AuditVerdict::fits: return "fits";
    case AuditVerdict::tight: return "tight";
    case AuditVerdict::does_not_start: return "does_not_start";
    case AuditVerdict::context_too_long: return "context_too_long";
    case AuditVerdict::too_many_requests: return "too_many_requests";
    case AuditVerdict::pool_too_small: return "pool_too_small";
  }
  return "";
}

AuditVerdict verdict_of(const BudgetedSystem& system, const AuditNeed& need) {
  const StartVerdict start = start_verdict(system.resolved, system.budget);
  if (start == StartVerdict::does_not_start) return AuditVerdict::does_not_start;
  if (start == StartVerdict::may_not_start) return AuditVerdict::tight;
  if (need.context == 0 && need.concurrency == 1) return AuditVerdict::fits;
  const TokenCount longest = longest_request(system);
  const TokenCount context = need.context > 0 ? need.context : longest;
  if (context > longest) return AuditVerdict::context_too_long;
  if (need.concurrency > system.resolved.max_num_seqs) return AuditVerdict::too_many_requests;
  const std::int64_t holds = concurrent_sequences(system.budget, context);
  if (holds < need.concurrency) return AuditVerdict::pool_too_small;
  const bool known = !sizes_its_pool(system.resolved);
  const std::int64_t surely = concurrent_sequences(least_pool(system.budget), context);
  return known || surely >= need.concurrency ? AuditVerdict::fits : AuditVerdict::tight;
}

std::vector<Fix> find_fixes(const Scenario& scenario, const AuditNeed& need,
                            const Catalog& catalog) {
  check_need(need);
  return FixFinder(scenario, need, catalog).run();
}

}  // namespace headroom
