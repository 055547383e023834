#include "sim/observe/observe.hpp"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <utility>

#include "sim/kernel/errors.hpp"
#include "sim/kernel/seconds.hpp"

namespace headroom {
namespace {

constexpr std::int64_t kFailuresInARow = 10;
constexpr TimeNs kLookAround = 100 * kNsPerMs;  // at the signal, and at what to report
// Of the workload's numbers of requests: the warm-up's prompts are like none of the run's.
constexpr std::uint64_t kWarmupIndex = std::uint64_t{1} << 62;

std::int32_t token_count(std::int64_t tokens) {
  return static_cast<std::int32_t>(std::min<std::int64_t>(tokens, INT32_MAX));
}

// What of a workload a client of this API cannot or does not say.
constexpr std::array<std::string_view, 5> kUnsent{"patience", "prompt_logprobs_share", "lora", "n",
                                                  "beam_width"};

class Observer {
 public:
  Observer(const ObserveOptions& options, WorkloadSource& workload, const ObserveControl& control)
      : options_(options),
        workload_(workload),
        control_(control),
        timeout_ns_(ns_from_seconds(options.timeout_s)),
        watch_(client_, ns_from_seconds(options.metrics_every_s)),
        client_(options.server, options.remote, options.key, control.stop) {}

  Observation run() {
    const auto now = std::chrono::system_clock::now();
    seen_.started_utc = fmt::format("{:%Y-%m-%dT%H:%M:%SZ}",
                                    std::chrono::time_point_cast<std::chrono::seconds>(now));
    seen_.url = options_.server.text();
    // Another text in each run: what the server has cached of the last one is not found again.
    seen_.prompt_seed = static_cast<std::uint64_t>(
        std::chrono::duration_cast<std::chrono::milliseconds>(now.time_since_epoch()).count());
    seen_.server = find_out(client_, options_.model, timeout_ns_);
    warm_up();
    watch_.ask_now();
    begin_ns_ = client_.now_ns();
    while (!has_ended()) {
      send_what_is_due();
      watch_.poll();
      client_.wait_until(next_look_ns());
      report("run");
    }
    finish();
    return std::move(seen_);
  }

 private:
  // --- the run ---

  [[nodiscard]] TimeNs elapsed_ns() const { return client_.now_ns() - begin_ns_; }
  [[nodiscard]] std::int64_t sent() const {
    return static_cast<std::int64_t>(seen_.requests.size());
  }

  [[nodiscard]] bool may_send() const {
    return sent() < options_.requests && elapsed_ns() < ns_from_seconds(options_.seconds);
  }

  bool has_ended() {
    if (client_.is_stopped()) {
      seen_.end = ObservationEnd::interrupted;
      return true;
    }
    if (failures_in_a_row_ >= kFailuresInARow) {
      seen_.end = ObservationEnd::server_lost;
      return true;
    }
    if (in_flight_ > 0) return false;
    const bool has_more = workload_.next_time() != kNever;
    if (has_more && may_send()) return false;
    const bool was_cut = has_more && sent() < options_.requests;
    seen_.end = was_cut ? ObservationEnd::seconds : ObservationEnd::complete;
    return true;
  }

  void send_what_is_due() {
    while (may_send() && workload_.next_time() <= elapsed_ns()) send(workload_.take());
  }

  [[nodiscard]] TimeNs next_look_ns() {
    const TimeNs now_ns = client_.now_ns();
    TimeNs next_ns = std::min(now_ns + kLookAround, watch_.next_ns());
    const TimeNs due_ns = may_send() ? workload_.next_time() : kNever;
    if (due_ns != kNever) next_ns = std::min(next_ns, begin_ns_ + due_ns);
    return next_ns;
  }

  void send(const Arrival& arrival) {
    const std::size_t index = seen_.requests.size();
    std::string body = body_of(arrival, index);
    ObservedRequest& request = seen_.requests.emplace_back(observed(arrival));
    ++in_flight_;
    request.sent_ns = elapsed_ns();
    call_completions(client_, std::move(body), timeout_ns_,
                     [this, index](const CompletionEnd& end) {
                       note_end(seen_.requests[index], end);
                       --in_flight_;
                       ++ended_;
                       const Outcome outcome = seen_.requests[index].outcome;
                       if (outcome != Outcome::unfinished)
                         workload_.on_done(index, outcome, elapsed_ns());
                     });
  }

  [[nodiscard]] std::string body_of(const Arrival& arrival, std::uint64_t index) const {
    return completion_json(seen_.server.rule,
                           prompt_json(seen_.server.rule.prompt, arrival, index, seen_.prompt_seed),
                           arrival.output_tokens, arrival.priority);
  }

  static ObservedRequest observed(const Arrival& arrival) {
    ObservedRequest request;
    request.sent = arrival;
    request.sent.prefix = {};  // the workload's memory, until the request leaves
    request.pieces.assign(arrival.prefix.begin(), arrival.prefix.end());
    request.prompt_tokens = arrival.prompt_tokens;
    request.output_tokens = 0;
    return request;
  }

