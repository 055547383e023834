// VERIFICATION V3, C14 and C15: fleets of single servers. Times in ms, rates per ms.

#include <catch2/catch.hpp>
#include <string>
#include <vector>

#include "tests/laws/law_support.hpp"

namespace headroom::laws::fleet_laws_test {
namespace {

// --- C15: four servers, exponential service of 10 ms, 0.32 requests a ms ------------------------

Experiment four_servers(const std::string& router) {
  Experiment e;
  e.rate_per_ms = .32;
  e.requests = 60'000;
  e.max_num_seqs = 1;
  e.cost = {.step = 1, .chunk_token = kTicksPerNs};  // a prompt token takes 1 ns
  e.draw_prompt = exponential(1e7);
  e.replicas = 4;
  e.router = router;
  return e;
}

Estimate sojourn(const Experiment& e) {
  return measure(e, [](const LawRun& run) { return std::vector<double>{run.sojourn_ms()}; })[0];
}

// Each server sees a quarter of the arrivals. By chance they are Poisson: S / (1 - rho) = 50. In
// turn their gaps are Erlang of 4 stages: 32.67. One queue for all would give 17.455 (M/M/4).
constexpr double kRandom = 50.0;
constexpr double kInTurn = 32.67;
constexpr double kOneQueue = 17.455;

TEST_CASE("law C15: random routing is four M/M/1 queues, in turn four E4/M/1 queues") {
  REQUIRE(law_holds("C15 random", kRandom, sojourn(four_servers("random"))));
  REQUIRE(law_holds("C15 round robin", kInTurn, sojourn(four_servers("round_robin"))));
}

TEST_CASE("law C15: the shortest queue is worse than one queue and better than turns") {
  const Estimate shortest = sojourn(four_servers("least_outstanding"));
  const Estimate two = sojourn(four_servers("power_of_two"));
  CHECK(shortest.mean - 4 * shortest.standard_error > kOneQueue);
  CHECK(shortest.mean + 4 * shortest.standard_error < two.mean - 4 * two.standard_error);
  CHECK(two.mean + 4 * two.standard_error < kInTurn);
  // Simulated apart, to about 1 %. Two choices that may be the same replica would give 25.4.
  CHECK(law_holds("C15 join the shortest queue", 19.5, shortest, 0.2));
  CHECK(law_holds("C15 two different choices", 23.26, two, 0.1));
}

TEST_CASE("law C15 refuses slower steps and another router") {
  REQUIRE_FALSE(law_holds("random", kRandom, sojourn(slower(brief(four_servers("random"))))));
  REQUIRE_FALSE(law_holds("random", kRandom, sojourn(brief(four_servers("round_robin")))));
  REQUIRE_FALSE(law_holds("in turn", kInTurn, sojourn(brief(four_servers("power_of_two")))));
}

// --- C14 at the door: at most 20 requests in the fleet, 16 erlang; Erlang B = .06441 ------------

// Four replicas of 20 seats: a request never waits, and its service is its tokens.
Experiment twenty_places() {
  Experiment e;
  e.rate_per_ms = 1.6;
  e.requests = 60'000;
  e.max_num_seqs = 20;
  e.cost = {.step = kMs / 100};
  e.draw_output = exponential(1000);
  e.replicas = 4;
  e.router = "random";
  e.max_in_flight = 20;
  return e;
}

std::vector<Estimate> rejected(const Experiment& e) {
  return measure(e, [](const LawRun& run) {
    double count = 0;
    for (const RequestRecord& record : run.steady()) {
      count += record.outcome == Outcome::rejected ? 1 : 0;
    }
    return std::vector<double>{count / static_cast<double>(run.steady().size())};
  });
}

// A request waits for the step in flight when it comes, and its last step is whole: about one step
// of 1 % of its service, so that the load is up to 1 % more; dB / d(load) is about .021 an erlang.
TEST_CASE("law C14: a fleet that lets in so many loses what Erlang's B says") {
  REQUIRE(law_holds("C14", .06441, rejected(twenty_places())[0], .0035 * .01 * 16));
}

TEST_CASE("law C14 at the door refuses another number of places") {
  Experiment e = brief(twenty_places());
  e.max_in_flight = 21;
  REQUIRE_FALSE(law_holds("C14", .06441, rejected(e)[0], .0035 * .01 * 16));
}

}  // namespace
}  // namespace headroom::laws::fleet_laws_test
