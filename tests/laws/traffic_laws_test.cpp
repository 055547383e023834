// The laws of synthetic traffic: who is drawn how often, how long pauses are, and that the draws of
// sessions are as independent as those of streams. Each test also refuses a wrong parameter.

#include <algorithm>
#include <boost/math/distributions/gamma.hpp>
#include <boost/math/distributions/lognormal.hpp>
#include <catch2/catch.hpp>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <unordered_map>
#include <vector>

#include "sim/kernel/random.hpp"
#include "tests/laws/statistics.hpp"
#include "workloads/counter_stream.hpp"
#include "workloads/duration_law.hpp"
#include "workloads/shared_texts.hpp"
#include "workloads/traffic_source.hpp"

namespace headroom::laws::traffic_laws_test {
namespace {

constexpr std::uint64_t kSeed = 11;
constexpr std::int64_t kSessions = 100'000;

TrafficOptions traffic() {
  TrafficOptions options;
  options.arrivals.rate_per_s = 10.0;
  options.num_sessions = kSessions;
  options.classes.resize(1);
  return options;
}

// So rare that no two sessions meet.
ArrivalOptions one_by_one() { return {.process = ArrivalProcess::constant, .rate_per_s = 1e-3}; }

LengthOptions uniform_tokens(std::int64_t max) {
  return {.law = LengthLaw::uniform, .min = 1, .max = max};
}

// All requests, each finished as soon as it is sent; `look` sees them before their prefix is gone.
TrafficTotals run(const TrafficOptions& options, const std::function<void(const Arrival&)>& look) {
  TrafficSource source(options, kSeed);
  for (std::uint64_t index = 0; source.next_time() != kNever; ++index) {
    const Arrival arrival = source.take();
    look(arrival);
    source.on_done(index, Outcome::finished, arrival.time_ns);
  }
  return source.totals();
}

bool agree(const std::vector<double>& observed, const std::vector<double>& weights) {
  double sum = 0.0;
  double count = 0.0;
  for (const double weight : weights) sum += weight;
  for (const double number : observed) count += number;
  std::vector<double> expected;
  for (const double weight : weights) expected.push_back(count * weight / sum);
  return chi_square(observed, expected) < chi_square_critical(observed.size() - 1);
}

// --- popularity ---------------------------------------------------------------------------------

constexpr std::int64_t kDocuments = 50'000;

// Items 1 to 16 alone, then each bin 1.3 times as wide as the one before: the last ones lie far
// behind the table of the first 4096.
std::vector<std::int64_t> last_items() {
  std::vector<std::int64_t> ends;
  for (std::int64_t item = 1; item <= 16; ++item) ends.push_back(item);
  while (ends.back() < kDocuments) {
    ends.push_back(std::min(kDocuments, ends.back() + ends.back() * 3 / 10));
  }
  return ends;
}

std::vector<double> popularity_weights(double exponent) {
  std::vector<double> weights;
  std::int64_t item = 1;
  for (const std::int64_t end : last_items()) {
    double sum = 0.0;
    for (; item <= end; ++item) sum += std::pow(static_cast<double>(item), -exponent);
    weights.push_back(sum);
  }
  return weights;
}

std::vector<double> document_counts(double exponent) {
  TrafficOptions options = traffic();
  SharedTextOptions& documents = options.classes[0].documents;
  documents = {.count = kDocuments, .exponent = exponent};
  const SharedTexts texts(
      documents,
      {.option = "documents", .lengths = "lengths/document", .identities = "identities/document"},
      kSeed, "");
  std::unordered_map<std::uint64_t, std::int64_t> items;
  for (std::int64_t item = 1; item <= kDocuments; ++item) items[texts.text(item).id] = item;
  const std::vector<std::int64_t> ends = last_items();
  std::vector<double> counts(ends.size(), 0.0);
  run(options, [&](const Arrival& arrival) {
    const auto bin = std::ranges::lower_bound(ends, items.at(arrival.prefix[0].id));
    counts[static_cast<std::size_t>(bin - ends.begin())] += 1.0;
  });
  return counts;
}

TEST_CASE("law: documents are as popular as their power says") {
  for (const double exponent : {0.0, 0.8, 1.0, 1.2}) {
    CAPTURE(exponent);
    const std::vector<double> counts = document_counts(exponent);
    CHECK(agree(counts, popularity_weights(exponent)));
    CHECK_FALSE(agree(counts, popularity_weights(exponent + 0.03)));
  }
}

TEST_CASE("law: a share of the sessions begins with a shared text") {
  TrafficOptions options = traffic();
  options.classes[0].system_prompts = {.count = 3, .share = 0.3};
  std::vector<double> with_prompt;
  run(options, [&](const Arrival& a) { with_prompt.push_back(a.prefix.empty() ? 0.0 : 1.0); });
  CHECK(estimate(with_prompt).agrees_with(0.3));
  CHECK_FALSE(estimate(with_prompt).agrees_with(0.31));
}

// --- classes ------------------------------------------------------------------------------------

std::vector<double> class_counts(bool closed) {
  TrafficOptions options = traffic();
  options.classes.resize(3);
  const double shares[] = {5.0, 3.0, 2.0};
  for (std::int32_t i = 0; i < 3; ++i) {
    TrafficClass& one = options.classes[static_cast<std::size_t>(i)];
    one.name = std::string(1, static_cast<char>('a' + i));
    one.class_id = i;
    one.share = shares[i];
  }
  if (closed) {
    options.closed_loop = ClosedLoopOptions{.users = 30};
    options.closed_loop->think_time = {.law = DurationLaw::exponential, .mean_s = 1.0};
  }
  std::vector<double> counts(3, 0.0);
  run(options, [&](const Arrival& a) { counts[static_cast<std::size_t>(a.class_id)] += 1.0; });
  return counts;
}

TEST_CASE("law: sessions are of the classes in their shares") {
  for (const bool closed : {false, true}) {
    const std::vector<double> counts = class_counts(closed);
    CHECK(agree(counts, {5.0, 3.0, 2.0}));
    CHECK_FALSE(agree(counts, {5.0, 3.0, 2.1}));
  }
}

// --- durations ----------------------------------------------------------------------------------

std::vector<double> seconds(const DurationOptions& options) {
  const DurationQuantile quantile(options, "time");
  const CounterStream stream(kSeed, "durations");
  std::vector<double> all;
  for (std::uint64_t place = 0; place < 50'000; ++place) {
    all.push_back(static_cast<double>(quantile(stream.bits(place))) / 1e9);
  }
  return all;
}

Distribution exponential_law(double mean_s) {
  return [mean_s](double x) { return -std::expm1(-x / mean_s); };
}
Distribution uniform_law(double low, double high) {
  return [=](double x) { return std::clamp((x - low) / (high - low), 0.0, 1.0); };
}
Distribution lognormal_law(double mean_s, double sigma) {
  const boost::math::lognormal law(std::log(mean_s) - sigma * sigma / 2.0, sigma);
  return [law](double x) { return boost::math::cdf(law, x); };
}
Distribution gamma_law(double mean_s, double shape) {
  const boost::math::gamma_distribution<> law(shape, mean_s / shape);
  return [law](double x) { return boost::math::cdf(law, x); };
}

void follows(const DurationOptions& options, const Distribution& law, const Distribution& wrong) {
  const std::vector<double> all = seconds(options);
  CHECK(kolmogorov(all, law) < kKolmogorovCritical);
  CHECK(kolmogorov(all, wrong) > kKolmogorovCritical);
}

TEST_CASE("law: durations follow their distributions") {
  follows({.law = DurationLaw::uniform, .min_s = 2.0, .max_s = 5.0}, uniform_law(2.0, 5.0),
          uniform_law(2.0, 5.05));
  follows({.law = DurationLaw::exponential, .mean_s = 10.0}, exponential_law(10.0),
          exponential_law(10.3));
  follows({.law = DurationLaw::lognormal, .mean_s = 10.0, .sigma = 0.8}, lognormal_law(10.0, 0.8),
          lognormal_law(10.0, 0.82));
  follows({.law = DurationLaw::gamma, .mean_s = 10.0, .shape = 0.5}, gamma_law(10.0, 0.5),
          gamma_law(10.0, 0.52));
  CHECK(estimate(seconds({.law = DurationLaw::lognormal, .mean_s = 10.0})).agrees_with(10.0));
  CHECK(estimate(seconds({.law = DurationLaw::gamma, .mean_s = 10.0})).agrees_with(10.0));
}

// Pauses of sessions of two turns, or of users between their sessions.
std::vector<double> pauses(bool users) {
  const DurationOptions time{.law = DurationLaw::exponential, .mean_s = 10.0};
  TrafficOptions options = traffic();
  options.num_sessions = 30'000;
  if (users) {
    options.closed_loop = ClosedLoopOptions{.users = 1, .think_time = time};
  } else {
    options.arrivals = one_by_one();
    options.classes[0].sessions = {.turns = {.tokens = 2}, .think_time = time};
  }
  std::vector<double> all;
  TimeNs before = 0;
  std::int64_t number = 0;
  run(options, [&](const Arrival& arrival) {
    const bool pauses_before = users ? number > 0 : number % 2 == 1;
    if (pauses_before) all.push_back(static_cast<double>(arrival.time_ns - before) / 1e9);
    before = arrival.time_ns;
    ++number;
  });
  return all;
}

TEST_CASE("law: users and sessions think as their law says") {
  for (const bool users : {false, true}) {
    const std::vector<double> all = pauses(users);
    CHECK(all.size() >= 29'999);
    CHECK(kolmogorov(all, exponential_law(10.0)) < kKolmogorovCritical);
    CHECK(kolmogorov(all, exponential_law(10.3)) > kKolmogorovCritical);
  }
}

// Of two-turn sessions: half of the pauses are tools', the others an hour.
std::vector<double> tool_seconds() {
  TrafficOptions options = traffic();
  options.num_sessions = 30'000;
  options.arrivals = {.process = ArrivalProcess::constant, .rate_per_s = 1e-4};
  SessionOptions& sessions = options.classes[0].sessions;
  sessions = {.turns = {.tokens = 2}, .think_time = {.mean_s = 3600.0}, .tool_share = 0.5};
  sessions.tool_time = {.law = DurationLaw::exponential, .mean_s = 10.0};
  std::vector<double> all;
  TimeNs before = 0;
  std::int64_t number = 0;
  run(options, [&](const Arrival& arrival) {
    const double pause_s = static_cast<double>(arrival.time_ns - before) / 1e9;
    if (number++ % 2 == 1 && pause_s != 3600.0) all.push_back(pause_s);
    before = arrival.time_ns;
  });
  return all;
}

TEST_CASE("law: how long a tool runs does not depend on whether one runs") {
  const std::vector<double> all = tool_seconds();
  CHECK(kolmogorov(all, exponential_law(10.0)) < kKolmogorovCritical);
  CHECK(kolmogorov(all, exponential_law(10.4)) > kKolmogorovCritical);
}

// --- sessions' own streams ----------------------------------------------------------------------

struct Said {
  std::vector<std::int32_t> first, second, output;  // texts of turns 1 and 2, output of turn 1
};
Said said(double correlation) {
  TrafficOptions options = traffic();
  options.num_sessions = 40'000;
  options.arrivals = one_by_one();
  TrafficClass& one = options.classes[0];
  one.sessions = {.turns = {.tokens = 2}, .keeps_history = false};
  one.prompt = uniform_tokens(1000);
  one.output = uniform_tokens(1000);
  one.length_correlation = correlation;
  Said all;
  run(options, [&](const Arrival& arrival) {
    const bool is_first = all.first.size() == all.second.size();
    (is_first ? all.first : all.second).push_back(arrival.prompt_tokens);
    if (is_first) all.output.push_back(arrival.output_tokens);
  });
  return all;
}

// Ranks of n independent pairs have a correlation of standard deviation 1 / sqrt(n - 1).
bool independent(std::span<const std::int32_t> a, std::span<const std::int32_t> b) {
  return std::abs(rank_correlation(a, b)) < 4.0 / std::sqrt(static_cast<double>(a.size() - 1));
}

TEST_CASE("law: turns, variables and neighbouring sessions are drawn independently") {
  const Said all = said(0.0);
  const std::span first(all.first);
  CHECK(independent(first, all.second));
  CHECK(independent(first, all.output));
  CHECK(independent(first.subspan(1), first.first(first.size() - 1)));
  CHECK_FALSE(independent(said(0.05).first, said(0.05).output));
}

TEST_CASE("law: lengths drawn from sessions' streams have the probabilities of their law") {
  for (const std::vector<std::int32_t>& texts : {said(0.0).first, said(0.0).second}) {
    std::vector<double> counts(100, 0.0);
    for (const std::int32_t tokens : texts) {
      counts[static_cast<std::size_t>((tokens - 1) / 10)] += 1.0;
    }
    std::vector<double> weights(100, 1.0);
    CHECK(agree(counts, weights));
    for (std::size_t i = 0; i < 50; ++i) weights[i] = 1.15;
    CHECK_FALSE(agree(counts, weights));
  }
}

TEST_CASE("law: sessions have the turns, and tools run in the share, that their laws say") {
  TrafficOptions options = traffic();
  options.num_sessions = 20'000;
  SessionOptions& sessions = options.classes[0].sessions;
  sessions.turns = {.law = LengthLaw::geometric, .mean = 4.0};
  sessions.tool_share = 0.6;
  std::vector<double> turns(20'000, 0.0);
  const TrafficTotals totals = run(options, [&](const Arrival& a) { turns[a.session] += 1.0; });
  CHECK(estimate(turns).agrees_with(4.0));
  CHECK_FALSE(estimate(turns).agrees_with(4.2));
  std::vector<double> tools(static_cast<std::size_t>(totals.tool_pauses), 1.0);
  tools.resize(tools.size() + static_cast<std::size_t>(totals.think_pauses), 0.0);
  CHECK(totals.tool_pauses + totals.think_pauses == totals.turns_sent - 20'000);
  CHECK(estimate(tools).agrees_with(0.6));
  CHECK_FALSE(estimate(tools).agrees_with(0.62));
}

}  // namespace
}  // namespace headroom::laws::traffic_laws_test
