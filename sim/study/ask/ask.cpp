#include "sim/study/ask/ask.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <functional>

#include "sim/kernel/in_parallel.hpp"
#include "sim/metrics/latency_metrics.hpp"
#include "sim/resolve/start_verdict.hpp"
#include "sim/study/ask/ask_binds.hpp"
#include "sim/study/ask/ask_target.hpp"

namespace headroom {
namespace {

// Shown where no targets are given.
constexpr std::array<std::string_view, 4> kUsualLatencies{"mean_ttft_ms", "p99_ttft_ms",
                                                          "mean_tpot_ms", "p99_tpot_ms"};
constexpr double kWorthShowing = 1.02;  // twice the tolerance of a search

class Asker {
 public:
  Asker(const AskQuery& query, const Catalog& catalog, const AskOptions& options)
      : query_(query), catalog_(catalog), options_(options) {}

  AskAnswer answer() {
    const Scenario scenario = with_settings(query_.document, {});
    targets_ = with_limits_of(scenario.slo, query_.targets);
    answer_.load = load_of(scenario);
    answer_.has_load = query_.has_load;
    answer_.has_targets = !targets_.empty();
    answer_.makes_vectors = makes_vectors(scenario, catalog_);
    if (!query_.refusal.empty()) {
      answer_.run = check(scenario, catalog_);
      answer_.run.started = false;
      conclude(HoldVerdict::does_not_start, query_.refusal);
      return std::move(answer_);
    }
    answer_.run = headroom::run(scenario, catalog_, {.interrupted = options_.interrupted});
    if (is_stopped()) return std::move(answer_);
    answer_.at_once = requests_at_once(answer_.run);
    add_latencies();
    search(scenario);
    judge();
    return std::move(answer_);
  }

 private:
  // A search whose edge is part of the answer, or a change's.
  struct Job {
    EdgeQuestion question;
    std::function<void(const EdgeFound& found)> take;
  };

  [[nodiscard]] bool is_stopped() {
    answer_.interrupted =
        options_.interrupted != nullptr && options_.interrupted->load(std::memory_order_relaxed);
    return answer_.interrupted;
  }

  void add_latencies() {
    const RunResult& run = answer_.run;
    if (!run.started || run.summary.metrics.completed == 0) return;
    // They would say how long the run was.
    if (!run.summary.windows.stationarity.stationary) return;
    const auto add = [&](std::string_view name, std::optional<double> limit) {
      const LatencyMetric* metric = find_latency(name);
      const double ms = run.summary.metrics.*metric->value;
      const ErrorRange range = latency_range(run.expected_error, metric->kind);
      answer_.latencies.push_back(
          {std::string(name), limit, ms, ms * (1 + range.low), ms * (1 + range.high)});
    };
    for (const Limit& target : targets_) add(target.metric, target.bound);
    const bool has_steps = run.summary.metrics.mean_tpot_ms > 0;  // not with answers of one token
    for (const std::string_view name : kUsualLatencies) {
      if (!has_steps && find_latency(name)->kind == LatencyKind::tpot) continue;
      if (std::ranges::find(answer_.latencies, name, &AskLatency::metric) ==
          answer_.latencies.end()) {
        add(name, std::nullopt);
      }
    }
  }

  void search(const Scenario& scenario) {
    std::vector<Job> jobs;
    // Without targets users only wait longer.
    const bool bounded = answer_.load.kind != LoadKind::users || !targets_.empty();
    const bool searches = answer_.load.kind != LoadKind::none && bounded;
    if (answer_.run.started && searches) {
      jobs.push_back(
          edge_job(query_.document, load_search(answer_.load, targets_), answer_.largest_load));
      if (query_.with_changes) add_other_edges(scenario, jobs);
    }
    if (answer_.run.started && !bounded) add_rate(scenario, jobs);
    std::vector<AskChange> changes;
    // Of an engine that does not start it is enough to serve the users who were asked for.
    const bool must_start = !answer_.run.started && answer_.load.kind == LoadKind::users;
    const auto& failure = answer_.run.budget.failure;
    const bool can_run = !failure || failure->stage != StartupStage::platform;
    if (query_.with_changes && can_run && (searches || must_start)) {
      for (AskCandidate& one : ask_candidates(answer_.run, longest_asked(answer_.run), catalog_,
                                              query_.largest_share)) {
        changes.push_back({.candidate = std::move(one), .largest = {}, .holds = false});
      }
      for (AskChange& change : changes) jobs.push_back(change_job(change));
    }
    in_parallel(jobs.size(), options_.threads, [&](std::size_t i) {
      const auto found = find_edge(jobs[i].question, catalog_, options_.interrupted);
      if (found) jobs[i].take(*found);
    });
    if (!is_stopped()) rank(std::move(changes));
  }

