#include "sim/server/open_completions.hpp"

#include <chrono>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "sim/server/api_answer.hpp"
#include "sim/server/http_status.hpp"
#include "sim/server/media_types.hpp"

namespace headroom {

// One request, from its answers' first token to the last one's end. A client that goes takes this
// object with it, and so its request.
class OpenCompletions::Completion final : public HttpWork, private AnswerListener {
 public:
  Completion(OpenCompletions& owner, HttpReply& reply, CompletionAsk ask)
      : owner_(owner), reply_(reply), order_(owner.added_++), ask_(std::move(ask)) {
    answers_.resize(ask_.answers());
    owner_.all_.emplace(order_, this);
    owner_.waiting_answers_ += answers_.size();
  }
  Completion(const Completion&) = delete;
  Completion& operator=(const Completion&) = delete;
  ~Completion() override {
    owner_.all_.erase(order_);
    if (!number_) {
      owner_.waiting_answers_ -= answers_.size();
    } else if (ended_ < answers_.size()) {
      owner_.emulator_.drop(*number_, owner_.clock_.now_ns());
    }
  }

  [[nodiscard]] bool waits() const { return !number_.has_value(); }
  void begin() {
    owner_.waiting_answers_ -= answers_.size();
    owner_.clock_.begin();
    number_ = owner_.emulator_.ask(ask_, *this, owner_.clock_.now_ns());
    for (const auto& prompt : ask_.prompts) {
      usage_.prompt_tokens += static_cast<std::int64_t>(prompt.size());
    }
    ask_.prompts = {};
    writer_.emplace(ask_.is_chat, *number_, unix_s(), owner_.emulator_.limits().model);
  }
  // Unless it was refused at once, the client gets the header of its stream.
  void begin_stream() {
    if (is_over_ || !ask_.stream || has_begun_) return;
    has_begun_ = true;
    reply_.begin_stream(kEventsType);
    reply_.flush();
  }
  void abort() {
    if (is_over_ || waits()) return;
    owner_.emulator_.drop(*number_, owner_.clock_.now_ns());
    ended_ = answers_.size();
    for (std::size_t i = 0; i < answers_.size(); ++i) {
      if (!answers_[i].finish_reason.empty()) continue;
      answers_[i].finish_reason = "abort";
      if (ask_.stream) write_piece(i);
    }
    finish();
  }

 private:
  struct Answer {
    std::int32_t tokens = 0;   // so far
    std::int32_t written = 0;  // of them
    std::string_view finish_reason = {};
  };

  static std::int64_t unix_s() {
    const auto now = std::chrono::system_clock::now().time_since_epoch();
    return std::chrono::duration_cast<std::chrono::seconds>(now).count();
  }

  void on_tokens(std::size_t answer, std::int32_t tokens) override {
    if (is_over_) return;
    count(answer, tokens);
    if (!ask_.stream) return;
    write_piece(answer);
    reply_.flush();
  }

  void on_end(std::size_t answer, std::int32_t tokens, const AnswerEnd& end) override {
    ++ended_;
    if (is_over_) return;
    count(answer, tokens);
    if (!end.problem.empty()) return fail(end);
    answers_[answer].finish_reason = end.finish_reason;
    if (ask_.stream) write_piece(answer);
    if (ended_ == answers_.size()) return finish();
    if (ask_.stream) reply_.flush();
  }

  void count(std::size_t answer, std::int32_t tokens) {
    answers_[answer].tokens += tokens;
    usage_.completion_tokens += tokens;
  }

  [[nodiscard]] std::string next_text(std::size_t answer) {
    Answer& own = answers_[answer];
    const TokenRule& rule = owner_.emulator_.rule();
    std::string text;
    for (; own.written < own.tokens; ++own.written) {
      text += rule.filler_piece(filler_seed(*number_, answer), own.written, ask_.is_chat);
    }
    return text;
  }

  void write_piece(std::size_t answer) {
    if (!has_begun_) {
      has_begun_ = true;
      reply_.begin_stream(kEventsType);
    }
    if (ask_.is_chat && answers_[answer].written == 0) reply_.write(writer_->role_piece(answer));
    const std::string text = next_text(answer);
    reply_.write(writer_->piece(answer, text, answers_[answer].finish_reason,
                                ask_.continuous_usage_stats ? &usage_ : nullptr));
  }

  void finish() {
    is_over_ = true;
    if (ask_.stream) {
      if (ask_.include_usage) reply_.write(writer_->usage_piece(usage_));
      reply_.write(kStreamEnd);
      return reply_.end_stream();
    }
    std::vector<WholeChoice> choices;
    for (std::size_t i = 0; i < answers_.size(); ++i) {
      choices.push_back({next_text(i), answers_[i].finish_reason});
    }
    reply_.send(kStatusOk, kJsonType, writer_->whole(choices, usage_));
  }

  void fail(const AnswerEnd& end) {
    is_over_ = true;
    if (!has_begun_) {
      return reply_.send(end.status, kJsonType, error_json(end.status, end.problem));
    }
    reply_.write(error_piece(end.status, end.problem));
    reply_.end_stream(true);
  }

  OpenCompletions& owner_;
  HttpReply& reply_;
  std::uint64_t order_;
  CompletionAsk ask_;  // its prompts, until it begins
  std::optional<std::uint64_t> number_;
  std::optional<AnswerWriter> writer_;
  AnswerUsage usage_;
  std::vector<Answer> answers_;
  std::size_t ended_ = 0;
  bool has_begun_ = false;
  bool is_over_ = false;
};

std::unique_ptr<HttpWork> OpenCompletions::add(CompletionAsk ask, HttpReply& reply, bool begins) {
  auto work = std::make_unique<Completion>(*this, reply, std::move(ask));
  if (begins) {
    work->begin();
    emulator_.advance(clock_.now_ns());  // what is refused at once has no stream
  }
  work->begin_stream();
  return work;
}

void OpenCompletions::begin_waiting() {
  for (const auto& [order, one] : all_) {
    if (one->waits()) one->begin();
  }
}

// A reply that is complete does not end its work before the next turn.
void OpenCompletions::abort() {
  for (const auto& [order, one] : all_) one->abort();
}

}  // namespace headroom
