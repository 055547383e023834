#include "sim/study/ask/ask_binds.hpp"

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "sim/scenario/option_value.hpp"
#include "sim/study/search/verdict.hpp"
#include "sim/study/sweep/study_runner.hpp"

namespace headroom {
namespace {

constexpr double kMore = 2;        // times the memory, or the seats
constexpr double kFurther = 1.05;  // times the largest load: beyond the tolerance of its search

// The setting that gives the system twice the seats; empty: its engine counts none.
std::optional<Setting> more_seats(const RunResult& run) {
  const Resolved& system = run.resolved;
  for (const FixCandidate& fix : system.engine->fixes()) {
    if (fix.counts != FixCounts::requests) continue;
    // As the option counts them: of all data ranks, or of each.
    const Json now = option_value(system.scenario, fix.pointer);
    const double seats = now.is_number_integer() ? now.get<double>() : system.max_num_seqs;
    return Setting{option_path(fix.pointer), static_cast<std::int64_t>(kMore * seats)};
  }
  return std::nullopt;
}

Setting more_memory(const RunResult& run) {
  return {"device.memory_total_gib", kMore * gib_from_bytes(run.budget.capacity_bytes)};
}

// Runs of the question's system with more of one thing, under a load beyond its edge.
class Richer {
 public:
  Richer(const EdgeQuestion& question, double load, const Catalog& catalog,
         const std::atomic<bool>* stop)
      : question_(question), catalog_(catalog), stop_(stop) {
    const Json value = question.search.whole ? Json(static_cast<std::int64_t>(load)) : Json(load);
    load_ = {question.search.path, value};
  }

  // Whether the pool is sized by the memory at all, and not by a number of tokens.
  [[nodiscard]] bool has_larger_pool(const Setting& memory, TokenCount pool) const {
    std::vector<Setting> settings = question_.settings;
    settings.push_back(memory);
    try {
      return check(with_settings(question_.document, settings), catalog_).pool_tokens > pool;
    } catch (const ConfigError&) {
      return false;
    }
  }

  // Empty: there is no such system.
  [[nodiscard]] std::optional<bool> carries(const std::vector<Setting>& more) const {
    std::vector<Setting> settings = question_.settings;
    settings.insert(settings.end(), more.begin(), more.end());
    settings.push_back(load_);
    std::optional<StoredRun> row =
        make_row([&] { return with_settings(question_.document, settings); }, catalog_, {}, stop_);
    if (!row || !row->done) return std::nullopt;
    return judge(question_.search, {std::move(*row)}).verdict == Verdict::passes;
  }

 private:
  const EdgeQuestion& question_;
  const Catalog& catalog_;
  const std::atomic<bool>* stop_;
  Setting load_;
};

}  // namespace

Binds binds_beyond(const EdgeQuestion& question, double largest, const std::string& broken,
                   const RunResult& beyond, const Catalog& catalog, const std::atomic<bool>* stop) {
  const Binds seen = what_binds(beyond, broken, catalog);
  const std::optional<Setting> seats = more_seats(beyond);
  const bool is_work = seen == Binds::prefill || seen == Binds::decode;
  const bool may_wait = is_work || seen == Binds::pool || seen == Binds::batch_limit;
  if (waits_for_tokens(broken) || !may_wait || !seats) return seen;
  const double step = question.search.whole ? 1 : 0;
  const Richer richer(question, std::max(largest * kFurther, largest + step), catalog, stop);
  const Setting memory = more_memory(beyond);
  if (!richer.has_larger_pool(memory, beyond.pool_tokens)) return seen;
  const std::optional<bool> with_seats = richer.carries({*seats});
  if (with_seats && *with_seats) return Binds::batch_limit;
  const std::optional<bool> with_memory = richer.carries({memory});
  if (with_memory && *with_memory) return Binds::pool;
  if (!with_seats || !with_memory) return seen;
  // Each alone is not enough where the other one is full next.
  const std::optional<bool> with_both = richer.carries({*seats, memory});
  if (with_both && *with_both) return is_work ? Binds::pool : seen;
  return is_work ? seen : slowest_work(beyond, broken, catalog);
}

}  // namespace headroom
