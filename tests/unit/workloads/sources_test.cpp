#include <catch2/catch.hpp>
#include <memory>
#include <string>
#include <vector>

#include "sim/kernel/check.hpp"
#include "sim/kernel/errors.hpp"
#include "workloads/synthetic_source.hpp"
#include "workloads/trace_source.hpp"

namespace headroom::sources_test {
namespace {

SyntheticOptions chat(std::int64_t num_requests) {
  SyntheticOptions options;
  options.arrivals.rate_per_s = 5.0;
  options.prompt = {.law = LengthLaw::lognormal, .median = 1020.0, .sigma = 0.77};
  options.output = {.law = LengthLaw::lognormal, .median = 129.0, .sigma = 0.93};
  options.num_requests = num_requests;
  return options;
}

std::string text(const Arrival& a) {
  return std::to_string(a.time_ns) + ' ' + std::to_string(a.prompt_tokens) + ' ' +
         std::to_string(a.output_tokens) + ' ' + std::to_string(a.max_tokens) + ' ' +
         std::to_string(a.class_id);
}

std::vector<std::string> take_all(WorkloadSource& source) {
  std::vector<std::string> all;
  while (source.next_time() != kNever) all.push_back(text(source.take()));
  return all;
}

// As a run does it: time looked at again and again, requests finishing in between.
std::vector<std::string> interleave(WorkloadSource& source) {
  std::vector<std::string> all;
  while (source.next_time() != kNever) {
    const TimeNs announced = source.next_time();
    const Arrival arrival = source.take();
    CHECK(arrival.time_ns == announced);
    all.push_back(text(arrival));
    const std::uint64_t index = all.size() - 1;
    if (index % 3 == 0) {
      source.on_done(index / 2, Outcome::finished, arrival.time_ns);
    }
  }
  CHECK(source.next_time() == kNever);
  return all;
}

std::shared_ptr<const Trace> small_trace() {
  auto trace = std::make_shared<Trace>();
  trace->rows = {{.time_ns = 0, .prompt_tokens = 10, .output_tokens = 5},
                 {.time_ns = 0, .prompt_tokens = 20, .output_tokens = 500},
                 {.time_ns = 7, .prompt_tokens = 30, .output_tokens = 6}};
  return trace;
}

// The field with this number of all requests.
std::vector<std::int64_t> column(const SyntheticOptions& options, int field) {
  SyntheticSource source(options, 9);
  std::vector<std::int64_t> all;
  while (source.next_time() != kNever) {
    const Arrival a = source.take();
    all.push_back(field == 0 ? a.time_ns : field == 1 ? a.prompt_tokens : a.output_tokens);
  }
  return all;
}

}  // namespace

TEST_CASE("taking all requests first gives what interleaving gives", "[workloads]") {
  for (const auto process :
       {ArrivalProcess::poisson, ArrivalProcess::gamma, ArrivalProcess::vllm_bench}) {
    SyntheticOptions options = chat(1000);  // three full batches and a part of one
    options.arrivals.process = process;
    SyntheticSource eager(options, 3);
    SyntheticSource lazy(options, 3);
    const std::vector<std::string> all = take_all(eager);
    CHECK(all.size() == 1000);
    CHECK(all == interleave(lazy));
  }
  TraceSource eager(small_trace(), {});
  TraceSource lazy(small_trace(), {});
  CHECK(take_all(eager) == interleave(lazy));
}

TEST_CASE("a longer workload begins with the shorter one", "[workloads]") {
  SyntheticSource shorter(chat(300), 3);
  SyntheticSource longer(chat(600), 3);
  const std::vector<std::string> few = take_all(shorter);
  std::vector<std::string> many = take_all(longer);
  many.resize(300);
  CHECK(few == many);
}

TEST_CASE("changing one law leaves what the other streams draw", "[workloads]") {
  const SyntheticOptions base = chat(500);
  SyntheticOptions changed = base;
  changed.arrivals = {.process = ArrivalProcess::gamma, .rate_per_s = 5.0, .burstiness = 0.3};
  CHECK(column(changed, 0) != column(base, 0));
  CHECK(column(changed, 1) == column(base, 1));
  CHECK(column(changed, 2) == column(base, 2));
  changed = base;
  changed.prompt = {.law = LengthLaw::fixed, .tokens = 8};
  CHECK(column(changed, 0) == column(base, 0));
  CHECK(column(changed, 2) == column(base, 2));
  changed = base;
  changed.output = {.law = LengthLaw::uniform, .min = 1, .max = 9};
  CHECK(column(changed, 0) == column(base, 0));
  CHECK(column(changed, 1) == column(base, 1));
}

TEST_CASE("prompt and output lengths are not correlated unless they are joint", "[workloads]") {
  SyntheticOptions options = chat(1000);
  options.prompt = {.law = LengthLaw::empirical, .values = {1, 2, 3, 4}};
  options.output = {.law = LengthLaw::empirical, .values = {1, 2, 3, 4}};
  CHECK(column(options, 1) != column(options, 2));
  options.joint_lengths = true;
  CHECK(column(options, 1) == column(options, 2));
  options.output.values = {1, 2, 3};
  CHECK_THROWS_MATCHES(
      SyntheticSource(options, 1), ConfigError,
      Catch::Message(
          "joint_lengths needs two empirical laws with equally many values and the same weights"));
}

TEST_CASE("a source without a number of requests has no end", "[workloads]") {
  SyntheticOptions options = chat(1);
  options.num_requests.reset();
  SyntheticSource source(options, 1);
  for (int i = 0; i < 10'000; ++i) static_cast<void>(source.take());
  CHECK(source.next_time() != kNever);
}

TEST_CASE("no request is taken from a source that has ended", "[workloads]") {
  SyntheticSource synthetic(chat(0), 1);
  CHECK(synthetic.next_time() == kNever);
  CHECK_THROWS_AS(synthetic.take(), InternalError);
  TraceSource trace(small_trace(), {.num_requests = 0});
  CHECK(trace.next_time() == kNever);
  CHECK_THROWS_AS(trace.take(), InternalError);
}

TEST_CASE("a trace source gives the first rows, with declared max_tokens", "[workloads]") {
  TraceSource source(small_trace(), {.num_requests = 2,
                                     .max_tokens = {.rule = MaxTokensRule::value, .value = 100},
                                     .class_id = 4});
  CHECK(take_all(source) == std::vector<std::string>{"0 10 5 100 4", "0 20 100 100 4"});
  CHECK(source.outputs_cut() == 1);
}

TEST_CASE("outputs that are cut count when they are taken", "[workloads]") {
  SyntheticOptions options = chat(100);
  options.output = {.law = LengthLaw::fixed, .tokens = 50};
  options.max_tokens = {.rule = MaxTokensRule::value, .value = 20};
  SyntheticSource source(options, 1);
  CHECK(source.next_time() != kNever);
  CHECK(source.outputs_cut() == 0);
  CHECK(source.take().output_tokens == 20);
  CHECK(source.outputs_cut() == 1);
}

TEST_CASE("source options out of range are refused", "[workloads]") {
  CHECK_THROWS_MATCHES(SyntheticSource(chat(-1), 1), ConfigError,
                       Catch::Message("num_requests is -1; allowed: 0 or more"));
  CHECK_THROWS_MATCHES(TraceSource(small_trace(), {.num_requests = -1}), ConfigError,
                       Catch::Message("num_requests is -1; allowed: 0 or more"));
  TraceSourceOptions options{.class_id = 1};
  options.max_tokens = {.rule = MaxTokensRule::per_class, .per_class = {5}};
  CHECK_THROWS_MATCHES(TraceSource(small_trace(), options), ConfigError,
                       Catch::Message("max_tokens: per_class has no value for class 1; it has 1"));
}

}  // namespace headroom::sources_test
