// Open loop, sessions of one turn.

#include "workloads/traffic_source.hpp"

#include <algorithm>
#include <catch2/catch.hpp>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "sim/kernel/check.hpp"
#include "tests/support/paired_lengths.hpp"
#include "tests/unit/workloads/traffic_text.hpp"
#include "workloads/synthetic_source.hpp"

namespace headroom::test::traffic_source_test {
namespace {

constexpr TimeNs kSecond = kNsPerSecond;

SyntheticOptions synthetic(const TrafficOptions& options) {
  const TrafficClass& one = options.classes.front();
  return {.arrivals = options.arrivals,
          .prompt = one.prompt,
          .output = one.output,
          .joint_lengths = one.joint_lengths,
          .max_tokens = options.max_tokens,
          .num_requests = options.num_requests,
          .class_id = one.class_id};
}

void check_equals_synthetic(const TrafficOptions& options) {
  TrafficSource traffic(options, 9);
  SyntheticSource plain(synthetic(options), 9);
  const std::vector<std::string> all = take_all(traffic);
  CHECK(all.size() == 1000);
  CHECK(all == take_all(plain));
  CHECK(traffic.totals().outputs_cut == plain.outputs_cut());
}

// Everything that one-turn traffic can have, in two classes.
TrafficOptions full() {
  TrafficOptions options = chat(2000);
  TrafficClass& chats = options.classes.front();
  chats.name = "chat";
  chats.share = 2.0;
  chats.system_prompts = {.count = 5, .share = 0.5, .tokens = fixed_tokens(300)};
  chats.documents = {.count = 100, .share = 0.3, .exponent = 1.0, .tokens = fixed_tokens(5000)};
  chats.patience = {.first_token = exponential_time(3.0), .answer = exponential_time(30.0)};
  TrafficClass code = chats;
  code.name = "code";
  code.class_id = 1;
  code.priority = -3;
  code.share = 1.0;
  options.classes.push_back(code);
  return options;
}

// Fields of all requests, so that changes can be looked for in each of them. A deadline is that of
// the request's patience, a text what is left of the prompt behind the shared texts.
struct Columns {
  std::vector<std::int64_t> times, texts, outputs, first_tokens, answers, classes;
  std::vector<std::vector<PrefixSegment>> prefixes;
};
Columns columns(const TrafficOptions& options, TimeNs service_ns = 7 * kSecond) {
  TrafficSource source(options, 4);
  Columns all;
  for (const ServedRequest& request : serve(source, after(service_ns))) {
    const Arrival& a = request.arrival;
    all.times.push_back(a.time_ns);
    all.texts.push_back(a.prompt_tokens - tokens_of(request.prefix));
    all.outputs.push_back(a.output_tokens);
    all.first_tokens.push_back(a.first_token_deadline_ns - a.time_ns);
    all.answers.push_back(a.deadline_ns - a.time_ns);
    all.classes.push_back(a.class_id);
    all.prefixes.push_back(request.prefix);
  }
  return all;
}

// Names of the columns that differ.
std::set<std::string> changes(const TrafficOptions& changed) {
  const Columns a = columns(full());
  const Columns b = columns(changed);
  std::set<std::string> names;
  if (a.times != b.times) names.insert("times");
  if (a.texts != b.texts) names.insert("texts");
  if (a.outputs != b.outputs) names.insert("outputs");
  if (a.first_tokens != b.first_tokens) names.insert("first_tokens");
  if (a.answers != b.answers) names.insert("answers");
  if (a.classes != b.classes) names.insert("classes");
  if (a.prefixes != b.prefixes) names.insert("prefixes");
  return names;
}

using Names = std::set<std::string>;

}  // namespace

TEST_CASE("plain traffic is what the synthetic source gives", "[workloads]") {
  for (const auto process : {ArrivalProcess::poisson, ArrivalProcess::vllm_bench,
                             ArrivalProcess::all_at_once, ArrivalProcess::on_off}) {
    TrafficOptions options = chat(1000);
    options.arrivals.process = process;
    check_equals_synthetic(options);
  }
  TrafficOptions cut = chat(1000);
  cut.max_tokens = {.rule = MaxTokensRule::value, .value = 150};
  cut.classes.front().class_id = 7;
  cut.classes.front().prompt = fixed_tokens(12);
  check_equals_synthetic(cut);
  TrafficOptions joint = chat(1000);
  joint.classes.front().prompt = {.law = LengthLaw::empirical, .values = {1, 2, 3, 4}};
  joint.classes.front().output = {.law = LengthLaw::empirical, .values = {10, 20, 30, 40}};
  joint.classes.front().joint_lengths = true;
  check_equals_synthetic(joint);
}

TEST_CASE("tied lengths of traffic are paired lengths", "[workloads]") {
  TrafficOptions options = chat(500);
  TrafficClass& one = options.classes.front();
  one.length_correlation = 0.6;
  PairedLengths pairs(one.prompt, one.output, 0.6, 9);
  std::vector<std::int32_t> prompts(500);
  std::vector<std::int32_t> outputs(500);
  pairs.fill(prompts, outputs);
  TrafficSource traffic(options, 9);
  for (std::size_t i = 0; i < prompts.size(); ++i) {
    const Arrival arrival = traffic.take();
    REQUIRE(arrival.prompt_tokens == prompts[i]);
    REQUIRE(arrival.output_tokens == outputs[i]);
  }
}

TEST_CASE("changing one law of one-turn traffic changes nothing else", "[workloads]") {
  CHECK(changes(full()).empty());
  TrafficOptions options = full();
  options.arrivals.process = ArrivalProcess::gamma;
  options.arrivals.burstiness = 0.5;
  CHECK(changes(options) == Names{"times"});
  options = full();
  options.classes[0].prompt = fixed_tokens(5);
  CHECK(changes(options) == Names{"texts"});
  options = full();
  options.classes[0].output = fixed_tokens(5);
  CHECK(changes(options) == Names{"outputs"});
  options = full();
  options.classes[0].length_correlation = -0.5;
  CHECK(changes(options) == Names{"outputs"});
  options = full();
  options.classes[0].patience.first_token = fixed_time(1.0);
  CHECK(changes(options) == Names{"first_tokens"});
  options = full();
  options.classes[0].patience.answer->mean_s = 60.0;
  CHECK(changes(options) == Names{"answers"});
  options = full();
  options.classes[0].patience.first_token.reset();
  CHECK(changes(options) == Names{"first_tokens"});
  for (const double share : {0.0, 0.7}) {
    options = full();
    options.classes[0].system_prompts.share = share;
    CHECK(changes(options) == Names{"prefixes"});
  }
  options = full();
  options.classes[0].documents.exponent = 0.0;
  CHECK(changes(options) == Names{"prefixes"});
}

TEST_CASE("documents do not depend on system prompts", "[workloads]") {
  TrafficOptions options = full();
  options.classes[0].system_prompts.share = 1.0;
  const auto with = columns(options).prefixes;
  options.classes[0].system_prompts.count = 0;
  const Columns without = columns(options);
  for (std::size_t i = 0; i < with.size(); ++i) {
    if (without.classes[i] != 0) continue;
    const std::vector<PrefixSegment> documents(with[i].begin() + 1, with[i].end());
    REQUIRE(documents == without.prefixes[i]);
  }
}

TEST_CASE("what becomes of requests of an open loop changes no arrival", "[workloads]") {
  const Columns quick = columns(full(), 1);
  const Columns slow = columns(full(), 1000 * kSecond);
  CHECK(quick.times == slow.times);
  CHECK(quick.texts == slow.texts);
  CHECK(quick.prefixes == slow.prefixes);
  TrafficSource source(full(), 4);
  const auto rejected = serve(source, [](const Arrival&, std::uint64_t) {
    return Service{0, Outcome::rejected};
  });
  CHECK(rejected.size() == quick.times.size());
  CHECK(rejected.back().arrival.time_ns == quick.times.back());
  CHECK(source.totals().ended_early() == 0);  // no turn was left to send
}

TEST_CASE("the requests of a class do not depend on the other classes", "[workloads]") {
  const auto texts_of = [](const Columns& all, std::int64_t class_id) {
    std::vector<std::int64_t> texts;
    for (std::size_t i = 0; i < all.texts.size(); ++i) {
      if (all.classes[i] == class_id) texts.push_back(all.texts[i]);
    }
    texts.resize(500);  // shares decide how many there are
    return texts;
  };
  const Columns base = columns(full());
  TrafficOptions options = full();
  options.classes[0].prompt = fixed_tokens(5);
  options.classes[0].share = 1.0;
  const Columns changed = columns(options);
  CHECK(changed.classes != base.classes);
  CHECK(texts_of(changed, 1) == texts_of(base, 1));
  CHECK(texts_of(base, 0) != texts_of(base, 1));  // equal laws, other streams
}

TEST_CASE("a stream prefix gives other traffic of the same laws", "[workloads]") {
  TrafficOptions other = full();
  other.stream_prefix = "night/";
  CHECK(changes(other) ==
        Names{"times", "texts", "outputs", "first_tokens", "answers", "classes", "prefixes"});
  // On and off periods, too: with equal ones, most requests would share a second with another one.
  const auto busy_seconds = [](const std::string& prefix) {
    TrafficOptions options = chat(1000);
    options.arrivals.process = ArrivalProcess::on_off;
    options.arrivals.on_off = {.on_s = 100.0, .off_s = 900.0};
    options.stream_prefix = prefix;
    TrafficSource source(options, 1);
    std::set<TimeNs> hundreds;
    while (source.next_time() != kNever) hundreds.insert(source.take().time_ns / (100 * kSecond));
    return hundreds;
  };
  CHECK(busy_seconds("a/") != busy_seconds("b/"));
}

TEST_CASE("requests carry class, priority and deadlines", "[workloads]") {
  TrafficOptions options = full();
  options.classes[0].patience = {.first_token = fixed_time(1.5), .answer = fixed_time(20.0)};
  options.classes[1].patience = {};
  TrafficSource source(options, 4);
  for (const ServedRequest& request : serve(source, after(0))) {
    const Arrival& a = request.arrival;
    CHECK(a.session == kNoSession);
    CHECK(a.output_segment == 0);
    REQUIRE(a.priority == (a.class_id == 0 ? 0 : -3));
    REQUIRE(a.first_token_deadline_ns == (a.class_id == 0 ? a.time_ns + 1'500'000'000 : kNever));
    REQUIRE(a.deadline_ns == (a.class_id == 0 ? a.time_ns + 20 * kSecond : kNever));
  }
}

TEST_CASE("system prompt and document stand in front, with one length and identity each",
          "[workloads]") {
  TrafficOptions options = chat(3000);
  TrafficClass& one = options.classes.front();
  one.prompt = fixed_tokens(7);
  one.system_prompts = {.count = 3, .tokens = {.law = LengthLaw::uniform, .min = 1, .max = 1000}};
  one.documents = {
      .count = 20, .share = 0.5, .tokens = {.law = LengthLaw::uniform, .min = 1001, .max = 9000}};
  TrafficSource source(options, 4);
  std::map<std::uint64_t, std::int32_t> lengths;
  std::size_t with_document = 0;
  for (const ServedRequest& request : serve(source, after(kSecond))) {
    REQUIRE((request.prefix.size() == 1 || request.prefix.size() == 2));
    REQUIRE(request.prefix.front().tokens <= 1000);
    REQUIRE(request.prefix.back().tokens > (request.prefix.size() == 2 ? 1000 : 0));
    REQUIRE(request.arrival.prompt_tokens == tokens_of(request.prefix) + 7);
    with_document += request.prefix.size() - 1;
    for (const PrefixSegment& piece : request.prefix) {
      const auto [known, is_new] = lengths.emplace(piece.id, piece.tokens);
      REQUIRE((is_new || known->second == piece.tokens));
    }
  }
  CHECK(lengths.size() == 23);
  CHECK(with_document > 1400);
  CHECK(with_document < 1600);
}

TEST_CASE("a greater share of documents keeps who had one, and which", "[workloads]") {
  const auto documents = [](double share) {
    TrafficOptions options = chat(500);
    options.classes[0].documents = {
        .count = 50, .share = share, .exponent = 0.8, .tokens = fixed_tokens(9)};
    return columns(options).prefixes;
  };
  const auto few = documents(0.2);
  const auto many = documents(0.6);
  for (std::size_t i = 0; i < few.size(); ++i) CHECK((few[i].empty() || few[i] == many[i]));
  CHECK(few != many);
}

TEST_CASE("traffic ends before end_ns and after its number of requests", "[workloads]") {
  TrafficOptions options = chat(1000);
  options.arrivals.process = ArrivalProcess::constant;  // request k at k/5 s
  options.end_ns = 3 * kSecond;                         // exclusive: 14 of them
  TrafficSource timed(options, 1);
  CHECK(take_all(timed).size() == 14);
  options.end_ns += 1;
  TrafficSource later(options, 1);
  CHECK(take_all(later).size() == 15);
  options.num_sessions = 12;
  TrafficSource counted(options, 1);
  CHECK(take_all(counted).size() == 12);
  options.num_requests = 0;
  TrafficSource none(options, 1);
  CHECK(none.next_time() == kNever);
  CHECK_THROWS_AS(none.take(), InternalError);
  options = chat(1);
  options.num_requests.reset();
  TrafficSource endless(options, 1);
  for (int i = 0; i < 10'000; ++i) static_cast<void>(endless.take());
  CHECK(endless.next_time() != kNever);
}

TEST_CASE("patience beyond the clock is for ever", "[workloads]") {
  TrafficOptions options = chat(100);
  options.classes[0].patience.answer = {.law = DurationLaw::lognormal, .mean_s = 1e9, .sigma = 10};
  TrafficSource source(options, 1);
  for (const ServedRequest& request : serve(source, after(0))) {
    CHECK(request.arrival.deadline_ns >= request.arrival.time_ns);
  }
}

TEST_CASE("only requests with shared texts are remembered, until they leave", "[workloads]") {
  TrafficSource plain(chat(100), 1);
  static_cast<void>(take_all(plain));
  CHECK(plain.awaited_requests() == 0);
  CHECK(plain.live_sessions() == 0);
  TrafficOptions options = chat(100);
  options.classes[0].documents = {.count = 1, .tokens = fixed_tokens(9)};
  TrafficSource shared(options, 1);
  static_cast<void>(take_all(shared));
  CHECK(shared.awaited_requests() == 100);
  for (std::uint64_t i = 0; i < 100; ++i) shared.on_done(99 - i, Outcome::finished, kSecond);
  CHECK(shared.awaited_requests() == 0);
  CHECK(shared.live_sessions() == 0);
  CHECK_THROWS_AS(shared.on_done(100, Outcome::finished, kSecond), InternalError);
}

TEST_CASE("prompts longer than 2^31 - 1 tokens are cut and counted", "[workloads]") {
  TrafficOptions options = chat(1);
  options.classes[0].prompt = fixed_tokens(10);
  options.classes[0].system_prompts = {.count = 1, .tokens = fixed_tokens(INT32_MAX - 4)};
  options.classes[0].documents = {.count = 1, .tokens = fixed_tokens(50)};
  TrafficSource source(options, 1);
  const Arrival arrival = source.take();
  REQUIRE(arrival.prefix.size() == 2);
  CHECK(arrival.prefix[0].tokens == INT32_MAX - 4);
  CHECK(arrival.prefix[1].tokens == 3);  // one token is left for the text
  CHECK(arrival.prompt_tokens == INT32_MAX);
  CHECK(source.totals().prompts_cut == 2);
}

}  // namespace headroom::test::traffic_source_test