  // `besides` is added to what was searched.
  Job edge_job(ScenarioDocument document, ValueSearch search, std::optional<AskEdge>& into,
               double besides = 0) {
    EdgeQuestion question{std::move(document), {}, std::move(search)};
    return {question, [this, question, besides, &into](const EdgeFound& found) {
              if (found.end == SearchEnd::failed) return;
              into = edge_of(question, found);
              if (into->largest) *into->largest += besides;
            }};
  }

  // With what the runs on both sides of the edge show.
  [[nodiscard]] AskEdge edge_of(const EdgeQuestion& question, const EdgeFound& found) const {
    AskEdge edge;
    edge.largest = found.value;
    edge.is_last = found.end == SearchEnd::all_pass;
    const std::optional<double> beyond = found.value ? found.high : found.low;
    const double value = beyond.value_or(question.search.from);
    const auto judged = std::ranges::find(found.judged, value, &JudgedValue::value);
    if (edge.is_last || judged == found.judged.end()) return edge;
    const std::string& broken = judged->judgement.why;
    edge.why = why_text(broken);
    if (!found.value) {
      edge.binds = Binds::alone;
      return edge;
    }
    const Json as_json =
        question.search.whole ? Json(static_cast<std::int64_t>(value)) : Json(value);
    const std::array settings{Setting{question.search.path, as_json}};
    const RunResult run = headroom::run(with_settings(question.document, settings), catalog_,
                                        {.interrupted = options_.interrupted});
    edge.binds = binds_beyond(question, *found.value, broken, run, catalog_, options_.interrupted);
    return edge;
  }

  [[nodiscard]] std::string why_text(const std::string& broken) const {
    for (const Limit& target : targets_) {
      if (target.metric == broken) {
        return fmt::format("{} above {}", latency_title(broken), latency_text(target.bound));
      }
    }
    if (broken.starts_with("not stationary")) return "the backlog grows";
    if (broken.starts_with("rejected")) return "requests are rejected";
    if (broken.starts_with("lost_to_oom")) return "requests are lost to out of memory";
    return broken;
  }

  // Requests that are drawn, without sessions or classes.
  [[nodiscard]] static bool is_plain(const Scenario& scenario) {
    const WorkloadSection& w = scenario.workload;
    return w.classes.empty() && w.trace.file.empty() && w.servegen.directory.empty() &&
           scenario.given_below("/workload/sessions").empty();
  }

  // How many users there may be says nothing without targets; what they may send in all does.
  void add_rate(const Scenario& scenario, std::vector<Job>& jobs) {
    if (!is_plain(scenario)) return;
    ScenarioDocument document = query_.document;
    set_open_loop(document.json, scenario.workload.output.tokens.value_or(0));
    const AskLoad rate{LoadKind::rate, "workload.arrivals.request_rate", 1};
    jobs.push_back(edge_job(std::move(document), load_search(rate, {}), answer_.largest_rate));
  }

  // The same requests in a closed loop, and with longer prompts.
  void add_other_edges(const Scenario& scenario, std::vector<Job>& jobs) {
    if (!is_plain(scenario)) return;
    const WorkloadSection& w = scenario.workload;
    if (answer_.load.kind == LoadKind::rate && !targets_.empty()) {
      ScenarioDocument document = query_.document;
      set_closed_loop(document.json, std::nullopt);
      const AskLoad users{LoadKind::users, "workload.closed_loop.users", 1};
      jobs.push_back(
          edge_job(std::move(document), load_search(users, targets_), answer_.largest_users));
    }
    const bool fixed = w.prompt.law == "fixed" && w.output.law == "fixed" && w.output.tokens;
    if (!fixed || !query_.has_load) return;
    ValueSearch search = load_search({LoadKind::users, "workload.prompt.tokens", 1}, targets_);
    search.to = static_cast<double>(longest_request(answer_.run.resolved) - *w.output.tokens);
    if (search.to > search.from) {
      jobs.push_back(edge_job(query_.document, search, answer_.largest_context,
                              static_cast<double>(*w.output.tokens)));
    }
  }

