#include "workloads/servegen.hpp"

#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "sim/kernel/errors.hpp"
#include "tests/support/temp_folder.hpp"
#include "tests/unit/workloads/trace_rows.hpp"

namespace headroom::servegen_test {
namespace {

constexpr TimeNs kWindowNs = 600 * kNsPerSecond;

const std::shared_ptr<const ServeGenPools>& sample_pools() {
  static const auto pools = std::make_shared<const ServeGenPools>(trace_rows::sample("servegen"));
  return pools;
}

std::vector<ServeGenRequest> all_of(ServeGenStream stream) {
  std::vector<ServeGenRequest> requests;
  while (stream.next_time() != kNever) requests.push_back(stream.take());
  return requests;
}

std::vector<ServeGenRequest> drawn(const ServeGenOptions& options = {}, std::uint64_t seed = 1) {
  return all_of(ServeGenStream(sample_pools(), options, seed));
}

bool equal(const ServeGenRequest& a, const ServeGenRequest& b) {
  return a.time_ns == b.time_ns && a.prompt_tokens == b.prompt_tokens &&
         a.output_tokens == b.output_tokens && a.thinking_tokens == b.thinking_tokens &&
         a.media_tokens == b.media_tokens && a.client == b.client;
}

// A pool of one client with one window, whose gaps are of this law; 60,000 requests.
std::vector<double> gaps_of(const std::string& law) {
  const TempFolder folder;
  folder.write("chunk-0-trace.csv", "0,100,1," + law + ",1\n");
  folder.write("chunk-0-dataset.json",
               R"({"0": {"input_tokens": "{1: 1}", "output_tokens": "{1: 1}"}})");
  const auto pools = std::make_shared<ServeGenPools>(folder.path());
  std::vector<double> gaps;
  TimeNs previous_ns = 0;
  for (const ServeGenRequest& request : all_of(ServeGenStream(pools, {}, 5))) {
    gaps.push_back(static_cast<double>(request.time_ns - previous_ns));
    previous_ns = request.time_ns;
  }
  return gaps;
}

// Coefficient of variation.
double variation(const std::vector<double>& values) {
  double sum = 0.0;
  double squares = 0.0;
  for (const double value : values) {
    sum += value;
    squares += value * value;
  }
  const auto count = static_cast<double>(values.size());
  return std::sqrt(squares / count - sum / count * sum / count) / (sum / count);
}

std::string config_error(const ServeGenOptions& options) {
  try {
    static_cast<void>(drawn(options));
  } catch (const ConfigError& error) {
    return error.what();
  }
  return "no error";
}

TEST_CASE("each window of a ServeGen client has as many requests as expected", "[workloads]") {
  std::map<std::pair<std::int64_t, std::int64_t>, int> counts;  // by client and window
  for (const ServeGenRequest& request : drawn()) {
    ++counts[{request.client, request.time_ns / kWindowNs * 600}];
  }
  // 600 s at 0.05, 0.02 and 0.03 requests/s; at 0.0125 it is 7.5. Idle windows have none.
  CHECK(counts[{7, 600}] == 30);
  CHECK(counts[{7, 1200}] == 12);
  CHECK(counts[{12, 0}] == 18);
  CHECK((counts[{12, 600}] == 7 || counts[{12, 600}] == 8));
  CHECK(counts.size() == 4);
}

TEST_CASE("ServeGen requests come in order of time", "[workloads]") {
  const std::vector<ServeGenRequest> requests = drawn();
  CHECK(std::ranges::is_sorted(requests, {}, &ServeGenRequest::time_ns));
  CHECK(requests.front().time_ns >= 0);
  CHECK(requests.back().time_ns < 1800 * kNsPerSecond);
}

TEST_CASE("requests of a ServeGen window without lengths are left out and counted", "[workloads]") {
  ServeGenStream stream(sample_pools(), {}, 1);
  while (stream.next_time() != kNever) static_cast<void>(stream.take());
  CHECK(stream.skipped().windows == 1);
  CHECK(stream.skipped().requests == 6);  // 600 s at 0.01 requests/s
}

TEST_CASE("one draw of a ServeGen request drives all its lengths", "[workloads]") {
  int long_ones = 0;
  for (const ServeGenRequest& request : drawn()) {
    if (request.client != 7 || request.time_ns >= 1200 * kNsPerSecond) continue;
    // Prompts 10, 20, 400 from 0, 1/4, 3/4 on; outputs 8 and 80 from 0 and 1/2 on.
    CHECK((request.prompt_tokens == 10 || request.prompt_tokens == 20 ||
           request.prompt_tokens == 400));
    if (request.prompt_tokens == 10) CHECK(request.output_tokens == 8);
    if (request.prompt_tokens == 400) CHECK(request.output_tokens == 80);
    // Bins 0 and 3 of 5 are the shares 0 and 3/4, from 0 and 1/2 on.
    CHECK(request.thinking_tokens == (request.output_tokens == 80 ? 60 : 0));
    long_ones += request.prompt_tokens == 400 ? 1 : 0;
  }
  CHECK(long_ones > 0);
}

TEST_CASE("lengths of a ServeGen request are those of the window of its arrival", "[workloads]") {
  for (const ServeGenRequest& request : drawn()) {
    if (request.client != 7 || request.time_ns < 1200 * kNsPerSecond) continue;
    CHECK(request.prompt_tokens == 5);
    CHECK(request.output_tokens == 6);
    CHECK(request.thinking_tokens == 6);  // bin 4 of 5: all
  }
}

TEST_CASE("images are part of a ServeGen prompt, each with its own length", "[workloads]") {
  int mixed = 0;
  // 50 days: two images of 64 and 256 tokens come in 3/8 of the half that has images.
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    for (const ServeGenRequest& request : drawn({}, seed)) {
      if (request.client != 12) continue;
      const std::int32_t media = request.media_tokens;
      CHECK((media == 0 || media == 128 || media == 320 || media == 512));
      const std::int32_t text = request.prompt_tokens - media;
      CHECK((text == 40 || text == 0 || (text == 1 && media == 0)));
      CHECK((request.output_tokens == 1 || request.output_tokens == 30));
      mixed += media == 320 ? 1 : 0;
    }
  }
  CHECK(mixed > 0);
}

TEST_CASE("ServeGen lengths of zero become one and are counted", "[workloads]") {
  ServeGenStream stream(sample_pools(), {}, 1);
  int ones = 0;
  while (stream.next_time() != kNever) {
    const ServeGenRequest request = stream.take();
    ones += request.output_tokens == 1 || request.prompt_tokens == 1 ? 1 : 0;
  }
  CHECK(ones > 0);
  CHECK(stream.skipped().clamped == ones);
}

TEST_CASE("a seed draws the same ServeGen requests again, another one others", "[workloads]") {
  CHECK(std::ranges::equal(drawn({}, 3), drawn({}, 3), equal));
  CHECK_FALSE(std::ranges::equal(drawn({}, 3), drawn({}, 4), equal));
}

TEST_CASE("a ServeGen client draws the same without the others", "[workloads]") {
  const TempFolder folder;
  for (const std::string name : {"chunk-7-trace.csv", "chunk-7-dataset.json"}) {
    folder.write(name, trace_rows::bytes_of(trace_rows::sample("servegen/" + name)));
  }
  std::vector<ServeGenRequest> of_all = drawn();
  std::erase_if(of_all, [](const ServeGenRequest& request) { return request.client != 7; });
  CHECK(std::ranges::equal(
      all_of(ServeGenStream(std::make_shared<ServeGenPools>(folder.path()), {}, 1)), of_all,
      equal));
}

TEST_CASE("a range of a ServeGen pool keeps what falls into it, from time 0", "[workloads]") {
  const TimeNs from_ns = 900 * kNsPerSecond;
  const TimeNs to_ns = 1100 * kNsPerSecond;
  std::vector<ServeGenRequest> expected;
  for (ServeGenRequest request : drawn()) {
    // Client 7 is idle before the range's first window, so its draws are the same.
    if (request.client != 7 || request.time_ns < from_ns || request.time_ns >= to_ns) continue;
    request.time_ns -= from_ns;
    expected.push_back(request);
  }
  std::vector<ServeGenRequest> requests = drawn({.from_ns = from_ns, .to_ns = to_ns});
  std::erase_if(requests, [](const ServeGenRequest& request) { return request.client != 7; });
  CHECK(!expected.empty());
  CHECK(std::ranges::equal(requests, expected, equal));
}

TEST_CASE("a scaled ServeGen rate is right in the mean", "[workloads]") {
  // Per run a tenth of 30, 12, 18 and 7.5: 6.75. Fractions 0, 0.2, 0.8, 0.75 have the variances 0,
  // 0.16, 0.16, 0.1875: over 400 runs 2700 with a standard deviation of 14.3. Rounding up would
  // make 3 + 2 + 2 + 1 per run: 3200.
  std::size_t requests = 0;
  for (std::uint64_t seed = 0; seed < 400; ++seed) {
    requests += drawn({.rate_scale = 0.1}, seed).size();
  }
  CHECK(requests > 2700 - 58);
  CHECK(requests < 2700 + 58);
}

TEST_CASE("the gaps of a ServeGen window have its law", "[workloads]") {
  // Coefficient of variation: gamma 1/sqrt(shape); Weibull of shape 0.8 sqrt(G(3.5)/G(2.25)^2 - 1)
  // with the gamma function's values 3.32335 and 1.13300. The estimates' errors are below 2 %.
  const std::vector<double> gamma = gaps_of("Gamma,0.25");
  CHECK(gamma.size() == 60'000);
  CHECK(variation(gamma) == Approx(2.0).epsilon(0.03));
  CHECK(variation(gaps_of("Weibull,0.8")) == Approx(1.2605).epsilon(0.03));
  CHECK(variation(gaps_of("Weibull,1")) == Approx(1.0).epsilon(0.03));
  CHECK_FALSE(variation(gaps_of("Gamma,0.3")) == Approx(2.0).epsilon(0.03));
}

TEST_CASE("gaps that are next to nothing are equal", "[workloads]") {
  const TempFolder folder;
  folder.write("chunk-0-trace.csv", "0,0.005,1,Gamma,0.001,1\n");
  folder.write("chunk-0-dataset.json",
               R"({"0": {"input_tokens": "{1: 1}", "output_tokens": "{1: 1}"}})");
  const auto pools = std::make_shared<ServeGenPools>(folder.path());
  bool equal_gaps = false;
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    const std::vector<ServeGenRequest> requests = all_of(ServeGenStream(pools, {}, seed));
    REQUIRE(requests.size() == 3);
    CHECK(requests[2].time_ns < kWindowNs);
    equal_gaps = equal_gaps || requests[2].time_ns - requests[1].time_ns == 200 * kNsPerSecond;
  }
  CHECK(equal_gaps);
}

TEST_CASE("a ServeGen client holds one window at a time", "[workloads]") {
  const auto& pools = sample_pools();
  ServeGenClientStream client(pools->clients()[0], {}, 1);
  std::size_t requests = 0;
  std::size_t most = 0;
  while (client.next_time() != kNever) {
    most = std::max(most, client.held());
    static_cast<void>(client.take());
    ++requests;
  }
  CHECK(requests == 42);
  CHECK(most == 30);
}

TEST_CASE("options of a ServeGen workload out of range are refused", "[workloads]") {
  CHECK(config_error({.rate_scale = 0.0}) ==
        "servegen: the rate scale is 0; allowed: 0.000001 .. 1000000");
  CHECK(config_error({.rate_scale = std::nan("")}) ==
        "servegen: the rate scale is nan; allowed: 0.000001 .. 1000000");
  CHECK(config_error({.from_ns = 2400 * kNsPerSecond}) ==
        "servegen: the range is 2400 s to the end; allowed: a range of at least 1 ns that begins "
        "in 0 .. 2400 s, before the end of the pools");
  CHECK(config_error({.from_ns = 5, .to_ns = 5}).starts_with("servegen: the range is"));
  CHECK(config_error({.from_ns = -1}).starts_with("servegen: the range is"));
  CHECK(config_error({.rate_scale = 1e6}) ==
        "servegen: with the rate scale 1000000 client 7 has more than 20000000 requests in the "
        "window of 600 s at 600 s");
}

TEST_CASE("a ServeGen pool is a workload", "[workloads]") {
  const MaxTokensOptions max_tokens{.rule = MaxTokensRule::value, .value = 50};
  ServeGenSource source(sample_pools(), {.max_tokens = max_tokens, .num_requests = 40}, 1);
  const std::vector<ServeGenRequest> expected = drawn();
  for (std::size_t i = 0; i < 40; ++i) {
    CHECK(source.next_time() == expected[i].time_ns);
    const Arrival arrival = source.take();
    CHECK(arrival.time_ns == expected[i].time_ns);
    CHECK(arrival.prompt_tokens == expected[i].prompt_tokens);
    CHECK(arrival.output_tokens == std::min(expected[i].output_tokens, 50));
    CHECK(arrival.max_tokens == 50);
    CHECK(arrival.class_id == 0);
    CHECK(arrival.session == kNoSession);
  }
  CHECK(source.next_time() == kNever);
  CHECK(source.outputs_cut() > 0);
  CHECK_THROWS_AS(ServeGenSource(sample_pools(), {.num_requests = -1}, 1), ConfigError);
}

}  // namespace
}  // namespace headroom::servegen_test