  void note_end(ObservedRequest& request, const CompletionEnd& end) {
    note_answer(request, end);
    if (request.outcome == Outcome::finished) {
      failures_in_a_row_ = 0;
      for (const TimeNs gap : end.stream.gaps()) add_gap(gap);
    } else if (!end.http.is_cancelled) {
      ++failures_in_a_row_;
      ++failed_;
      request.problem = end.problem;
    }
  }

  void note_answer(ObservedRequest& request, const CompletionEnd& end) const {
    const CompletionStream& stream = end.stream;
    if (stream.chunks() > 0) {
      request.first_token_ns = stream.first_ns() - begin_ns_;
      request.last_token_ns = stream.last_ns() - begin_ns_;
    }
    request.chunks = stream.chunks();
    request.prompt_tokens =
        token_count(stream.prompt_tokens().value_or(request.sent.prompt_tokens));
    request.output_tokens = token_count(stream.output_tokens().value_or(stream.chunks()));
    if (!stream.gaps().empty()) request.longest_gap_ns = std::ranges::max(stream.gaps());
    if (end.problem.empty()) {
      request.outcome = Outcome::finished;
    } else if (!end.http.is_cancelled) {
      request.outcome = end.http.timed_out ? Outcome::cancelled
                        : end.http.status != kHttpOk && end.http.status > 0
                            ? Outcome::rejected
                            : Outcome::lost_to_fault;
    }
  }

  void add_gap(TimeNs gap_ns) {
    const std::array group{GapGroup{ticks_from_ns(gap_ns), 1}};
    StepRun run;
    run.other_gaps = group;
    seen_.itl.add(run);
  }

  // --- before and after ---

  void warm_up() {
    Arrival like;
    like.prompt_tokens = options_.warmup_prompt;
    like.output_tokens = options_.warmup_output;
    for (std::int64_t i = 0; i < options_.warmup && !client_.is_stopped(); ++i) {
      report("warm-up");
      const std::uint64_t index = kWarmupIndex + static_cast<std::uint64_t>(i);
      ObservedRequest request = observed(like);
      request.sent_ns = client_.now_ns();
      const CompletionEnd end = complete_now(client_, body_of(like, index), timeout_ns_);
      note_answer(request, end);
      if (!end.problem.empty() && !end.http.is_cancelled) {
        throw ConfigError(Complaint{
            .kind = ErrorKind::unreadable,
            .origin = "observe",
            .problem = fmt::format("a warm-up request of {} tokens in and {} out fails: {}",
                                   like.prompt_tokens, like.output_tokens, end.problem)});
      }
      seen_.warmup.push_back(std::move(request));
    }
  }

  void finish() {
    seen_.duration_ns = elapsed_ns();
    client_.cancel_all();
    if (seen_.end == ObservationEnd::complete || seen_.end == ObservationEnd::seconds) {
      watch_.ask_now();
    }
    seen_.load = watch_.samples();
    for (LoadSample& sample : seen_.load) sample.time_ns -= begin_ns_;
    seen_.load_problem = watch_.problem();
    seen_.engine = watch_.engine();
    const bool has_answer = seen_.count(Outcome::finished) > 0;
    if (has_answer || seen_.end == ObservationEnd::interrupted) return;
    const auto failed = std::ranges::find_if(
        seen_.requests, [](const ObservedRequest& one) { return !one.problem.empty(); });
    throw ConfigError(Complaint{
        .kind = ErrorKind::unreadable,
        .origin = "observe",
        .problem = fmt::format("none of {} requests was answered{}", sent(),
                               failed == seen_.requests.end() ? "" : ": " + failed->problem)});
  }

  void report(std::string_view stage) const {
    if (!control_.report) return;
    control_.report({.stage = stage,
                     .sent = sent(),
                     .ended = ended_,
                     .failed = failed_,
                     .elapsed_s = static_cast<double>(elapsed_ns()) / kNsPerSecondReal});
  }

  const ObserveOptions& options_;
  WorkloadSource& workload_;
  const ObserveControl& control_;
  TimeNs timeout_ns_;
  TimeNs begin_ns_ = 0;
  std::int64_t in_flight_ = 0;
  std::int64_t ended_ = 0;
  std::int64_t failed_ = 0;
  std::int64_t failures_in_a_row_ = 0;
  Observation seen_;
  LoadWatch watch_;
  HttpClient client_;  // last: its calls, which end with it, report to all of the above
};

}  // namespace

void check_can_be_sent(const Scenario& scenario) {
  std::vector<std::string> places{"/workload"};
  for (std::size_t i = 0; i < scenario.workload.classes.size(); ++i) {
    places.push_back(fmt::format("/workload/classes/{}", i));
  }
  for (const std::string& place : places) {
    for (const std::string_view key : kUnsent) {
      const std::string pointer = fmt::format("{}/{}", place, key);
      const std::string given = scenario.given_below(pointer);
      if (given.empty()) continue;
      throw ConfigError(Complaint{.kind = ErrorKind::unsupported,
                                  .origin = scenario.given.at(given),
                                  .pointer = pointer,
                                  .problem = "observe does not send such requests"});
    }
  }
}

Observation observe(const ObserveOptions& options, WorkloadSource& workload,
                    const ObserveControl& control) {
  return Observer(options, workload, control).run();
}

}  // namespace headroom
