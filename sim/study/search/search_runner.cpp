#include "sim/study/search/search_runner.hpp"

#include <algorithm>
#include <chrono>
#include <list>
#include <optional>
#include <set>

#include "sim/resolve/run.hpp"
#include "sim/study/run_pool.hpp"
#include "sim/study/sweep/study_runner.hpp"

namespace headroom {
namespace {

constexpr std::chrono::milliseconds kWait{100};
// Searches under way at once, for each thread: each has a few runs to make, and waits for all.
constexpr std::size_t kOpenPerThread = 4;

// A search that is under way.
struct OpenSearch {
  SearchTask task;
  Measured measured;
  std::size_t awaited = 0;  // runs
};

struct Job {
  OpenSearch* owner = nullptr;
  Probe probe;
};

struct MadeProbe {
  Job job;
  StoredProbe row;
};

// Empty: cut short by `stop`, which may be null.
std::optional<StoredProbe> make_probe(const StudyPlan& plan, const Catalog& catalog,
                                      const SearchTask& task, const Probe& probe,
                                      const std::atomic<bool>* stop) {
  const ValueSearch& search = plan.study().searches[task.search].value;
  std::optional<StoredRun> row =
      make_row([&] { return plan.probe(task.point, search, probe.value, probe.replication); },
               catalog, {}, stop);
  if (!row) return std::nullopt;
  row->point = task.point;
  row->replication = probe.replication;
  return StoredProbe{static_cast<std::int64_t>(task.search), probe.value, std::move(*row)};
}

// Replications end in any order, and are judged in that of their numbers.
SearchStep next_step_of(const StudyPlan& plan, const SearchTask& task, Measured& measured) {
  for (auto& [value, runs] : measured) std::ranges::sort(runs, {}, &StoredRun::replication);
  return next_step(plan.study().searches[task.search].value, measured);
}

// Takes searches from the list to their answers.
class SearchBoard {
 public:
  SearchBoard(const StudyPlan& plan, const Catalog& catalog, const std::vector<SearchTask>& tasks,
              ResultsStore& store, const SearchOptions& options)
      : plan_(plan),
        catalog_(catalog),
        tasks_(tasks),
        store_(store),
        rows_(store.database()),
        options_(options),
        pool_(options.threads,
              [this](const Job& job, const std::atomic<bool>* stop) { return made(job, stop); }) {
    state_.wanted = static_cast<std::int64_t>(tasks.size());
  }

  SearchState run() {
    open_more();
    while (!open_.empty()) {
      if (options_.interrupted != nullptr && options_.interrupted->load(std::memory_order_relaxed))
        break;
      if (std::optional<MadeProbe> made = pool_.take(kWait)) {
        keep(std::move(*made));
        open_more();
      }
      if (options_.progress) options_.progress(state_);
    }
    return state_;
  }

 private:
  // Called by several threads.
  std::optional<MadeProbe> made(const Job& job, const std::atomic<bool>* stop) const {
    std::optional<StoredProbe> row = make_probe(plan_, catalog_, job.owner->task, job.probe, stop);
    if (!row) return std::nullopt;
    return MadeProbe{job, std::move(*row)};
  }

  void open_more() {
    while (open_.size() < kOpenPerThread * options_.threads && next_ < tasks_.size()) {
      OpenSearch& search = open_.emplace_back();
      search.task = tasks_[next_++];
      const auto number = static_cast<std::int64_t>(search.task.search);
      for (StoredProbe& probe : read_probes(store_.database(), number, search.task.point)) {
        search.measured[probe.value].push_back(std::move(probe.run));
      }
      advance(search);
    }
  }

  void keep(MadeProbe made) {
    rows_.add(made.row);
    ++state_.probes;
    OpenSearch& search = *made.job.owner;
    search.measured[made.row.value].push_back(std::move(made.row.run));
    if (--search.awaited == 0) advance(search);
  }

  void advance(OpenSearch& search) {
    const SearchStep step = next_step_of(plan_, search.task, search.measured);
    if (!step.found) {
      search.awaited = step.wanted.size();
      for (const Probe& probe : step.wanted) pool_.ask({&search, probe});
      return;
    }
    const Search& wanted = plan_.study().searches[search.task.search];
    rows_.add(search_row(wanted, search.task, *step.found));
    ++state_.done;
    if (step.found->end == SearchEnd::failed) ++state_.failed;
    open_.remove_if([&](const OpenSearch& one) { return &one == &search; });
  }

