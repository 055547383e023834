// Every option of synthetic traffic that is out of range is refused by its name.

#include <catch2/catch.hpp>
#include <functional>
#include <limits>
#include <string>

#include "sim/kernel/errors.hpp"
#include "tests/unit/workloads/traffic_text.hpp"
#include "workloads/traffic_source.hpp"

namespace headroom::test::traffic_errors_test {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kInfinity = std::numeric_limits<double>::infinity();

using Change = std::function<void(TrafficOptions&)>;

void refuses(const std::string& message, const Change& change) {
  TrafficOptions options = sessions(10);
  change(options);
  CHECK_THROWS_MATCHES(TrafficSource(options, 1), ConfigError, Catch::Message(message));
}

// As the only class's.
void refuses_class(const std::string& message, const std::function<void(TrafficClass&)>& change) {
  refuses(message, [&](TrafficOptions& o) { change(o.classes[0]); });
}

void refuses_time(const std::string& message, const DurationOptions& time) {
  refuses_class("sessions/think_time: " + message,
                [&](TrafficClass& c) { c.sessions.think_time = time; });
}

void add_class(TrafficOptions& options, const std::string& first, const std::string& second) {
  options.classes.push_back(options.classes[0]);
  options.classes[0].name = first;
  options.classes[1].name = second;
}

}  // namespace

TEST_CASE("traffic that is right is taken", "[workloads]") {
  CHECK_NOTHROW(TrafficSource(sessions(10), 1));
}

TEST_CASE("classes out of range are refused", "[workloads]") {
  refuses("classes: none; allowed: one or more", [](TrafficOptions& o) { o.classes.clear(); });
  refuses("classes: two are named 'a'", [](TrafficOptions& o) { add_class(o, "a", "a"); });
  refuses("classes: one has no name; with several classes each needs a name",
          [](TrafficOptions& o) { add_class(o, "a", ""); });
  refuses_class("classes: class_id of '' is -1; allowed: 0 .. 254",
                [](TrafficClass& c) { c.class_id = -1; });
  refuses_class("classes: class_id of '' is 255; allowed: 0 .. 254",
                [](TrafficClass& c) { c.class_id = 255; });
  for (const auto& [share, shown] : {std::pair{0.0, "0"},
                                     {-1.0, "-1"},
                                     {kNan, "nan"},
                                     {kInfinity, "inf"},
                                     {2e9, "2000000000"}}) {
    refuses_class(
        "classes: share of '' is " + std::string(shown) + "; allowed: above 0, at most 1000000000",
        [value = share](TrafficClass& c) { c.share = value; });
  }
  refuses("b/lengths/prompt: tokens is 0; allowed: 1 .. 2147483647 tokens", [](TrafficOptions& o) {
    add_class(o, "a", "b");
    o.classes[1].prompt = fixed_tokens(0);
  });
  refuses("max_tokens: per_class has no value for class 3; it has 1", [](TrafficOptions& o) {
    o.classes[0].class_id = 3;
    o.max_tokens = {.rule = MaxTokensRule::per_class, .per_class = {5}};
  });
}

TEST_CASE("lengths out of range are refused", "[workloads]") {
  refuses_class("lengths/prompt: tokens is 0; allowed: 1 .. 2147483647 tokens",
                [](TrafficClass& c) { c.prompt = fixed_tokens(0); });
  refuses_class("lengths/output: tokens is -1; allowed: 1 .. 2147483647 tokens",
                [](TrafficClass& c) { c.output = fixed_tokens(-1); });
  refuses_class("sessions/turns: tokens is 0; allowed: 1 .. 2147483647 tokens",
                [](TrafficClass& c) { c.sessions.turns = fixed_tokens(0); });
  refuses_class("lengths: the correlation is 1.5; allowed: -1 .. 1",
                [](TrafficClass& c) { c.length_correlation = 1.5; });
  refuses_class("lengths: the correlation is nan; allowed: -1 .. 1",
                [](TrafficClass& c) { c.length_correlation = kNan; });
  refuses_class(
      "joint_lengths needs two empirical laws with equally many values and the same weights",
      [](TrafficClass& c) { c.joint_lengths = true; });
  refuses_class(
      "lengths: the correlation is 0.5; joint_lengths allows only 0, because the table's rows set "
      "the correlation",
      [](TrafficClass& c) {
        c.prompt = {.law = LengthLaw::empirical, .values = {1, 2}};
        c.output = c.prompt;
        c.joint_lengths = true;
        c.length_correlation = 0.5;
      });
}

