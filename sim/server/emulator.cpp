#include "sim/server/emulator.hpp"

#include <algorithm>
#include <utility>

#include "sim/kernel/check.hpp"
#include "sim/resolve/resolve.hpp"
#include "sim/server/http_status.hpp"

namespace headroom {
namespace {

// Of who is still here when the server ends; an engine that makes no progress is left at that.
constexpr TimeNs kLongestRestNs = 24 * 3600 * kNsPerSecond;

struct Refusal {
  int status = kStatusBadRequest;
  std::string_view text;
};

Refusal refusal_of(const EngineEvent& event) {
  if (event.kind == EngineEventKind::overloaded) {
    return {kStatusTooManyRequests, "too many requests: the server takes no more now"};
  }
  if (event.oom == OomKind::context_length_exceeded) {
    return {kStatusBadRequest, "prompt and max_tokens are longer than the model takes"};
  }
  return {kStatusBadRequest, "the KV cache cannot hold a request of this length"};
}

}  // namespace

Emulator::Emulator(const Scenario& scenario, const Scenario& lengths, const Catalog& catalog,
                   EmulatorOptions options)
    : options_(std::move(options)),
      run_(scenario, catalog, *this),
      lengths_(lengths),
      rule_(run_.setup().resolved.model.vocab, options_.tokenizer),
      limits_{.model = options_.served_model.empty() ? run_.setup().resolved.model.id
                                                     : options_.served_model,
              .max_model_len = run_.max_model_len()},
      metrics_(limits_.model, limits_.max_model_len, finds_prefixes(run_.setup().resolved),
               run_.setup().budget.failure ? 0 : run_.replicas().size()) {}

// --- requests come ------------------------------------------------------------------------------

std::uint64_t Emulator::ask(const CompletionAsk& ask, AnswerListener& listener, TimeNs now_ns) {
  const std::uint64_t request = requests_++;
  // Simulated time is counted from the first request, as in a run of the trace.
  const TimeNs time_ns = request == 0 ? 0 : std::max(now_ns, reached_ns_ + 1);
  for (std::size_t prompt = 0; prompt < ask.prompts.size(); ++prompt) {
    const PromptTree::Found found = prompts_.add(ask.prompts[prompt]);
    for (std::int32_t i = 0; i < ask.n; ++i) {
      const std::size_t answer =
          prompt * static_cast<std::size_t>(ask.n) + static_cast<std::size_t>(i);
      open(ask, answer, request, found, listener, time_ns);
    }
  }
  return request;
}

void Emulator::open(const CompletionAsk& ask, std::size_t answer, std::uint64_t request,
                    const PromptTree::Found& prompt, AnswerListener& listener, TimeNs time_ns) {
  const auto& ids = ask.prompts[answer / static_cast<std::size_t>(ask.n)];
  const auto prompt_tokens = static_cast<std::int32_t>(ids.size());
  const auto fits = static_cast<std::int32_t>(limits_.max_model_len) - prompt_tokens;
  const std::int32_t most = ask.max_tokens.value_or(fits);
  std::int32_t output = most;
  if (!ask.ignore_eos) output = std::min(most, std::max(ask.min_tokens, lengths_.next()));
  Arrival arrival{.time_ns = time_ns,
                  .prompt_tokens = prompt_tokens,
                  .output_tokens = output,
                  .max_tokens = ask.max_tokens.value_or(0),
                  .priority = ask.priority};
  arrival.output_segment = prompts_.add_answer(
      prompt.end, rule_.filler_ids(filler_seed(request, answer), output, ask.is_chat));
  if (options_.keeps_records) {
    trace_.push_back({.time_ns = time_ns,
                      .prompt_tokens = prompt_tokens,
                      .output_tokens = output,
                      .max_tokens = arrival.max_tokens,
                      .priority = arrival.priority,
                      .prefix = prompt.pieces,
                      .output_segment = arrival.output_segment});
  }
  const std::uint64_t index = run_.arrive(arrival, prompt.pieces);
  Open& opened =
      open_
          .emplace(index, Open{.listener = &listener,
                               .request = request,
                               .answer = answer,
                               .index = index,
                               .wanted = output,
                               .ends_by_length = output == most,
                               .client_ns = setup().cost.client_latency.of(prompt_tokens),
                               .arrival_ns = time_ns,
                               .prompt_tokens = prompt_tokens})
          .first->second;
  enter(opened, 0);
}

void Emulator::enter(Open& open, std::uint16_t replica) {
  if (on_replica_.size() <= replica) on_replica_.resize(replica + std::size_t{1});
  open.replica = replica;
  open.place = on_replica_[replica].size();
  on_replica_[replica].push_back(&open);
}

void Emulator::exit(const Open& open) {
  std::vector<Open*>& there = on_replica_[open.replica];
  there[open.place] = there.back();
  there[open.place]->place = open.place;
  there.pop_back();
}

void Emulator::drop(std::uint64_t number, TimeNs now_ns) {
  std::vector<std::uint64_t> dropped;
  TimeNs arrival_ns = -1;
  for (auto& [index, open] : open_) {
    if (open.request != number || open.listener == nullptr) continue;
    open.listener = nullptr;
    dropped.push_back(index);
    arrival_ns = open.arrival_ns;
  }
  if (reached_ns_ < arrival_ns) run_until(arrival_ns);  // it may only just have come
  const TimeNs time_ns = std::max(now_ns, reached_ns_ + 1);
  for (const std::uint64_t index : dropped) {
    if (!open_.contains(index)) continue;
    run_.leave(index, time_ns);
    if (options_.keeps_records) trace_[index].gives_up_ns = time_ns - arrival_ns;
  }
  std::vector<Due> kept;
  for (; !due_.empty(); due_.pop()) {
    if (due_.top().request != number) {
      kept.push_back(due_.top());
    } else if (due_.top().ends) {
      ends_.erase(due_.top().order);
    }
  }
  due_ = decltype(due_)(Later{}, std::move(kept));
}

// --- time passes --------------------------------------------------------------------------------

void Emulator::advance(TimeNs now_ns) {
  run_until(now_ns);
  deliver_until(now_ns);
}

void Emulator::run_until(TimeNs time_ns) {
  for (TimeNs next = run_.next_ns(); next <= time_ns; next = run_.next_ns()) step_to(next);
  if (time_ns > reached_ns_) step_to(time_ns);
}

TimeNs Emulator::next_ns() const {
  const TimeNs told_ns = due_.empty() ? kNever : due_.top().time_ns;
  return std::min(run_.next_ns(), told_ns);
}

// No step ends between the latest call and this one.
void Emulator::step_to(TimeNs time_ns) {
  run_.advance(time_ns);
  reached_ns_ = std::max(reached_ns_, time_ns);
  if (note_replicas()) note_tokens(time_ns);
  for (const RequestRecord& record : std::exchange(ended_, {})) settle(record);
}

// Which of them have made tokens since the latest look. Returns whether any has.
bool Emulator::note_replicas() {
  const auto& replicas = run_.replicas();
  tokens_made_.resize(replicas.size());
  has_news_.resize(replicas.size());
  bool any = false;
  for (std::size_t i = 0; i < replicas.size(); ++i) {
    const std::uint64_t made = replicas[i]->tokens_out();
    has_news_[i] = std::exchange(tokens_made_[i], made) != made;
    any |= has_news_[i];
  }
  return any;
}

void Emulator::note_tokens(TimeNs time_ns) {
  for (std::size_t replica = 0; replica < on_replica_.size(); ++replica) {
    if (!has_news_[replica]) continue;
    for (Open* open : on_replica_[replica]) {
      const std::optional<std::int32_t> out = run_.tokens_out(open->index);
      const std::int32_t more = out ? count_tokens(*open, *out, time_ns) : 0;
      if (more > 0) tell(*open, more, time_ns + open->client_ns);
    }
  }
}

// `tokens` are out. Returns how many of them are new.
std::int32_t Emulator::count_tokens(Open& open, std::int32_t tokens, TimeNs time_ns) {
  const std::int32_t more = tokens - open.told;
  if (more <= 0) return 0;
  if (open.told == 0) {
    metrics_.on_first_token(open.replica, open.prompt_tokens,
                            time_ns - open.arrival_ns + open.client_ns);
  } else {
    metrics_.on_gap(open.replica, time_ns - open.latest_ns);
  }
  metrics_.on_tokens(open.replica, more);
  open.told = tokens;
  open.latest_ns = time_ns;
  return more;
}

void Emulator::tell(const Open& open, std::int32_t tokens, TimeNs time_ns, const AnswerEnd* end) {
  if (open.listener == nullptr) return;
  const std::uint64_t order = told_++;
  if (end != nullptr) ends_.emplace(order, *end);
  due_.push({.time_ns = time_ns,
             .order = order,
             .listener = open.listener,
             .request = open.request,
             .answer = static_cast<std::uint32_t>(open.answer),
             .tokens = tokens,
             .ends = end != nullptr});
}

AnswerEnd Emulator::end_of(const Open& open, const RequestRecord& record) const {
  switch (record.outcome) {
    case Outcome::finished:
      return {.finish_reason =
                  open.ends_by_length || record.output_tokens < open.wanted ? "length" : "stop"};
    case Outcome::rejected:
      if (open.refusal_status != 0) {
        return {.status = open.refusal_status, .problem = open.refusal};
      }
      return {.status = kStatusUnavailable, .problem = "no replica takes requests now"};
    case Outcome::lost_to_oom:
      return {.status = kStatusServerError, .problem = "the engine ran out of memory"};
    case Outcome::lost_to_fault:
      return {.status = kStatusServerError, .problem = "the engine crashed"};
    case Outcome::unfinished:
    case Outcome::cancelled: break;
  }
  return {.status = kStatusUnavailable, .problem = "the server stopped"};
}

void Emulator::settle(const RequestRecord& record) {
  const auto place = open_.find(record.index);
  HEADROOM_CHECK(place != open_.end(), "an answer ended twice");
  Open& open = place->second;
  const bool is_read = record.outcome != Outcome::cancelled;
  const std::int32_t more =
      is_read ? count_tokens(open, record.output_tokens, record.finish_ns) : 0;
  const AnswerEnd end = end_of(open, record);
  if (record.outcome == Outcome::finished) {
    metrics_.on_answer({record, open.client_ns, end.finish_reason});
  } else {
    metrics_.on_ended(record.replica, is_read ? "error" : "abort");
  }
  // A refusal comes at once: no engine has worked on it.
  const TimeNs client_ns = record.outcome == Outcome::rejected ? 0 : open.client_ns;
  tell(open, more, reached_ns_ + client_ns, &end);
  exit(open);
  open_.erase(place);
}

// A listener may ask and drop on the way.
void Emulator::deliver_until(TimeNs now_ns) {
  while (!due_.empty() && due_.top().time_ns <= now_ns) {
    const Due due = due_.top();
    due_.pop();
    if (due.ends) {
      const AnswerEnd end = ends_.extract(due.order).mapped();
      due.listener->on_end(due.answer, due.tokens, end);
    } else {
      due.listener->on_tokens(due.answer, due.tokens);
    }
  }
}

void Emulator::on_request(const RequestRecord& record) {
  if (record.outcome != Outcome::unfinished) ended_.push_back(record);
}

void Emulator::on_event(const EngineEvent& event) {
  metrics_.on_event(event);
  const auto open = open_.find(event.request);
  if (open == open_.end()) return;
  if (event.kind == EngineEventKind::admitted && event.replica != open->second.replica) {
    exit(open->second);
    enter(open->second, event.replica);
  }
  if (event.kind != EngineEventKind::rejected && event.kind != EngineEventKind::overloaded) return;
  const Refusal refusal = refusal_of(event);
  open->second.refusal = refusal.text;
  open->second.refusal_status = refusal.status;
}

// --- what it says of itself ---------------------------------------------------------------------

bool Emulator::is_up(TimeNs now_ns) const {
  return std::ranges::any_of(run_.replicas(), [now_ns](const std::unique_ptr<Replica>& replica) {
    return replica->load(now_ns).up;
  });
}

std::string Emulator::metrics_page(TimeNs now_ns) const {
  return metrics_.text(run_.replicas(), now_ns);
}

// Who still waits is told nothing any more.
RunResult Emulator::finish() {
  const TimeNs until_ns = reached_ns_ + kLongestRestNs;
  while (!open_.empty() && run_.next_ns() <= until_ns) step_to(run_.next_ns());
  return run_.finish(std::max<TimeNs>(0, reached_ns_));
}

}  // namespace headroom