  const StudyPlan& plan_;
  const Catalog& catalog_;
  const std::vector<SearchTask>& tasks_;
  ResultsStore& store_;
  SearchRows rows_;
  const SearchOptions& options_;
  SearchState state_;
  std::size_t next_ = 0;
  std::list<OpenSearch> open_;
  RunPool<Job, MadeProbe> pool_;  // last: its threads end before anything they use
};

Json judged_json(const JudgedValue& judged) {
  const Judgement& judgement = judged.judgement;
  Json json = {
      {"value", judged.value}, {"verdict", name_of(judgement.verdict)}, {"runs", judged.runs}};
  if (!judgement.why.empty()) json["why"] = judgement.why;
  for (const MetricMean& one : judgement.means) {
    json["means"][one.metric] = {{"mean", one.mean}, {"half_width", one.half_width}};
  }
  return json;
}

}  // namespace

std::vector<SearchTask> tasks_of(const StudyPlan& plan, const StudyShard& shard) {
  std::vector<SearchTask> tasks;
  const std::vector<Search>& searches = plan.study().searches;
  for (const std::int64_t point : plan.points_of(shard)) {
    for (std::size_t i = 0; i < searches.size(); ++i) {
      if (!searches[i].is_front()) tasks.push_back({i, point});
    }
  }
  return tasks;
}

std::vector<SearchTask> missing_tasks(const std::vector<SearchTask>& tasks,
                                      const Database& database) {
  std::set<SearchTask> done;
  for (const StoredSearch& row : read_search_rows(database)) {
    if (row.status == name_of(SearchEnd::failed)) continue;
    done.insert({static_cast<std::size_t>(row.search), row.point});
  }
  std::vector<SearchTask> missing;
  std::ranges::copy_if(tasks, std::back_inserter(missing),
                       [&](const SearchTask& task) { return !done.contains(task); });
  return missing;
}

StoredSearch search_row(const Search& search, const SearchTask& task, const EdgeFound& found) {
  Json detail = {{"path", search.value.path},
                 {"from", search.value.from},
                 {"to", search.value.to},
                 {"tolerance", search.value.tolerance},
                 {"monotone", found.passes_beyond.empty() && found.fails_before.empty()},
                 {"passes_beyond", found.passes_beyond},
                 {"fails_before", found.fails_before},
                 {"values", Json::array()}};
  if (!found.error.empty()) detail["error"] = found.error;
  for (const JudgedValue& judged : found.judged) detail["values"].push_back(judged_json(judged));
  StoredSearch row;
  row.search = static_cast<std::int64_t>(task.search);
  row.point = task.point;
  row.name = search.name;
  row.kind = name_of(search.kind);
  row.value = found.value;
  row.low = found.low;
  row.high = found.high;
  row.status = name_of(found.end);
  row.detail = detail.dump(-1, ' ', false, Json::error_handler_t::replace);
  return row;
}

SearchAnswer make_search(const StudyPlan& plan, const Catalog& catalog, const SearchTask& task,
                         std::vector<StoredProbe> known) {
  Measured measured;
  for (StoredProbe& probe : known) measured[probe.value].push_back(std::move(probe.run));
  SearchAnswer answer;
  while (true) {
    const SearchStep step = next_step_of(plan, task, measured);
    if (step.found) {
      answer.row = search_row(plan.study().searches[task.search], task, *step.found);
      return answer;
    }
    for (const Probe& wanted : step.wanted) {
      const StoredProbe& made =
          answer.probes.emplace_back(*make_probe(plan, catalog, task, wanted, nullptr));
      measured[wanted.value].push_back(made.run);
    }
  }
}

SearchState run_searches(const StudyPlan& plan, const Catalog& catalog,
                         const std::vector<SearchTask>& tasks, ResultsStore& store,
                         const SearchOptions& options) {
  return SearchBoard(plan, catalog, tasks, store, options).run();
}

}  // namespace headroom
