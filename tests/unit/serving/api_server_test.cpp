// docs/semantics.md, "The API server". All times here are whole microseconds.

#include "sim/serving/api_server.hpp"

#include <catch2/catch.hpp>

#include <algorithm>
#include <vector>

namespace headroom::api_server_test {
namespace {

constexpr TimeNs kUs = 1000;
constexpr Ticks kUsTicks = kUs * kTicksPerNs;

ApiServerOptions options_of(std::int64_t processes, Ticks request, Ticks prompt_token, Ticks token,
                            Ticks answer) {
  return {.processes = processes,
          .request_ticks = request * kUsTicks,
          .prompt_token_ticks = prompt_token * kUsTicks,
          .output_token_ticks = token * kUsTicks,
          .answer_ticks = answer * kUsTicks,
          .network_ns = 0};
}

Arrival request_of(std::int32_t prompt, TimeNs deadline_ns = kNever) {
  Arrival arrival;
  arrival.prompt_tokens = prompt;
  arrival.output_tokens = 1;
  arrival.deadline_ns = deadline_ns;
  return arrival;
}

// When each request reaches the engine, in us, in order of sending.
std::vector<TimeNs> ready_times(ApiServer& server, const std::vector<TimeNs>& sent_us,
                                const std::vector<std::int32_t>& prompts) {
  for (std::size_t i = 0; i < sent_us.size(); ++i) {
    server.send(request_of(prompts[i]), i, 0, sent_us[i] * kUs);
  }
  std::vector<TimeNs> ready(sent_us.size());
  while (const auto next = server.take_ready(kNever - 1)) ready[next->index] = next->time_ns / kUs;
  return ready;
}

std::vector<TimeNs> gaps_us(const ApiServer& server) {
  std::vector<TimeNs> gaps;
  for (const GapRun& run : server.gaps()) {
    for (StepCount i = 0; i < run.steps; ++i) {
      gaps.push_back(floor_ns(run.first + i * TickSum{run.slope}) / kUs);
    }
  }
  return gaps;
}

TEST_CASE("one process takes requests in their order, one after the other", "[api_server]") {
  ApiServer server(options_of(1, 10, 1, 0, 0));
  // Work 20, 30, 15: the second one waits for the first, the third finds nobody.
  CHECK(ready_times(server, {0, 5, 100}, {10, 20, 5}) == std::vector<TimeNs>{20, 50, 115});
  CHECK(floor_ns(server.use().backlog) == 45 * kUs);  // behind the second, at 5
  // Between the first sending and the last one it worked for 50 of 100 us.
  CHECK(utilisation(server.use()) == Approx(0.5));
}

TEST_CASE("waits follow Lindley's recursion", "[api_server]") {
  ApiServer server(options_of(1, 7, 1, 0, 0));
  std::vector<TimeNs> sent;
  std::vector<std::int32_t> prompts;
  std::vector<TimeNs> expected;
  TimeNs now = 0;
  TimeNs wait = 0;
  for (std::int32_t i = 0; i < 500; ++i) {
    const TimeNs service = 7 + 1 + i * 37 % 11;
    sent.push_back(now);
    prompts.push_back(1 + i * 37 % 11);
    expected.push_back(now + wait + service);
    const TimeNs apart = i * 53 % 29;  // 14 on average; the work is 13
    wait = std::max<TimeNs>(0, wait + service - apart);
    now += apart;
  }
  CHECK(ready_times(server, sent, prompts) == expected);
}

TEST_CASE("two processes do twice the work, a lone request takes its own time", "[api_server]") {
  ApiServer server(options_of(2, 10, 1, 0, 0));
  // Each takes 20: 10 of both processes' time, and 10 more of its own.
  CHECK(ready_times(server, {0, 0, 0}, {10, 10, 10}) == std::vector<TimeNs>{20, 30, 40});
}

TEST_CASE("a server that keeps up delays tokens by their work", "[api_server]") {
  ApiServer server(options_of(1, 0, 0, 2, 0));
  // 3 steps of 10 us with 4 tokens: written at 18, 28, 38.
  server.put_out(0, 3, 10 * kUsTicks, 0, 4);
  CHECK(server.received_ns() == 38 * kUs);
  CHECK(gaps_us(server) == std::vector<TimeNs>{18, 10, 10});  // the first one from 0 on
  CHECK(floor_ns(server.use().backlog) == 8 * kUs);
}

TEST_CASE("a server that does not keep up writes as fast as it can", "[api_server]") {
  ApiServer server(options_of(1, 0, 0, 5, 0));
  // 20 us of work in each step of 10: written at 30, 50, 70, 90, while steps end at 10 .. 40.
  server.put_out(0, 4, 10 * kUsTicks, 0, 4);
  CHECK(gaps_us(server) == std::vector<TimeNs>{30, 20, 20, 20});
  CHECK(server.received_ns() == 90 * kUs);
  CHECK(floor_ns(server.use().backlog) == 50 * kUs);
}

TEST_CASE("a server catches up with steps that become longer", "[api_server]") {
  ApiServer server(options_of(1, 0, 0, 4, 0));
  // Steps of 2, 4, 6 ... 16 us end at 2, 6, 12, 20, 30, 42, 56, 72; 8 us of work each. Written at
  // 10, 18, 26, 34, 42, then behind ends that find nothing to do: 50, 64, 80.
  server.put_out(0, 8, 2 * kUsTicks, 2 * kUsTicks, 2);
  CHECK(gaps_us(server) == std::vector<TimeNs>{10, 8, 8, 8, 8, 8, 14, 16});
  CHECK(floor_ns(server.use().backlog) == 14 * kUs);  // behind the steps that end at 12 and at 20
}

TEST_CASE("tokens wait for requests that came before them", "[api_server]") {
  ApiServer server(options_of(1, 25, 0, 1, 0));
  server.put_out(0, 1, 10 * kUsTicks, 0, 1);   // written at 11
  server.send(request_of(1), 0, 0, 12 * kUs);  // done at 37
  server.put_out(10 * kUsTicks, 2, 10 * kUsTicks, 0, 1);
  CHECK(gaps_us(server) == std::vector<TimeNs>{27, 1});  // at 38 and 39, steps end at 20 and 30
}

TEST_CASE("who gives up before its turn never reaches the engine", "[api_server]") {
  ApiServer server(options_of(1, 10, 0, 0, 0));
  server.send(request_of(1), 0, 3, 0);
  server.send(request_of(1, 15 * kUs), 1, 3, 0);  // ready at 20
  CHECK(server.held() == 2);
  CHECK(server.next_ready_ns() == 10 * kUs);
  CHECK(server.next_answer_ns() == 15 * kUs);
  const auto gone = server.take_answer(15 * kUs);
  REQUIRE(gone.has_value());
  CHECK(gone->outcome == Outcome::cancelled);
  CHECK(gone->index == 1);
  CHECK(gone->replica == 3);
  CHECK(gone->queued_ns == -1);
  CHECK(gone->finish_ns == 15 * kUs);
}

TEST_CASE("an answer that comes too late is one for nobody", "[api_server]") {
  ApiServer server(options_of(1, 0, 0, 0, 10));
  RequestRecord record;
  record.outcome = Outcome::finished;
  record.first_token_ns = record.finish_ns = 100 * kUs;
  server.answer(record, {.answer_ns = 105 * kUs}, 100 * kUsTicks);  // complete at 110
  const auto seen = server.take_answer(105 * kUs);
  REQUIRE(seen.has_value());
  CHECK(seen->outcome == Outcome::cancelled);
  CHECK(seen->finish_ns == 105 * kUs);
  CHECK(seen->first_token_ns == 100 * kUs);
}

TEST_CASE("who has given up is told of no rejection and no loss", "[api_server]") {
  // The server is busy until 100, so that the news of 20 are with the client then. Its answer
  // should have been there at 90; another client waits for a first token until 80 only, a third one
  // has it, and a fourth one is patient.
  struct Case {
    ApiServer::Patience patience;
    TimeNs first_token_us;
    Outcome outcome;
    TimeNs finish_us;
  };
  for (const Outcome fate : {Outcome::rejected, Outcome::lost_to_oom}) {
    for (const Case& one :
         {Case{{kNever, 90 * kUs}, -1, Outcome::cancelled, 90},
          Case{{80 * kUs, 90 * kUs}, -1, Outcome::cancelled, 80},
          Case{{80 * kUs, kNever}, 10, fate, 100}, Case{{100 * kUs, 100 * kUs}, -1, fate, 100}}) {
      ApiServer server(options_of(1, 100, 0, 0, 10));
      server.send(request_of(1), 0, 0, 0);
      RequestRecord record;
      record.outcome = fate;
      record.first_token_ns = one.first_token_us < 0 ? -1 : one.first_token_us * kUs;
      server.answer(record, one.patience, 20 * kUsTicks);
      const auto seen = server.take_answer(100 * kUs);
      REQUIRE(seen.has_value());
      CHECK(seen->outcome == one.outcome);
      CHECK(seen->finish_ns == one.finish_us * kUs);
    }
  }
}

TEST_CASE("what the run's end finds in the server is unfinished", "[api_server]") {
  ApiServer server(options_of(1, 10, 0, 0, 10));
  server.send(request_of(1), 7, 0, 0);
  RequestRecord record;
  record.index = 6;
  record.outcome = Outcome::finished;
  record.first_token_ns = 12 * kUs;
  server.answer(record, {}, 5 * kUsTicks);
  const std::vector<RequestRecord> left = server.stop(0, 11 * kUs);
  REQUIRE(left.size() == 2);
  CHECK(left[0].index == 7);
  CHECK(left[1].index == 6);
  for (const RequestRecord& one : left) {
    CHECK(one.outcome == Outcome::unfinished);
    CHECK(one.finish_ns == -1);
    CHECK(one.first_token_ns == -1);  // it would have come at 12
  }
  CHECK(server.held() == 0);
}

}  // namespace
}  // namespace headroom::api_server_test