TEST_CASE("shared texts out of range are refused", "[workloads]") {
  refuses_class("system_prompts: count is -1; allowed: 0 .. 10000000",
                [](TrafficClass& c) { c.system_prompts.count = -1; });
  refuses_class("documents: count is 10000001; allowed: 0 .. 10000000",
                [](TrafficClass& c) { c.documents.count = 10'000'001; });
  refuses_class("documents: share is 1.01; allowed: 0 .. 1",
                [](TrafficClass& c) { c.documents.share = 1.01; });
  refuses_class("documents: share is nan; allowed: 0 .. 1",
                [](TrafficClass& c) { c.documents.share = kNan; });
  refuses_class("system_prompts: exponent is -0.5; allowed: 0 .. 20",
                [](TrafficClass& c) { c.system_prompts.exponent = -0.5; });
  refuses_class("system_prompts: exponent is 21; allowed: 0 .. 20",
                [](TrafficClass& c) { c.system_prompts.exponent = 21.0; });
  refuses_class("lengths/document: tokens is 0; allowed: 1 .. 2147483647 tokens",
                [](TrafficClass& c) { c.documents.tokens = fixed_tokens(0); });
}

TEST_CASE("durations out of range are refused", "[workloads]") {
  refuses_time("mean_s is -1; allowed: 0 .. 1000000000 s", {.mean_s = -1.0});
  refuses_time("mean_s is nan; allowed: 0 .. 1000000000 s", {.mean_s = kNan});
  refuses_time("mean_s is inf; allowed: 0 .. 1000000000 s",
               {.law = DurationLaw::exponential, .mean_s = kInfinity});
  refuses_time("min_s is -1; allowed: 0 .. 1000000000 s", {.min_s = -1.0});
  refuses_time("max_s is nan; allowed: 0 .. inf s", {.max_s = kNan});
  refuses_time("max_s is inf; allowed: 0 .. 1000000000 s", {.law = DurationLaw::uniform});
  refuses_time("min_s 2 is above max_s 1", {.min_s = 2.0, .max_s = 1.0});
  refuses_time("sigma is 10.5; allowed: 0 .. 10",
               {.law = DurationLaw::lognormal, .mean_s = 1.0, .sigma = 10.5});
  refuses_time("shape is 0; allowed: 0.01 .. 10000",
               {.law = DurationLaw::gamma, .mean_s = 1.0, .shape = 0.0});
  refuses_class("sessions/tool_time: mean_s is -1; allowed: 0 .. 1000000000 s",
                [](TrafficClass& c) { c.sessions.tool_time = fixed_time(-1.0); });
  refuses_class("sessions/tool_share is 1.5; allowed: 0 .. 1",
                [](TrafficClass& c) { c.sessions.tool_share = 1.5; });
  refuses_class("patience/first_token: mean_s is -1; allowed: 0 .. 1000000000 s",
                [](TrafficClass& c) { c.patience.first_token = fixed_time(-1.0); });
  refuses_class("patience/answer: mean_s is -1; allowed: 0 .. 1000000000 s",
                [](TrafficClass& c) { c.patience.answer = fixed_time(-1.0); });
}

TEST_CASE("limits out of range are refused", "[workloads]") {
  refuses("num_requests is -1; allowed: 0 or more", [](TrafficOptions& o) { o.num_requests = -1; });
  refuses("num_sessions is -2; allowed: 0 or more", [](TrafficOptions& o) { o.num_sessions = -2; });
  refuses("end_ns is -5; allowed: 0 or more", [](TrafficOptions& o) { o.end_ns = -5; });
  refuses("arrivals: the rate is 0 requests/s; allowed: greater than 0, infinity = all at once",
          [](TrafficOptions& o) { o.arrivals.rate_per_s = 0.0; });
  refuses("arrivals: if all requests arrive at once, their number is needed",
          [](TrafficOptions& o) {
            o.num_sessions.reset();
            o.arrivals.process = ArrivalProcess::all_at_once;
          });
}

TEST_CASE("closed loops out of range are refused", "[workloads]") {
  const auto refuses_loop = [](const std::string& message, const ClosedLoopOptions& loop) {
    refuses(message, [&](TrafficOptions& o) { o.closed_loop = loop; });
  };
  refuses_loop("closed_loop: users is 0; allowed: 1 .. 10000000", {.users = 0});
  refuses_loop("closed_loop: users is 10000001; allowed: 1 .. 10000000", {.users = 10'000'001});
  refuses_loop("closed_loop: start_within_s is -1; allowed: 0 .. 1000000000 s",
               {.start_within_s = -1.0});
  refuses_loop("closed_loop: start_within_s is nan; allowed: 0 .. 1000000000 s",
               {.start_within_s = kNan});
  refuses_loop("closed_loop/think_time: mean_s is -3; allowed: 0 .. 1000000000 s",
               {.think_time = fixed_time(-3.0)});
  // The arrivals of an open loop are not looked at.
  TrafficOptions options = sessions(10);
  options.closed_loop = ClosedLoopOptions{};
  options.arrivals.rate_per_s = 0.0;
  CHECK_NOTHROW(TrafficSource(options, 1));
}

}  // namespace headroom::test::traffic_errors_test