  Job change_job(AskChange& change) {
    EdgeQuestion question{
        query_.document, {change.candidate.setting}, load_search(answer_.load, targets_)};
    if (answer_.load.kind == LoadKind::users && targets_.empty()) {
      question.search.to = std::max(question.search.from + 1, answer_.load.value);
    }
    return {std::move(question), [this, &change](const EdgeFound& found) {
              if (found.end == SearchEnd::failed) return;
              change.largest = found.value;
              change.holds = found.value && *found.value >= answer_.load.value;
            }};
  }

  // Of each option the best value; what gains less than a search can tell is left out.
  void rank(std::vector<AskChange> changes) {
    answer_.tried = static_cast<std::int64_t>(changes.size());
    const double now = answer_.largest_load ? answer_.largest_load->largest.value_or(0) : 0;
    std::erase_if(changes, [&](const AskChange& change) {
      return !change.largest || *change.largest <= now * kWorthShowing;
    });
    std::ranges::stable_sort(changes, [](const AskChange& a, const AskChange& b) {
      return *a.largest != *b.largest ? *a.largest > *b.largest
                                      : a.candidate.cost < b.candidate.cost;
    });
    // Of numbers of devices that let it start, the fewest come first.
    if (!answer_.run.started) {
      std::ranges::stable_sort(changes, {}, [](const AskChange& change) {
        const Json& value = change.candidate.setting.value;
        const bool counts = change.candidate.cost == FixCost::hardware && value.is_number();
        return counts ? value.get<std::int64_t>() : 0;
      });
    }
    std::vector<AskChange> of_engine;  // each option once
    for (AskChange& change : changes) {
      const bool hardware = change.candidate.cost == FixCost::hardware;
      // Two devices are two changes, two numbers of devices one.
      const bool is_other =
          !change.candidate.setting.value.is_number() || !has_option(answer_.hardware, change);
      if (hardware && is_other && answer_.hardware.size() < kShownChanges) {
        answer_.hardware.push_back(std::move(change));
      } else if (!hardware && !has_option(of_engine, change)) {
        of_engine.push_back(std::move(change));
      }
    }
    // What does not start is to start, at the least cost; what helps most is there, too.
    if (!answer_.run.started && of_engine.size() > 1) {
      std::ranges::stable_sort(of_engine.begin() + 1, of_engine.end(), {},
                               [](const AskChange& change) { return change.candidate.cost; });
    }
    of_engine.resize(std::min<std::size_t>(of_engine.size(), kShownChanges));
    answer_.changes = std::move(of_engine);
  }

  static bool has_option(const std::vector<AskChange>& list, const AskChange& change) {
    return std::ranges::any_of(list, [&](const AskChange& other) {
      return other.candidate.setting.path == change.candidate.setting.path;
    });
  }

  void judge() {
    const RunResult& run = answer_.run;
    if (!run.started) {
      return conclude(HoldVerdict::does_not_start, start_reason(run.resolved, run.budget));
    }
    if (const std::string missed = what_is_missed(); !missed.empty()) {
      return conclude(HoldVerdict::does_not_hold, missed);
    }
    if (const std::string close = what_is_close(); !close.empty()) {
      return conclude(HoldVerdict::tight, close);
    }
    const auto nearest = std::ranges::max_element(answer_.latencies, {}, [](const AskLatency& l) {
      return l.limit_ms && *l.limit_ms > 0 ? l.ms / *l.limit_ms : 0;
    });
    const bool has_target = nearest != answer_.latencies.end() && nearest->limit_ms;
    if (has_target) {
      return conclude(HoldVerdict::holds,
                      fmt::format("{} is {}, below {}", latency_title(nearest->metric),
                                  latency_text(nearest->ms), latency_text(*nearest->limit_ms)));
    }
    if (!query_.has_load) return conclude(HoldVerdict::holds, "the engine starts");
    if (answer_.latencies.empty()) return conclude(HoldVerdict::holds, "the engine keeps up");
    // Users without a target wait as long as it takes: nobody does for a minute.
    constexpr double kLongWaitMs = 60e3;
    const bool waits = run.summary.metrics.mean_ttft_ms > kLongWaitMs;
    conclude(waits ? HoldVerdict::tight : HoldVerdict::holds, untargeted_reason(run));
  }

