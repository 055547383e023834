#include "sim/server/endpoints.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <optional>
#include <utility>
#include <vector>

#include "sim/scenario/json_document.hpp"
#include "sim/server/api_answer.hpp"
#include "sim/server/api_request.hpp"
#include "sim/server/http_status.hpp"

namespace headroom {
namespace {

constexpr std::string_view kJsonType = "application/json";
constexpr std::string_view kEventsType = "text/event-stream; charset=utf-8";
constexpr std::string_view kMetricsType = "text/plain; version=0.0.4; charset=utf-8";

constexpr std::string_view kCompletions = "/v1/completions";
constexpr std::string_view kChat = "/v1/chat/completions";
constexpr std::string_view kTokenize = "/tokenize";
constexpr std::array kPosted = {kCompletions, kChat, kTokenize};
constexpr std::string_view kPageType = "text/html; charset=utf-8";
// The page loads nothing but the numbers of this server.
constexpr std::string_view kPageRules =
    "Content-Security-Policy: default-src 'none'; style-src 'unsafe-inline'; "
    "script-src 'unsafe-inline'; connect-src 'self'; frame-ancestors 'none'\r\n";
constexpr std::array<std::string_view, 6> kRead = {"/",        "/health",  "/v1/models",
                                                   "/version", "/metrics", "/load"};

// Takes the same time wherever the texts differ first.
bool same_secret(std::string_view a, std::string_view b) {
  unsigned differs = a.size() == b.size() ? 0 : 1;
  for (std::size_t i = 0; i < a.size(); ++i) {
    differs |= static_cast<unsigned>(
        static_cast<unsigned char>(a[i]) ^
        static_cast<unsigned char>(b[i % std::max<std::size_t>(1, b.size())]));
  }
  return differs == 0;
}

std::int64_t unix_s() {
  return std::chrono::duration_cast<std::chrono::seconds>(
             std::chrono::system_clock::now().time_since_epoch())
      .count();
}

}  // namespace

// One request for completions, from its answers' first token to the last one's end. A client that
// goes takes this object with it, and so its request.
class Endpoints::Completion final : public HttpWork, private AnswerListener {
 public:
  Completion(Endpoints& endpoints, HttpReply& reply, const CompletionAsk& ask)
      : endpoints_(endpoints),
        reply_(reply),
        is_chat_(ask.is_chat),
        is_streamed_(ask.stream),
        include_usage_(ask.include_usage),
        usage_in_pieces_(ask.continuous_usage_stats),
        number_(endpoints.emulator_.ask(ask, *this, endpoints.clock_.now_ns())),
        writer_(ask.is_chat, number_, unix_s(), endpoints.emulator_.limits().model),
        answers_(ask.answers()) {
    for (const auto& prompt : ask.prompts) {
      usage_.prompt_tokens += static_cast<std::int64_t>(prompt.size());
    }
  }
  ~Completion() override {
    if (ended_ < answers_.size()) endpoints_.emulator_.drop(number_, endpoints_.clock_.now_ns());
  }

  // It is not refused, so the client gets the header.
  void begin_stream() {
    if (is_over_ || !is_streamed_ || has_begun_) return;
    has_begun_ = true;
    reply_.begin_stream(kEventsType);
  }

 private:
  struct Answer {
    std::int32_t tokens = 0;   // so far
    std::int32_t written = 0;  // of them
    std::string_view finish_reason = {};
  };

  void on_tokens(std::size_t answer, std::int32_t tokens) override {
    if (is_over_) return;
    count(answer, tokens);
    if (is_streamed_) write_piece(answer);
  }

  void on_end(std::size_t answer, std::int32_t tokens, const AnswerEnd& end) override {
    ++ended_;
    if (is_over_) return;
    count(answer, tokens);
    if (!end.problem.empty()) return fail(end);
    answers_[answer].finish_reason = end.finish_reason;
    if (is_streamed_) write_piece(answer);
    if (ended_ == answers_.size()) finish();
  }

  void count(std::size_t answer, std::int32_t tokens) {
    answers_[answer].tokens += tokens;
    usage_.completion_tokens += tokens;
  }

  [[nodiscard]] std::string next_text(std::size_t answer) {
    Answer& own = answers_[answer];
    std::string text;
    for (; own.written < own.tokens; ++own.written) {
      text += filler_piece(filler_seed(number_, answer), own.written, is_chat_);
    }
    return text;
  }

  void write_piece(std::size_t answer) {
    begin_stream();
    if (is_chat_ && answers_[answer].written == 0) reply_.write(writer_.role_piece(answer));
    const std::string text = next_text(answer);
    reply_.write(writer_.piece(answer, text, answers_[answer].finish_reason,
                               usage_in_pieces_ ? &usage_ : nullptr));
  }

  void finish() {
    is_over_ = true;
    if (is_streamed_) {
      if (include_usage_) reply_.write(writer_.usage_piece(usage_));
      reply_.write(kStreamEnd);
      return reply_.end_stream();
    }
    std::vector<WholeChoice> choices;
    for (std::size_t i = 0; i < answers_.size(); ++i) {
      choices.push_back({next_text(i), answers_[i].finish_reason});
    }
    reply_.send(kStatusOk, kJsonType, writer_.whole(choices, usage_));
  }

