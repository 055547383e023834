#include "sim/serving/api_server.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "sim/kernel/check.hpp"
#include "sim/kernel/errors.hpp"

namespace headroom {
namespace {

// What follows from it fits everywhere: TPOT has 10 bits below the nanosecond.
constexpr TimeNs kLongestDelayNs = TimeNs{1} << 52;

}  // namespace

ApiServerUse& ApiServerUse::operator+=(const ApiServerUse& other) {
  busy += other.busy;
  span += other.span;
  backlog = std::max(backlog, other.backlog);
  return *this;
}

double utilisation(const ApiServerUse& use) {
  return use.span == 0 ? 0 : static_cast<double>(use.busy) / static_cast<double>(use.span);
}

bool is_saturated(const ApiServerUse& use) {
  return utilisation(use) >= 0.95 && use.span >= ticks_from_ns(kNsPerSecond);
}

double backlog_s(const ApiServerUse& use) {
  return static_cast<double>(floor_ns(use.backlog)) / static_cast<double>(kNsPerSecond);
}

ApiServer::Item ApiServer::item_of(Ticks ticks, std::int64_t processes) {
  return {ticks / processes, ticks - ticks / processes};
}

ApiServer::ApiServer(const ApiServerOptions& options)
    : request_(item_of(options.request_ticks, options.processes)),
      prompt_token_(item_of(options.prompt_token_ticks, options.processes)),
      token_(item_of(options.output_token_ticks, options.processes)),
      answer_(item_of(options.answer_ticks, options.processes)),
      network_ns_(options.network_ns) {}

void ApiServer::check_delay(TickSum ticks) {
  if (ticks < ticks_from_ns(kLongestDelayNs)) return;
  throw ConfigError(Complaint{.pointer = "/engine/api_server",
                              .problem =
                                  "the API server is more than 52 days behind: lower request_us, "
                                  "prompt_token_us, output_token_us or finish_us"});
}

// Work that comes at `instant`, behind all that came before.
void ApiServer::add_work(TickSum instant, TickSum ticks) {
  free_at_ = std::max(free_at_, instant) + ticks;
  work_ += ticks;
  backlog_ = std::max(backlog_, free_at_ - instant);
  check_delay(backlog_);
}

// --- requests -----------------------------------------------------------------------------------

void ApiServer::take_prompt(const Arrival& arrival, TimeNs now_ns) {
  const TickSum now = ticks_from_ns(now_ns);
  first_sent_ns_ = std::min(first_sent_ns_, now_ns);
  last_sent_ns_ = now_ns;
  done_when_last_sent_ = work_ - std::max<TickSum>(0, free_at_ - now);
  add_work(now, request_.shared + TickSum{prompt_token_.shared} * arrival.prompt_tokens);
  const TickSum own = request_.own + TickSum{prompt_token_.own} * arrival.prompt_tokens;
  check_delay(own);
  latest_prompt_ = arrival.shared_prompt;
  latest_ready_ns_ = floor_ns(free_at_ + own);
}

void ApiServer::send(const Arrival& arrival, std::uint64_t index, std::uint16_t replica,
                     TimeNs now_ns) {
  const bool is_sent = arrival.shared_prompt == 0 || arrival.shared_prompt != latest_prompt_ ||
                       now_ns != last_sent_ns_;
  if (is_sent) take_prompt(arrival, now_ns);
  const TimeNs ready_ns = latest_ready_ns_;
  const TimeNs gives_up_ns = std::min(arrival.first_token_deadline_ns, arrival.deadline_ns);
  if (gives_up_ns >= ready_ns) {
    ready_tokens_ += arrival.prompt_tokens;
    return ready_.push({ready_ns, index, arrival});
  }
  queue_answer(gives_up_ns,
               unseen_record(arrival, index, replica, Outcome::cancelled, gives_up_ns));
}

std::optional<ApiServer::Ready> ApiServer::take_ready(TimeNs now_ns) {
  if (next_ready_ns() > now_ns) return std::nullopt;
  Ready ready = ready_.top();
  ready_.pop();
  ready_tokens_ -= ready.arrival.prompt_tokens;
  return ready;
}

void ApiServer::queued(RequestId id, const Arrival& arrival) {
  if (id >= patience_.size()) patience_.resize(id + 1);
  patience_[id] = patience_of(arrival);
}

// --- tokens -------------------------------------------------------------------------------------

TickSum ApiServer::Steps::last(StepCount count) const {
  return TickSum{duration} * count + TickSum{slope} * count * (count - 1) / 2;
}

void ApiServer::Steps::skip(StepCount count) {
  since += last(count);
  duration += slope * count;
  left -= count;
}

void ApiServer::put_out(TickSum begin, StepCount steps, Ticks first, Ticks slope,
                        std::int64_t tokens) {
  gaps_.clear();
  if (tokens == 0) return;
  const TickSum work = TickSum{token_.shared} * tokens;
  Steps to_come{begin, steps, first, slope};
  // Other work may have come between the tokens before and these.
  to_come.skip(1);
  add_work(to_come.since, work);
  gaps_.push_back({free_at_ - written_, 0, 1});
  while (to_come.left > 0) {
    if (free_at_ - to_come.since >= to_come.duration) {
      put_out_while_busy(to_come, work);
    } else {
      put_out_while_idle(to_come, work);
    }
  }
  written_ = free_at_;
}

// The next step ends before the tokens of the one before are written: tokens follow one another as
// fast as they can be. With steps that become longer the backlog first grows, then shrinks.
void ApiServer::put_out_while_busy(Steps& steps, TickSum work) {
  const TickSum backlog = free_at_ - steps.since;
  const auto finds_busy = [&](StepCount n) { return backlog + (n - 1) * work >= steps.last(n); };
  // Steps that become shorter are taken one by one; no cost model has them.
  StepCount low = 1;
  for (StepCount high = steps.slope < 0 ? 1 : steps.left; low < high;) {
    const StepCount middle = low + (high - low + 1) / 2;
    if (finds_busy(middle)) {
      low = middle;
    } else {
      high = middle - 1;
    }
  }
  // The backlog is greatest behind the last step that is no longer than its tokens' work.
  StepCount peak = low;
  if (steps.slope > 0) {
    const TickSum growing = (work - steps.duration) / steps.slope + 1;
    peak = work < steps.duration ? 1 : static_cast<StepCount>(std::min<TickSum>(low, growing));
  } else if (work < steps.duration) {
    peak = 1;
  }
  backlog_ = std::max(backlog_, backlog + peak * work - steps.last(peak));
  check_delay(backlog_);
  gaps_.push_back({work, 0, low});
  free_at_ += low * work;
  work_ += low * work;
  steps.skip(low);
}

// All is written when the next step ends. Steps that do not become shorter leave it so.
void ApiServer::put_out_while_idle(Steps& steps, TickSum work) {
  const TickSum backlog = free_at_ - steps.since;  // >= work: the step before left that much
  const StepCount count = backlog > work || steps.slope < 0 ? 1 : steps.left;
  gaps_.push_back({steps.duration + work - backlog, count > 1 ? steps.slope : 0, count});
  steps.skip(count);
  work_ += (count - 1) * work;
  add_work(steps.since, work);
}

// --- answers ------------------------------------------------------------------------------------

void ApiServer::queue_answer(TimeNs time_ns, const RequestRecord& record) {
  answers_.push({time_ns, answered_++, record});
}

void ApiServer::answer(const RequestRecord& record, const Patience& patience, TickSum instant) {
  RequestRecord seen = record;
  if (seen.outcome != Outcome::cancelled) {
    const bool complete = seen.outcome == Outcome::finished;
    add_work(instant, complete ? answer_.shared : 0);
    const TickSum own = complete ? answer_.own : 0;
    seen.finish_ns = floor_ns(free_at_ + std::max<TickSum>(own, token_.own)) + network_ns_;
    give_up(seen, patience);
  }
  if (seen.first_token_ns > seen.finish_ns) seen.first_token_ns = -1;  // the server was empty
  queue_answer(seen.finish_ns, seen);
}

// A client waiting for a first token that never came waits until the server has news.
void ApiServer::give_up(RequestRecord& seen, const Patience& patience) {
  const TimeNs first_ns = seen.first_token_ns < 0 ? seen.finish_ns : seen.first_token_ns;
  TimeNs gives_up_ns = first_ns > patience.first_token_ns ? patience.first_token_ns : kNever;
  if (seen.finish_ns > patience.answer_ns) gives_up_ns = std::min(gives_up_ns, patience.answer_ns);
  if (gives_up_ns == kNever) return;
  seen.outcome = Outcome::cancelled;
  seen.finish_ns = gives_up_ns;
}

std::optional<RequestRecord> ApiServer::take_answer(TimeNs now_ns) {
  if (next_answer_ns() > now_ns) return std::nullopt;
  const RequestRecord record = answers_.top().record;
  answers_.pop();
  return record;
}

std::vector<RequestRecord> ApiServer::stop(std::uint16_t replica, TimeNs now_ns) {
  std::vector<RequestRecord> left;
  for (; !ready_.empty(); ready_.pop()) {
    const Ready& next = ready_.top();
    left.push_back(unseen_record(next.arrival, next.index, replica, Outcome::unfinished, -1));
  }
  for (; !answers_.empty(); answers_.pop()) {
    RequestRecord& record = left.emplace_back(answers_.top().record);
    record.outcome = Outcome::unfinished;
    record.finish_ns = -1;
    if (record.first_token_ns > now_ns) record.first_token_ns = -1;
  }
  return left;
}

ApiServerUse ApiServer::use() const {
  if (first_sent_ns_ == kNever) return {0, 0, backlog_};
  if (last_sent_ns_ > first_sent_ns_) {
    return {done_when_last_sent_, ticks_from_ns(last_sent_ns_ - first_sent_ns_), backlog_};
  }
  return {work_, std::max<TickSum>(0, free_at_ - ticks_from_ns(first_sent_ns_)), backlog_};
}

}  // namespace headroom
