#include "sim/study/compare/compare.hpp"

#include <algorithm>
#include <catch2/catch.hpp>
#include <fstream>
#include <string>
#include <vector>

#include "sim/kernel/errors.hpp"
#include "sim/study/compare/student_t.hpp"
#include "sim/study/sweep/study_file.hpp"
#include "tests/support/temp_folder.hpp"

namespace headroom::compare_test {

namespace {

const Catalog& catalog() {
  static const Catalog kCatalog = Catalog::embedded();
  return kCatalog;
}

RequestRecord finished(std::uint64_t index, TimeNs arrival_ns, std::vector<TimeNs> phases_ns) {
  RequestRecord record;
  record.index = index;
  record.arrival_ns = arrival_ns;
  record.queued_ns = arrival_ns + phases_ns[0];
  record.first_scheduled_ns = record.queued_ns + phases_ns[1];
  record.first_token_ns = record.first_scheduled_ns + phases_ns[2];
  record.finish_ns = record.first_token_ns + phases_ns[3];
  record.prompt_tokens = 100 + static_cast<std::int32_t>(index);
  record.output_tokens = 10;
  record.outcome = Outcome::finished;
  return record;
}

constexpr TimeNs kMs = 1'000'000;

const MetricPair& metric(const ComparisonResult& result, const std::string& name) {
  const auto found = std::ranges::find(result.metrics, name, &MetricPair::name);
  REQUIRE(found != result.metrics.end());
  return *found;
}

}  // namespace

TEST_CASE("the mean of a sample and its interval, by hand") {
  // Mean 5, standard deviation 2, t(2) = 4.303: 4.303 * 2 / sqrt(3)
  const std::vector<double> values{3, 5, 7};
  CHECK(mean_interval(values).mean == Approx(5));
  CHECK(mean_interval(values).half_width == Approx(4.9687).epsilon(1e-4));
  CHECK(mean_interval(std::vector<double>{4}).half_width == 0);
  CHECK(student_t_975(1) == Approx(12.706));
  CHECK(student_t_975(60) == Approx(2.000).margin(0.002));
}

TEST_CASE("pairs of requests: which got worse, and where") {
  std::vector<RequestRecord> a;
  std::vector<RequestRecord> b;
  a.push_back(finished(0, 0, {0, 10 * kMs, 50 * kMs, 100 * kMs}));
  b.push_back(finished(0, 0, {0, 30 * kMs, 55 * kMs, 90 * kMs}));  // +15 ms, by the queue
  a.push_back(finished(1, kMs, {0, 0, 50 * kMs, 100 * kMs}));
  b.push_back(finished(1, kMs, {0, 0, 50 * kMs, 70 * kMs}));  // -30 ms
  a.push_back(finished(2, 2 * kMs, {0, 0, 50 * kMs, 100 * kMs}));
  b.push_back(a.back());
  b.back().finish_ns += kMs / 2;  // too little to count
  a.push_back(finished(3, 3 * kMs, {0, 0, 50 * kMs, 100 * kMs}));
  b.push_back(a.back());
  b.back().outcome = Outcome::rejected;
  const RequestPairs pairs = pair_requests(a, b, 10);
  REQUIRE(pairs.why_not.empty());
  CHECK(pairs.requests == 4);
  CHECK(pairs.both_finished == 3);
  CHECK(pairs.worse == 1);
  CHECK(pairs.better == 1);
  CHECK(pairs.only_a_finished == 1);
  CHECK(pairs.only_b_finished == 0);
  CHECK(pairs.worse_by_cause[static_cast<std::size_t>(StayPhase::queue)] == 1);
  CHECK(pairs.mean_change_ms[static_cast<std::size_t>(StayPhase::queue)] == Approx(20.0 / 3));
  CHECK(pairs.mean_change_ms[static_cast<std::size_t>(StayPhase::decode)] == Approx(-39.5 / 3));
  // The one that B lost stands before the one that it slowed down.
  REQUIRE(pairs.worst.size() == 2);
  CHECK(pairs.worst[0].index == 3);
  CHECK(pairs.worst[1].index == 0);
  CHECK(pairs.worst[1].cause() == StayPhase::queue);
  CHECK(pairs.worst[1].change() == 15 * kMs);
  CHECK(pair_requests(a, b, 1).worst.size() == 1);
  CHECK(pairs.quarters.size() == 3);
}

TEST_CASE("requests of different traffic are not paired") {
  const std::vector<RequestRecord> a{finished(0, 0, {0, 0, kMs, kMs})};
  std::vector<RequestRecord> b = a;
  b[0].arrival_ns += 1;
  CHECK_THAT(pair_requests(a, b, 10).why_not, Catch::Contains("request 0 came at"));
  CHECK_THAT(pair_requests(a, {}, 10).why_not, Catch::Contains("1 requests arrived in A and 0"));
}

TEST_CASE("a scenario does not differ from itself, and the same pair is the same result") {
  Comparison comparison = load_pair("demo", "demo", {"workload.num_requests=300"}, {}, {});
  comparison.replications = 3;
  const ComparisonResult result = compare(comparison, catalog(), {.threads = 3});
  for (const MetricPair& pair : result.metrics) {
    CAPTURE(pair.name);
    CHECK(pair.difference == 0);
    CHECK(pair.half_width == 0);
    CHECK_FALSE(pair.is_certain());
  }
  CHECK(result.requests.worse + result.requests.better == 0);
  CHECK(result.a.rows[0].digest != result.a.rows[1].digest);  // another seed, other traffic
  const ComparisonResult again = compare(comparison, catalog(), {.threads = 1});
  for (std::size_t i = 0; i < 3; ++i) CHECK(again.b.rows[i].digest == result.b.rows[i].digest);
}

TEST_CASE("a smaller batch limit is worse for certain, and in the queue") {
  Comparison comparison =
      load_pair("demo", "demo", {"workload.num_requests=2000", "workload.arrivals.request_rate=7"},
                {}, {"engine.max_num_seqs=20"});
  const ComparisonResult result = compare(comparison, catalog(), {.threads = 2});
  const MetricPair& ttft = metric(result, "mean_ttft_ms");
  CHECK(ttft.is_certain());
  CHECK(ttft.difference > 0);
  CHECK(ttft.difference == Approx(ttft.mean_b - ttft.mean_a));
  CHECK(result.requests.worse > result.requests.better);
  CHECK(result.requests.worst.front().cause() == StayPhase::queue);
}

TEST_CASE("recorded requests have no draws: one pair is all") {
  TempFolder folder;
  const std::string path = folder.path() + "/own.csv";
  std::ofstream(path) << "ts_s,in,out\n0,300,40\n0.5,200,30\n1,100,20\n";
  Comparison comparison = load_pair("demo", "demo", {}, {}, {"engine.max_num_seqs=1"}, path);
  const ComparisonResult result = compare(comparison, catalog(), {.threads = 2});
  CHECK(result.has_no_draws);
  REQUIRE(result.a.rows.size() == 1);
  REQUIRE(result.b.rows.size() == 1);
  CHECK(metric(result, "mean_e2el_ms").pairs == 1);
  CHECK(result.requests.both_finished == 3);
  // Without times in the file arrivals are drawn.
  std::ofstream(path) << "in,out\n300,40\n200,30\n100,20\n";
  Comparison drawn = load_pair("demo", "demo", {"workload.arrivals.request_rate=2"}, {},
                               {"engine.max_num_seqs=1"}, path);
  drawn.replications = 3;
  const ComparisonResult other = compare(drawn, catalog(), {.threads = 2});
  CHECK_FALSE(other.has_no_draws);
  CHECK(other.a.rows.size() == 3);
}

TEST_CASE("what is no pair is refused") {
  CHECK_THROWS_WITH(load_pair("rate-curve", {}), Catch::Contains("25 points"));
  CHECK_THROWS_AS(load_pair("demo", "no-such-scenario", {}, {}, {}), ConfigError);
  CHECK_THROWS_AS(load_pair("no-such-study", {}), ConfigError);
}

TEST_CASE("every ready pair runs") {
  int pairs = 0;
  for (const EmbeddedFile& file : study_files()) {
    const std::string name = std::string(file.name).substr(0, file.name.find(".json"));
    if (!name.starts_with("pair-")) continue;
    CAPTURE(name);
    ++pairs;
    Comparison comparison = load_pair(name, {});
    comparison.replications = 1;
    const ComparisonResult result = compare(comparison, catalog(), {.threads = 2});
    CHECK(result.a.first.started);
    CHECK(result.b.first.started);
    CHECK(result.requests.why_not.empty());
    CHECK(result.requests.both_finished > 0);
  }
  CHECK(pairs == 7);
}

}  // namespace headroom::compare_test
