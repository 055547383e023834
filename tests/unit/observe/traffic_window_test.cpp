// What /metrics say of a server's traffic, by hand: reads of a server that answers 12 requests a
// minute.

#include <fmt/format.h>
#include <catch2/catch.hpp>

#include <string>

#include "sim/kernel/errors.hpp"
#include "sim/observe/traffic_window.hpp"

namespace headroom::traffic_window_test {
namespace {

constexpr const char* kLabels = R"({engine="0",model_name="m"})";

std::string histogram(const std::string& name, int requests, int tokens) {
  return fmt::format(
      "{0}_bucket{{engine=\"0\",le=\"+Inf\"}} {1}\n{0}_count{2} {1}\n{0}_sum{2} {3}\n", name,
      requests, kLabels, tokens);
}

struct Page {
  int running = 0;
  int waiting = 0;
  double kv_share = 0;
  int preemptions = 0;
  int ended = 0;  // requests of 100 tokens in and 20 out
  double started = 1000;
};

std::string text_of(const Page& p) {
  return fmt::format(
             "process_start_time_seconds {}\n"
             "vllm:num_requests_running{} {}\nvllm:num_requests_waiting{} {}\n"
             "vllm:kv_cache_usage_perc{} {}\nvllm:num_preemptions_total{} {}\n"
             "vllm:cache_config_info{{block_size=\"16\",num_gpu_blocks=\"1000\"}} 1\n",
             p.started, kLabels, p.running, kLabels, p.waiting, kLabels, p.kv_share, kLabels,
             p.preemptions) +
         histogram("vllm:request_prompt_tokens", p.ended, 100 * p.ended) +
         histogram("vllm:request_generation_tokens", p.ended, 20 * p.ended);
}

void read(TrafficWindow& window, const Page& page, double seconds) {
  window.read(text_of(page), "page", static_cast<TimeNs>(seconds * kNsPerSecondReal));
}

}  // namespace

TEST_CASE("one read says what is there, two say what comes") {
  TrafficWindow window(300 * kNsPerSecond);
  read(window, {.running = 4, .waiting = 1, .kv_share = 0.25, .ended = 10}, 5);
  WatchedTraffic t = window.traffic();
  CHECK(t.seconds == 0);
  CHECK(t.running == 4.0);
  CHECK(t.waiting == 1.0);
  CHECK(t.pool_tokens == 16000.0);
  CHECK(t.engines == 1);
  CHECK_FALSE(t.arrivals_per_s);
  // 12 ended, and 3 more are there than before: 15 came in 60 s.
  read(window, {.running = 6, .waiting = 2, .kv_share = 0.5, .preemptions = 3, .ended = 22}, 65);
  t = window.traffic();
  CHECK(t.seconds == 60);
  CHECK(t.arrivals_per_s == Approx(0.25));
  CHECK(t.preemptions == 3.0);
  REQUIRE(t.prompt.has_value());
  CHECK(t.prompt->requests == 12);
  CHECK(t.prompt->mean() == 100);
  CHECK(t.output->mean() == 20);
  CHECK_FALSE(t.kv_share_per_s);  // two points make a line through any noise
}

TEST_CASE("growth is what stands out of the noise") {
  TrafficWindow line(300 * kNsPerSecond);
  TrafficWindow noise(300 * kNsPerSecond);
  for (int i = 0; i < 6; ++i) {
    read(line, {.running = 1, .kv_share = 0.1 + 0.02 * i}, 10.0 * i);
    // Up and down by turns. Mean 0.2; the slope is -0.3 / 1750 a second, its error 0.1 /
    // sqrt(1750).
    read(noise, {.running = 1, .kv_share = i % 2 == 0 ? 0.3 : 0.1}, 10.0 * i);
  }
  CHECK(line.traffic().kv_share_per_s == Approx(0.002));
  CHECK(noise.traffic().kv_share_per_s == 0.0);
}

TEST_CASE("a window keeps what is young, and begins anew with the process") {
  TrafficWindow window(60 * kNsPerSecond);
  for (int i = 0; i <= 10; ++i) read(window, {.ended = i}, 20.0 * i);
  WatchedTraffic t = window.traffic();
  CHECK(t.reads == 4);  // at 140, 160, 180 and 200 s
  CHECK(t.arrivals_per_s == Approx(0.05));
  CHECK(window.restarts() == 0);
  read(window, {.ended = 50, .started = 2000}, 220);
  CHECK(window.restarts() == 1);
  CHECK(window.traffic().reads == 1);
  read(window, {.ended = 3, .started = 2000}, 240);  // counts fell
  CHECK(window.restarts() == 2);
}

TEST_CASE("an engine that publishes its load alone is followed without a rate") {
  TrafficWindow window(60 * kNsPerSecond);
  for (int i = 0; i < 3; ++i) {
    window.read(fmt::format("sglang:num_running_reqs 5\nsglang:num_queue_reqs {}\n"
                            "sglang:token_usage 0.5\nsglang:num_retracted_reqs 1\n"
                            "sglang:num_retracted_requests_total {}\n",
                            2 * i, 7 + i),
                "page", i * 10 * kNsPerSecond);
  }
  const WatchedTraffic t = window.traffic();
  CHECK(t.preemptions == 2.0);
  CHECK(t.waiting_per_s == Approx(0.2));
  CHECK(t.kv_share == 0.5);
  CHECK_FALSE(t.arrivals_per_s);
  CHECK_FALSE(t.pool_tokens);
}

TEST_CASE("a page without an engine's load is refused") {
  TrafficWindow window(60 * kNsPerSecond);
  CHECK_THROWS_AS(window.read("up 1\n", "page", 0), DataError);
  CHECK_THROWS_AS(window.read("<html>", "page", 0), DataError);
  CHECK(window.engine() == nullptr);
  CHECK(window.traffic().reads == 0);
}

}  // namespace headroom::traffic_window_test
