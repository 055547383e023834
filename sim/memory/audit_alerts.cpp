// The alerts and common issues of seed document 002 that a start-up decides.

#include <fmt/format.h>

#include <algorithm>

#include "sim/engines/engines.hpp"
#include "sim/memory/audit.hpp"
#include "sim/resolve/run_time_memory.hpp"
#include "sim/resolve/startup_budget.hpp"

namespace headroom {
namespace {

double share_of_capacity(const MemoryBudget& budget, ByteCount bytes) {
  return budget.capacity_bytes > 0
             ? static_cast<double>(bytes) / static_cast<double>(budget.capacity_bytes)
             : 0;
}

double limit_below(double share) {
  return share >= kMemoryCriticalShare ? kMemoryCriticalShare : kMemoryWarningShare;
}

std::string percent(double share) { return fmt::format("{:.1f} %", share * 100); }

class Alerts {
 public:
  explicit Alerts(const BudgetedSystem& system)
      : r_(system.resolved), budget_(system.budget), longest_(longest_request(system)) {}

  std::vector<AuditAlert> run() {
    start_up();
    baseline();
    if (!budget_.failure) {
      device_memory();
      in_flight();
      few_requests();
      reserved();
      growth();
    }
    formats();
    contiguous();
    std::stable_sort(alerts_.begin(), alerts_.end(),
                     [](const AuditAlert& a, const AuditAlert& b) { return a.level > b.level; });
    return std::move(alerts_);
  }

 private:
  void add(AuditLevel level, std::string name, double value, double limit, std::string text) {
    alerts_.push_back({level, std::move(name), value, limit, std::move(text)});
  }

  [[nodiscard]] ByteCount term(MemoryPurpose purpose) const { return budget_.terms[purpose]; }

  void start_up() {
    if (!budget_.failure) return;
    const StartupFailure& failure = *budget_.failure;
    add(AuditLevel::critical, "does_not_start", gib_from_bytes(failure.wanted_bytes),
        gib_from_bytes(failure.free_bytes),
        fmt::format("fails in {} ({}): {}", name_of(failure.stage), name_of(failure.kind),
                    failure.message));
  }

  // The document's 80 and 90 % of the device. An engine that takes its pool at start crosses them
  // on purpose, and for as long as it runs.
  void device_memory() {
    const ByteCount used = budget_.capacity_bytes - term(MemoryPurpose::margin);
    const ByteCount pool = term(MemoryPurpose::kv_pool);
    const double share = share_of_capacity(budget_, used);
    const double without = share_of_capacity(budget_, used - pool);
    if (share < kMemoryWarningShare) return;
    if (without >= kMemoryWarningShare) {
      add(without >= kMemoryCriticalShare ? AuditLevel::critical : AuditLevel::warning,
          "device_memory", without, limit_below(without),
          fmt::format("{} of the device is in use before the KV pool is allocated, {} after",
                      percent(without), percent(share)));
      return;
    }
    const double limit = limit_below(share);
    add(AuditLevel::note, "device_memory", share, limit,
        fmt::format("{} of the device is in use from the start, {} of it for the KV pool, which is "
                    "reserved on purpose. An alert at {} would always fire: monitor the use of the "
                    "pool instead",
                    percent(share), percent(share - without), percent(limit)));
  }

  void in_flight() {
    const double holds = budget_.max_concurrency;
    if (static_cast<double>(r_.max_num_seqs) <= kInFlightShare * holds) return;
    add(AuditLevel::warning, "in_flight", static_cast<double>(r_.max_num_seqs),
        kInFlightShare * holds,
        fmt::format("the engine batches up to {} requests, but the pool holds {:.1f} of {} tokens: "
                    "above {:.0f} % of that, long requests wait or are preempted",
                    with_commas(r_.max_num_seqs), holds, with_commas(longest_),
                    kInFlightShare * 100));
  }

  void few_requests() {
    if (budget_.max_concurrency >= 2) return;
    add(AuditLevel::warning, "long_context", budget_.max_concurrency, 2,
        fmt::format("one request of {} tokens fills the pool ({:.2f} fit): a second one of that "
                    "length waits",
                    with_commas(longest_), budget_.max_concurrency));
  }

  // The allocator keeps what the profiling pass needed, so the gap is there when nothing runs.
  void reserved() {
    const auto peak = static_cast<double>(term(MemoryPurpose::activations));
    if (!r_.engine->traits.allocates_with_torch || peak <= kFragmentationBytes) return;
    add(AuditLevel::note, "fragmentation", peak / 1e9, kFragmentationBytes / 1e9,
        fmt::format("reserved - allocated is up to {:.1f} GB when idle, because the allocator "
                    "keeps the activation peak: an alert at 2 GB fires even without fragmentation",
                    peak / 1e9));
  }

  void growth() {
    const auto growth = memory_growth(r_, budget_);
    if (!growth) return;
    add(AuditLevel::warning, "memory_growth", growth->lasts_s / 3600, 0, growth->text);
  }

  void baseline() {
    const ByteCount others = term(MemoryPurpose::others);
    const ByteCount host = term(MemoryPurpose::engine_host);
    const ByteCount cache = term(MemoryPurpose::page_cache);
    const double share = share_of_capacity(budget_, others + host + cache);
    if (share <= kBaselineShare) return;
    add(AuditLevel::warning, "baseline", share, kBaselineShare,
        fmt::format(
            "{} of the device holds neither weights nor KV: others {:.2f}, page cache {:.2f}, the "
            "engine's host memory {:.2f} GiB (the limit of {:.0f} % is our choice)",
            percent(share), gib_from_bytes(others), gib_from_bytes(cache), gib_from_bytes(host),
            kBaselineShare * 100));
  }

  void formats() {
    const Dtype weights = main_dtype(r_.model);
    if (!is_quantised(weights) || is_quantised(r_.kv)) return;
    if (!reads_option(*r_.engine, "kv_cache_dtype")) return;  // its cache has types of its own
    add(AuditLevel::note, "kv_format", 0, 0,
        fmt::format("the weights are {}, but the KV cache is {}: quantizing the weights does not "
                    "quantize KV. engine.kv_cache_dtype=fp8 would halve it",
                    name_of(weights), name_of(r_.kv)));
  }

  void contiguous() {
    if (!r_.allocator->in_one_range) return;
    add(AuditLevel::note, "contiguous", 0, 0,
        "each request reserves its longest length as one contiguous range, so free memory can be "
        "unusable (up to about half of it)");
  }

  const Resolved& r_;
  const MemoryBudget& budget_;
  TokenCount longest_;
  std::vector<AuditAlert> alerts_;
};

}  // namespace

std::vector<AuditAlert> audit_alerts(const BudgetedSystem& system) { return Alerts(system).run(); }

}  // namespace headroom
