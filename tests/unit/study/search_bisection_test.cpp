#include "sim/study/search/bisection.hpp"

#include <catch2/catch.hpp>

#include <algorithm>
#include <cmath>
#include <functional>
#include <string>

namespace headroom::search_bisection_test {

namespace {

// Latency of a run by value and replication.
using Oracle = std::function<double(double value, std::int64_t replication)>;

StoredRun run_with(std::int64_t replication, double latency_ms) {
  StoredRun run;
  run.replication = replication;
  run.done = true;
  run.stationary = true;
  run.metrics = {{"started", 1}, {"p99_ttft_ms", latency_ms}};
  return run;
}

ValueSearch largest(double from, double to) {
  ValueSearch search;
  search.path = "rate";
  search.from = from;
  search.to = to;
  search.each = {{"started", false, 1}};
  search.limits = {{"p99_ttft_ms", true, 100}};
  return search;
}

struct Searched {
  EdgeFound found;
  std::int64_t runs = 0;
  std::int64_t rounds = 0;
};

Searched search_with(const ValueSearch& search, const Oracle& oracle) {
  Searched searched;
  Measured measured;
  while (true) {
    SearchStep step = next_step(search, measured);
    if (step.found) {
      searched.found = std::move(*step.found);
      return searched;
    }
    REQUIRE_FALSE(step.wanted.empty());
    REQUIRE(++searched.rounds < 100);
    for (const Probe& probe : step.wanted) {
      std::vector<StoredRun>& runs = measured[probe.value];
      REQUIRE(static_cast<std::int64_t>(runs.size()) == probe.replication);
      runs.push_back(run_with(probe.replication, oracle(probe.value, probe.replication)));
      ++searched.runs;
    }
  }
}

double edge_at_20(double value, std::int64_t) { return value <= 20 ? 50 : 200; }

}  // namespace

TEST_CASE("the largest value that passes is found within its tolerance") {
  const ValueSearch search = largest(1, 64);
  const Searched searched = search_with(search, edge_at_20);
  const EdgeFound& found = searched.found;
  CHECK(found.end == SearchEnd::found);
  REQUIRE(found.value);
  CHECK(*found.value <= 20);
  CHECK(*found.high > 20);
  CHECK(*found.high - *found.low <= 0.01 * *found.low);
  CHECK(found.value == found.low);
  // ln 64 / ln 1.01 = 418 tolerances: 9 halvings; both ends, and 2 checks on each side.
  CHECK(most_values(search) == 15);
  CHECK(std::ssize(found.judged) == 15);
  CHECK(searched.runs == 15);
}

TEST_CASE("the smallest value that passes is found from the other side") {
  ValueSearch search = largest(0.1, 1);
  search.largest = false;
  const Searched searched =
      search_with(search, [](double value, std::int64_t) { return value < 0.42 ? 200 : 50; });
  CHECK(searched.found.end == SearchEnd::found);
  CHECK(searched.found.value == searched.found.high);
  CHECK(*searched.found.low < 0.42);
  CHECK(*searched.found.high >= 0.42);
  CHECK(*searched.found.high <= 0.42 * 1.01);
}

TEST_CASE("whole numbers are searched to the very one") {
  for (const std::int64_t edge : {1, 2, 37, 254, 255}) {
    CAPTURE(edge);
    ValueSearch search = largest(1, 256);
    search.whole = true;
    search.tolerance = 0;
    const Searched searched = search_with(search, [edge](double value, std::int64_t) {
      REQUIRE(value == std::floor(value));
      return value <= static_cast<double>(edge) ? 1 : 1000;
    });
    CHECK(searched.found.end == SearchEnd::found);
    CHECK(searched.found.value == static_cast<double>(edge));
    CHECK(searched.found.high == static_cast<double>(edge + 1));
  }
}

TEST_CASE("an edge outside of the range is said to be there") {
  const EdgeFound all = search_with(largest(1, 16), edge_at_20).found;
  CHECK(all.end == SearchEnd::all_pass);
  CHECK(all.value == 16.0);
  CHECK_FALSE(all.high);
  CHECK(std::ssize(all.judged) == 2 + 4);
  const EdgeFound none = search_with(largest(32, 64), edge_at_20).found;
  CHECK(none.end == SearchEnd::none_passes);
  CHECK_FALSE(none.value);
  CHECK(none.high == 32.0);
}

TEST_CASE("values that contradict the edge are named, never hidden") {
  // Passes up to 20, and again from 30 to 50.
  const EdgeFound again = search_with(largest(1, 64), [](double value, std::int64_t) {
                            return value <= 20 || (value > 30 && value < 50) ? 50 : 200;
                          }).found;
  CHECK(again.end == SearchEnd::not_monotone);
  REQUIRE_FALSE(again.passes_beyond.empty());
  CHECK(std::ranges::all_of(again.passes_beyond, [](double v) { return v > 30 && v < 50; }));
  CHECK(again.fails_before.empty());
  CHECK(*again.value <= 20);
  // A hole below the edge: the middles of the widest gaps of 1 ... 8 ... are 2.83 and others.
  const EdgeFound hole = search_with(largest(1, 64), [](double value, std::int64_t) {
                           return value <= 20 && (value < 2 || value > 4) ? 50 : 200;
                         }).found;
  CHECK(hole.end == SearchEnd::not_monotone);
  REQUIRE_FALSE(hole.fails_before.empty());
  CHECK(std::ranges::all_of(hole.fails_before, [](double v) { return v >= 2 && v <= 4; }));
  // Only the far end passes.
  const EdgeFound reversed = search_with(largest(1, 64), [](double value, std::int64_t) {
                               return value > 60 ? 50 : 200;
                             }).found;
  CHECK(reversed.end == SearchEnd::not_monotone);
  CHECK(reversed.passes_beyond == std::vector<double>{64});
  CHECK_FALSE(reversed.value);
}

TEST_CASE("without checks a contradiction away from the bisection is not seen") {
  ValueSearch search = largest(1, 64);
  search.checks = 0;
  const EdgeFound found = search_with(search, [](double value, std::int64_t) {
                            return value <= 20 && (value < 2 || value > 4) ? 50 : 200;
                          }).found;
  CHECK(found.end == SearchEnd::found);
}

TEST_CASE("a value passes or fails when its interval lies on one side of the limit") {
  ValueSearch search = largest(1, 64);
  search.replications = 3;
  search.max_replications = 12;
  const auto judged = [&](double mean, double spread, std::int64_t count) {
    std::vector<StoredRun> runs;
    for (std::int64_t i = 0; i < count; ++i) {
      runs.push_back(run_with(i, mean + spread * static_cast<double>(i % 3 - 1)));
    }
    return judge(search, runs);
  };
  // Of mean - s, mean, mean + s the standard error is s / sqrt 3, and t is 4.303: +- 2.484 s.
  CHECK(judged(90, 1, 3).means[0].half_width == Approx(4.303 / std::sqrt(3.0)));
  CHECK(judged(90, 4, 3).verdict == Verdict::passes);
  CHECK(judged(90, 4.1, 3).verdict == Verdict::open);
  CHECK(judged(110, 4, 3).verdict == Verdict::fails);
  CHECK(judged(110, 4.1, 3).verdict == Verdict::open);
  CHECK(judged(110, 4.1, 3).why == "p99_ttft_ms");
  CHECK(judged(100, 1, 9).verdict == Verdict::open);
  // Not certain after all replications: it fails, and says so.
  CHECK(judged(100, 1, 12).verdict == Verdict::fails);
  CHECK(judged(100, 1, 12).why == "p99_ttft_ms is not certain after 12 replications");
  // One run has no interval.
  search.max_replications = 1;
  CHECK(judged(100, 1, 1).verdict == Verdict::passes);
}

TEST_CASE("what each run has to keep comes before any mean") {
  ValueSearch search = largest(1, 64);
  search.each.push_back({"oom_count", true, 0});
  search.stationary = true;
  StoredRun good = run_with(0, 50);
  good.metrics.emplace_back("oom_count", 0);
  StoredRun bad = good;
  bad.replication = 1;
  CHECK(judge(search, {good, bad}).verdict == Verdict::passes);
  bad.stationary = false;
  CHECK(judge(search, {good, bad}).why == "not stationary in replication 1");
  bad.stationary.reset();  // nothing ran
  CHECK(judge(search, {good, bad}).verdict == Verdict::fails);
  bad = good;
  bad.metrics.back().second = 2;
  CHECK(judge(search, {bad}).why == "oom_count 2 in replication 0");
  bad = good;
  bad.metrics[0].second = 0;
  CHECK(judge(search, {bad}).why == "does not start");
  bad = good;
  std::erase_if(bad.metrics, [](const auto& one) { return one.first == "p99_ttft_ms"; });
  CHECK(judge(search, {bad}).why == "no p99_ttft_ms in replication 0");
}

TEST_CASE("only values that are not certain get more replications") {
  ValueSearch search = largest(1, 64);
  search.replications = 3;
  search.max_replications = 7;
  // The latency is the value times 5, with a spread of 10: certain below 15 and above 25.
  const Searched searched = search_with(search, [](double value, std::int64_t replication) {
    return 5 * value + 10 * static_cast<double>(replication % 3 - 1);
  });
  CHECK(searched.found.end == SearchEnd::found);
  CHECK(*searched.found.value < 20);
  CHECK(*searched.found.value > 15);
  for (const JudgedValue& judged : searched.found.judged) {
    CAPTURE(judged.value);
    CHECK((judged.runs == 3 || judged.runs == 6 || judged.runs == 7));
    if (judged.value < 15 || judged.value > 25) CHECK(judged.runs == 3);
    if (judged.value > 20) CHECK(judged.judgement.verdict == Verdict::fails);
  }
}

TEST_CASE("what is asked for does not depend on what was measured before it was asked") {
  const ValueSearch search = largest(1, 64);
  Measured known;
  for (const JudgedValue& judged : search_with(search, edge_at_20).found.judged) {
    known[judged.value] = {run_with(0, edge_at_20(judged.value, 0))};
  }
  const SearchStep again = next_step(search, known);
  REQUIRE(again.found);
  CHECK(again.found->judged.size() == known.size());
  known[2.5] = {run_with(0, 1000)};  // nobody asks for it
  CHECK(next_step(search, known).found->end == SearchEnd::found);
}

TEST_CASE("a round that was left half made is made whole before it is judged") {
  ValueSearch search = largest(1, 64);
  search.replications = 2;
  search.max_replications = 8;
  // Two runs leave 19 open; of the next two the second alone would have made it certain.
  const Oracle oracle = [](double value, std::int64_t replication) {
    return value < 19 ? 50 : 95 + 10 * static_cast<double>(replication % 2);
  };
  const auto known = [&](std::initializer_list<std::int64_t> replications) {
    Measured measured;
    measured[1] = {run_with(0, 50), run_with(1, 50)};
    for (const std::int64_t i : replications) measured[64].push_back(run_with(i, oracle(64, i)));
    return measured;
  };
  const std::vector<Probe> rest{{64, 2}, {64, 3}};
  CHECK(next_step(search, known({0, 1})).wanted == rest);
  CHECK(next_step(search, known({0, 1, 2})).wanted == std::vector<Probe>{{64, 3}});
  CHECK(next_step(search, known({0, 1, 3})).wanted == std::vector<Probe>{{64, 2}});
}

TEST_CASE("a run that failed ends the search with its error") {
  StoredRun failed;
  failed.error = "no such file";
  const SearchStep step = next_step(largest(1, 64), {{1, {failed}}});
  REQUIRE(step.found);
  CHECK(step.found->end == SearchEnd::failed);
  CHECK(step.found->error == "rate = 1, replication 0: no such file");
  CHECK_FALSE(step.found->value);
}

}  // namespace headroom::search_bisection_test
