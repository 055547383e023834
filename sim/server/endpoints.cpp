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
#include "sim/server/media_types.hpp"

namespace headroom {
namespace {

constexpr std::string_view kCompletions = "/v1/completions";
constexpr std::string_view kChat = "/v1/chat/completions";
constexpr std::string_view kTokenize = "/tokenize";
constexpr std::array kPosted = {kCompletions, kChat, kTokenize};
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

// Only with a playground the page shows the way to it.
std::string live_page(bool has_playground) {
  std::string page(live_files().front().content);
  constexpr std::string_view kHidden = "<p hidden>";
  if (has_playground) page.replace(page.find(kHidden), kHidden.size(), "<p>");
  return page;
}

}  // namespace

Endpoints::Endpoints(EndpointOptions options, Emulator& emulator, ServeClock& clock)
    : options_(std::move(options)),
      emulator_(emulator),
      clock_(clock),
      completions_(emulator, clock),
      created_s_(unix_s()),
      live_page_(live_page(!options_.ui.empty())) {
  if (options_.sleep_mode) sleep_.emplace(*options_.sleep_mode, emulator, clock, completions_);
}

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

// All paths but those of files, and their methods.
std::vector<SleepEndpoints::Path> Endpoints::paths() const {
  std::vector<SleepEndpoints::Path> paths;
  for (const std::string_view path : kPosted) paths.push_back({path, "POST"});
  for (const std::string_view path : kRead) paths.push_back({path, "GET"});
  if (sleep_)
    paths.insert(paths.end(), std::begin(SleepEndpoints::kPaths), std::end(SleepEndpoints::kPaths));
  return paths;
}

std::unique_ptr<HttpWork> Endpoints::route(const HttpAsk& ask, HttpReply& reply) {
  check_key(ask);
  if (show_ui(ask, reply)) return nullptr;
  const std::vector<SleepEndpoints::Path> all = paths();
  const auto found = std::ranges::find(all, ask.path, &SleepEndpoints::Path::path);
  if (found == all.end()) {
    std::vector<std::string_view> served;
    for (const auto& [path, method] : all) served.push_back(path);
    throw ApiRefusal(kStatusNotFound,
                     fmt::format("no such path; served are {}", fmt::join(served, ", ")));
  }
  if (ask.method != found->method) {
    reply.send(kStatusWrongMethod, kJsonType,
               error_json(kStatusWrongMethod, fmt::format("{} takes {}", ask.path, found->method)),
               fmt::format("Allow: {}\r\n", found->method));
    return nullptr;
  }
  if (!is_ready_ && (found->method == "POST" || ask.path == "/health")) {
    throw ApiRefusal(kStatusUnavailable, "the engine is starting");
  }
  const bool is_of_sleep =
      std::ranges::find(SleepEndpoints::kPaths, ask.path, &SleepEndpoints::Path::path) !=
      std::end(SleepEndpoints::kPaths);
  if (is_of_sleep) return sleep_->begin(ask, reply);
  if (ask.path == kCompletions || ask.path == kChat) return complete(ask, reply, ask.path == kChat);
  show(ask, reply);
  return nullptr;
}

std::unique_ptr<HttpWork> Endpoints::complete(const HttpAsk& ask, HttpReply& reply, bool is_chat) {
  CompletionAsk wanted = read_completion(ask.body, is_chat, emulator_.rule(), emulator_.limits());
  if (completions_.answers() + wanted.answers() > options_.most_open) {
    throw ApiRefusal(kStatusTooManyRequests,
                     fmt::format("{} answers are being made already", options_.most_open));
  }
  return completions_.add(std::move(wanted), reply, !sleep_ || sleep_->takes_requests());
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
    return reply.send(kStatusOk, kPageType, live_page_, kPageRules);
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
                      fmt::format(R"({{"server_load":{}}})", completions_.answers()));
  }
  if (ask.path == "/metrics") {
    return reply.send(kStatusOk, kMetricsType, emulator_.metrics_page(clock_.now_ns()));
  }
  if (!emulator_.is_up(clock_.now_ns())) throw ApiRefusal(kStatusUnavailable, "no engine is up");
  reply.send(kStatusOk, kJsonType, "");
}

}  // namespace headroom