  void conclude(HoldVerdict verdict, std::string reason) {
    answer_.verdict = verdict;
    answer_.reason = std::move(reason);
  }

  [[nodiscard]] std::string what_is_missed() {
    const RunResult& run = answer_.run;
    if (query_.context > 0) {
      const TokenCount longest = longest_request(run.resolved);
      if (query_.context > longest) {
        return fmt::format("requests of {} tokens are longer than the {} that the engine accepts",
                           query_.context, longest);
      }
      answer_.context_requests = concurrent_sequences(run.budget, query_.context);
      if (answer_.context_requests < 1) {
        return fmt::format("a request of {} tokens does not fit in the KV pool", query_.context);
      }
    }
    if (!query_.has_load) return unloaded();
    if (std::string missed = too_long(); !missed.empty()) return missed;
    if (std::string missed = unserved_traffic(run); !missed.empty()) return missed;
    for (const AskLatency& latency : answer_.latencies) {
      if (latency.is_kept()) continue;
      return fmt::format("{} is {}, above {}", latency_title(latency.metric),
                         latency_text(latency.ms), latency_text(*latency.limit_ms));
    }
    return "";
  }

  // The engine rejects such requests, or their answers end early.
  [[nodiscard]] std::string too_long() const {
    const TokenCount asked = longest_asked(answer_.run);
    const TokenCount longest = longest_request(answer_.run.resolved);
    if (asked <= longest) return "";
    return fmt::format(
        "requests of {} tokens are longer than the {} that the engine accepts (--in, --out)", asked,
        longest);
  }

  // Without a load that was asked for, a request alone must keep the targets.
  [[nodiscard]] std::string unloaded() const {
    const std::optional<AskEdge>& edge = answer_.largest_load;
    if (!edge || edge->largest) return "";
    if (std::string missed = too_long(); !missed.empty()) return missed;
    if (targets_.empty()) return fmt::format("not even a request alone is served: {}", edge->why);
    return fmt::format("even a request alone misses the targets: {}", edge->why);
  }

  [[nodiscard]] std::string what_is_close() const {
    const RunResult& run = answer_.run;
    if (!query_.doubt.empty()) return query_.doubt;
    if (std::string start = start_reason(run.resolved, run.budget); !start.empty()) return start;
    if (!query_.has_load) return "";
    for (const AskLatency& latency : answer_.latencies) {
      if (!latency.is_tight()) continue;
      return fmt::format("{} is {}, below {}, but {} up to {}", latency_title(latency.metric),
                         latency_text(latency.ms), latency_text(*latency.limit_ms),
                         range_source(run.expected_error), latency_text(latency.high_ms));
    }
    const std::optional<AskEdge>& edge = answer_.largest_load;
    const bool by_pool = edge && edge->largest && edge->binds == Binds::pool;
    if (by_pool && answer_.load.value > (1 - kPoolError) * *edge->largest) {
      return fmt::format(
          "the load is within {0:.0f} % of what fills the KV pool, whose size is "
          "known to about {0:.0f} %",
          100 * kPoolError);
    }
    return "";
  }

  const AskQuery& query_;
  const Catalog& catalog_;
  const AskOptions& options_;
  std::vector<Limit> targets_;  // the query's, and limits of the scenario
  AskAnswer answer_;
};

}  // namespace

AskAnswer ask(const AskQuery& query, const Catalog& catalog, const AskOptions& options) {
  return Asker(query, catalog, options).answer();
}

}  // namespace headroom