  void fail(const AnswerEnd& end) {
    is_over_ = true;
    if (!has_begun_) {
      return reply_.send(end.status, kJsonType, error_json(end.status, end.problem));
    }
    reply_.write(error_piece(end.status, end.problem));
    reply_.end_stream(true);
  }

  Endpoints& endpoints_;
  HttpReply& reply_;
  bool is_chat_;
  bool is_streamed_;
  bool include_usage_;
  bool usage_in_pieces_;
  std::uint64_t number_;
  AnswerWriter writer_;
  AnswerUsage usage_;
  std::vector<Answer> answers_;
  std::size_t ended_ = 0;
  bool has_begun_ = false;
  bool is_over_ = false;
};

Endpoints::Endpoints(EndpointOptions options, Emulator& emulator, ServeClock& clock)
    : options_(std::move(options)), emulator_(emulator), clock_(clock), created_s_(unix_s()) {}

std::unique_ptr<HttpWork> Endpoints::begin(const HttpAsk& ask, HttpReply& reply) {
  try {
    return route(ask, reply);
  } catch (const ApiRefusal& refusal) {
    reply.send(refusal.status(), kJsonType,
               error_json(refusal.status(), refusal.what(), refusal.param()));
    return nullptr;
  }
}

void Endpoints::check_key(const HttpAsk& ask) const {
  if (options_.api_key.empty() || !ask.path.starts_with("/v1/")) return;
  if (same_secret(ask.authorization, "Bearer " + options_.api_key)) return;
  throw ApiRefusal(kStatusUnauthorized,
                   "the Authorization header does not have the key of this server");
}

std::unique_ptr<HttpWork> Endpoints::route(const HttpAsk& ask, HttpReply& reply) {
  check_key(ask);
  if (show_ui(ask, reply)) return nullptr;
  const bool is_posted = std::ranges::find(kPosted, ask.path) != kPosted.end();
  if (!is_posted && std::ranges::find(kRead, ask.path) == kRead.end()) {
    throw ApiRefusal(kStatusNotFound,
                     fmt::format("no such path; served are {}, {}", fmt::join(kPosted, ", "),
                                 fmt::join(kRead, ", ")));
  }
  const std::string_view method = is_posted ? "POST" : "GET";
  if (ask.method != method) {
    reply.send(kStatusWrongMethod, kJsonType,
               error_json(kStatusWrongMethod, fmt::format("{} takes {}", ask.path, method)),
               fmt::format("Allow: {}\r\n", method));
    return nullptr;
  }
  if (!is_ready_ && (is_posted || ask.path == "/health")) {
    throw ApiRefusal(kStatusUnavailable, "the engine is starting");
  }
  if (ask.path == kCompletions || ask.path == kChat) return complete(ask, reply, ask.path == kChat);
  show(ask, reply);
  return nullptr;
}

std::unique_ptr<HttpWork> Endpoints::complete(const HttpAsk& ask, HttpReply& reply, bool is_chat) {
  const CompletionAsk wanted =
      read_completion(ask.body, is_chat, emulator_.rule(), emulator_.limits());
  if (emulator_.open_answers() + wanted.answers() > options_.most_open) {
    throw ApiRefusal(kStatusTooManyRequests,
                     fmt::format("{} answers are being made already", options_.most_open));
  }
  clock_.begin();
  auto work = std::make_unique<Completion>(*this, reply, wanted);
  emulator_.advance(clock_.now_ns());  // what is refused at once has no stream
  work->begin_stream();
  return work;
}

// The playground's own page says what it may load.
bool Endpoints::show_ui(const HttpAsk& ask, HttpReply& reply) const {
  if (ask.method != "GET" || options_.ui.empty()) return false;
  if (ask.path == "/ui") {
    reply.send(kStatusMoved, "text/plain", "", "Location: /ui/\r\n");
    return true;
  }
  const std::optional<UiFile> file = options_.ui.find(ask.path);
  if (file) reply.send(kStatusOk, file->type, file->content, "Cache-Control: no-cache\r\n");
  return file.has_value();
}

void Endpoints::show(const HttpAsk& ask, HttpReply& reply) {
  const ApiLimits& limits = emulator_.limits();
  if (ask.path == kTokenize) {
    const std::vector<TokenId> ids = read_tokenize(ask.body, emulator_.rule(), limits);
    return reply.send(kStatusOk, kJsonType, tokens_json(ids, limits.max_model_len));
  }
  if (ask.path == "/") {
    return reply.send(kStatusOk, kPageType, live_files().front().content, kPageRules);
  }
  if (ask.path == "/v1/models") {
    return reply.send(kStatusOk, kJsonType,
                      models_json(limits.model, created_s_, limits.max_model_len));
  }
  if (ask.path == "/version") {
    return reply.send(kStatusOk, kJsonType, Json{{"version", options_.version}}.dump());
  }
  if (ask.path == "/load") {
    return reply.send(kStatusOk, kJsonType,
                      fmt::format(R"({{"server_load":{}}})", emulator_.open_answers()));
  }
  if (ask.path == "/metrics") {
    return reply.send(kStatusOk, kMetricsType, emulator_.metrics_page(clock_.now_ns()));
  }
  if (!emulator_.is_up(clock_.now_ns())) throw ApiRefusal(kStatusUnavailable, "no engine is up");
  reply.send(kStatusOk, kJsonType, "");
}

}  // namespace headroom
