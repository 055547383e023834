#include "sim/study/search/bisection.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <iterator>
#include <set>

#include "sim/kernel/det_math.hpp"

namespace headroom {
namespace {

constexpr std::array<std::string_view, 5> kEnds{"found", "all_pass", "none_passes", "not_monotone",
                                                "failed"};

// Six digits are what a person would write; the least tolerance is much wider.
double six_digits(double value) {
  const std::string text = fmt::format("{:.6g}", value);
  double result = 0;
  std::from_chars(text.data(), text.data() + text.size(), result);
  return result;
}

class Bisection {
 public:
  Bisection(const ValueSearch& search, const Measured& measured)
      : search_(search), measured_(measured) {}

  SearchStep step() {
    const double first = search_.largest ? search_.from : search_.to;
    const double last = search_.largest ? search_.to : search_.from;
    if (!judge_all({first, last})) return std::move(step_);
    double passing = first;
    double failing = last;
    const bool is_inside = passes(first) && !passes(last);
    while (is_inside && is_wide(passing, failing)) {
      const double middle = middle_of(passing, failing);
      if (!judge_all({middle})) return std::move(step_);
      (passes(middle) ? passing : failing) = middle;
    }
    std::vector<double> more =
        is_inside ? gaps(first, passing, search_.checks) : gaps(first, last, 2 * search_.checks);
    if (is_inside) {
      const std::vector<double> others = gaps(failing, last, search_.checks);
      more.insert(more.end(), others.begin(), others.end());
    }
    if (!judge_all(more)) return std::move(step_);
    answer(passing, failing);
    return std::move(step_);
  }

 private:
  // False: runs are missing, or one has failed, and the step says so.
  bool judge_all(const std::vector<double>& values) {
    for (const double value : values) {
      if (judged_.contains(value)) continue;
      const auto found = measured_.find(value);
      const std::vector<StoredRun> none;
      const std::vector<StoredRun>& runs = found == measured_.end() ? none : found->second;
      const auto failed = std::ranges::find(runs, false, &StoredRun::done);
      if (failed != runs.end()) {
        fail(value, *failed);
        return false;
      }
      judge_one(value, runs);
    }
    return step_.wanted.empty();
  }

  // Runs are requested and judged in whole rounds of replications, even if an earlier call left a
  // partial round, so that the result does not depend on where it stopped.
  void judge_one(double value, const std::vector<StoredRun>& runs) {
    for (std::int64_t round = search_.replications;;
         round = std::min(round + search_.replications, search_.max_replications)) {
      const std::vector<StoredRun> made = first_of(runs, round);
      if (std::ssize(made) < round) return want_missing(value, made, round);
      JudgedValue judged{value, made.size(), judge(search_, made)};
      if (judged.judgement.verdict == Verdict::open) continue;
      judged_.emplace(value, std::move(judged));
      return;
    }
  }

  [[nodiscard]] static std::vector<StoredRun> first_of(const std::vector<StoredRun>& runs,
                                                       std::int64_t replications) {
    std::vector<StoredRun> first;
    std::ranges::copy_if(runs, std::back_inserter(first), [replications](const StoredRun& run) {
      return run.replication < replications;
    });
    return first;
  }

  void want_missing(double value, const std::vector<StoredRun>& made, std::int64_t round) {
    for (std::int64_t i = 0; i < round; ++i) {
      if (std::ranges::find(made, i, &StoredRun::replication) != made.end()) continue;
      step_.wanted.push_back({value, i});
    }
  }

  void fail(double value, const StoredRun& run) {
    EdgeFound found = result(SearchEnd::failed);
    found.error =
        fmt::format("{} = {}, replication {}: {}", search_.path, value, run.replication, run.error);
    step_.wanted.clear();
    step_.found = std::move(found);
  }

  [[nodiscard]] bool passes(double value) const {
    return judged_.at(value).judgement.verdict == Verdict::passes;
  }

  [[nodiscard]] bool is_wide(double a, double b) const {
    const double width = std::max(a, b) - std::min(a, b);
    if (search_.whole && width <= 1) return false;
    return width > search_.tolerance * std::min(a, b);
  }

  // Of the ratio, as tolerances are relative; of whole numbers the one below the mean.
  [[nodiscard]] double middle_of(double a, double b) const {
    return search_.whole ? std::floor((a + b) / 2) : six_digits(std::sqrt(a) * std::sqrt(b));
  }

  // The middles of the widest gaps between judged values from `a` to `b`; each counts as judged for
  // the next one.
  [[nodiscard]] std::vector<double> gaps(double a, double b, std::int64_t count) const {
    std::set<double> known{a, b};
    for (const auto& [value, judged] : judged_) {
      if (value > std::min(a, b) && value < std::max(a, b)) known.insert(value);
    }
    std::vector<double> middles;
    while (std::ssize(middles) < count) {
      double widest = 0;
      double middle = 0;
      for (auto low = known.begin(), high = std::next(low); high != known.end(); ++low, ++high) {
        const double width = search_.whole ? *high - *low : *high / *low - 1;
        if (width <= widest || !is_wide(*low, *high)) continue;
        widest = width;
        middle = middle_of(*low, *high);
      }
      if (widest == 0 || !known.insert(middle).second) break;
      middles.push_back(middle);
    }
    return middles;
  }

  [[nodiscard]] EdgeFound result(SearchEnd end) const {
    EdgeFound found;
    found.end = end;
    for (const auto& [value, judged] : judged_) found.judged.push_back(judged);
    return found;
  }

  // `passing`, `failing`: next to the edge, or the ends of the range.
  void answer(double passing, double failing) {
    EdgeFound found = result(SearchEnd::found);
    std::optional<double> best = passing;
    std::optional<double> next = failing;
    if (!passes(passing)) {
      found.end = SearchEnd::none_passes;
      next = passing;
      best.reset();
    } else if (passes(failing)) {
      found.end = SearchEnd::all_pass;
      best = failing;
      next.reset();
    }
    found.value = best;
    found.low = search_.largest ? best : next;
    found.high = search_.largest ? next : best;
    for (const auto& [value, judged] : judged_) {
      if (passes(value) && (!best || is_better(value, *best))) found.passes_beyond.push_back(value);
      if (!passes(value) && best && !is_better(value, *best)) found.fails_before.push_back(value);
    }
    if (!found.passes_beyond.empty() || !found.fails_before.empty()) {
      found.end = SearchEnd::not_monotone;
    }
    step_.found = std::move(found);
  }

  [[nodiscard]] bool is_better(double value, double than) const {
    return search_.largest ? value > than : value < than;
  }

  const ValueSearch& search_;
  const Measured& measured_;
  std::map<double, JudgedValue> judged_;
  SearchStep step_;
};

}  // namespace

std::string_view name_of(SearchEnd end) { return kEnds[static_cast<std::size_t>(end)]; }

SearchStep next_step(const ValueSearch& search, const Measured& measured) {
  return Bisection(search, measured).step();
}

std::int64_t most_values(const ValueSearch& search) {
  double halvings = 0;
  if (search.whole) {
    const double least = std::max(1.0, search.tolerance * search.from);
    halvings = det::log((search.to - search.from) / least) / det::log(2);
  } else {
    const double wide = det::log(search.to / search.from) / det::log(1 + search.tolerance);
    halvings = det::log(wide) / det::log(2);
  }
  return 2 + static_cast<std::int64_t>(std::ceil(std::max(halvings, 0.0))) + 2 * search.checks;
}

}  // namespace headroom
