#include "sim/observe/server_facts.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <utility>

#include "sim/kernel/errors.hpp"
#include "sim/kernel/nearest_name.hpp"
#include "sim/scenario/json_document.hpp"

namespace headroom {
namespace {

constexpr std::int64_t kTokenizedWords = 512;
constexpr std::int64_t kProbeTokens = 64;
constexpr std::int64_t kLongProbeWords = 512;
constexpr std::int64_t kMostAddedTokens = 8;
// Where the server has no tokenizer to ask: beyond the ids of bytes and of control tokens, and
// within every vocabulary of 2,000 tokens or more.
constexpr std::int32_t kFirstId = 1000;
constexpr std::int32_t kIds = 1000;
constexpr std::size_t kFewestIds = 16;

[[noreturn]] void refuse_server(std::string problem, ErrorKind kind = ErrorKind::unreadable) {
  throw ConfigError(Complaint{.kind = kind, .origin = "observe", .problem = std::move(problem)});
}

class Discovery {
 public:
  Discovery(HttpClient& client, TimeNs timeout_ns) : client_(client), timeout_ns_(timeout_ns) {}

  ServerFacts run(const std::string& model) {
    facts_.rule.model = served_model(model);
    facts_.version = version();
    choose_form();
    return std::move(facts_);
  }

 private:
  HttpEnd get(const std::string& path) {
    return fetch(client_, {.path = path, .timeout_ns = timeout_ns_});
  }

  std::string served_model(const std::string& wanted) {
    const HttpEnd end = get("/v1/models");
    if (!end.problem.empty()) refuse_server("cannot reach the server: " + end.problem);
    if (end.status != kHttpOk) {
      if (!wanted.empty() && end.status == 404) return wanted;
      refuse_server("/v1/models: " + refusal_text(end));
    }
    const std::vector<std::string> names = names_in(end.body);
    if (wanted.empty() && names.size() == 1) return names.front();
    std::string listed;
    for (const std::string& name : names) listed += (listed.empty() ? "" : ", ") + name;
    if (wanted.empty()) {
      refuse_server(fmt::format("the server lists {} models ({}): choose one with --served-model",
                                names.size(), listed),
                    ErrorKind::missing);
    }
    if (std::ranges::find(names, wanted) != names.end()) return wanted;
    throw ConfigError(Complaint{.kind = ErrorKind::unknown,
                                .origin = "--served-model",
                                .value = wanted,
                                .problem = "the server lists " + listed});
  }

  static std::vector<std::string> names_in(const std::string& body) {
    const Json json = Json::parse(body, nullptr, false);
    if (!json.is_object() || !json.contains("data") || !json["data"].is_array()) {
      refuse_server("/v1/models: expected {\"data\": [{\"id\": ...}]}, as OpenAI's API has it");
    }
    std::vector<std::string> names;
    for (const Json& row : json["data"]) {
      if (row.is_object() && row.contains("id") && row["id"].is_string()) {
        names.push_back(row["id"].get<std::string>());
      }
    }
    if (names.empty()) refuse_server("/v1/models: the server lists no model");
    return names;
  }

  std::string version() {
    const HttpEnd end = get("/version");
    const Json json = Json::parse(end.body, nullptr, false);
    const bool told = end.status == kHttpOk && end.problem.empty() && json.is_object() &&
                      json.contains("version") && json["version"].is_string();
    return told ? json["version"].get<std::string>() : std::string();
  }

  // The ids of common words, which are in the vocabulary and no control tokens; empty: the server
  // has no tokenizer to ask. Both spellings of the text are sent: each server reads its own.
  std::vector<std::int32_t> tokenized_ids() {
    const Json text = made_up_words(kTokenizedWords, 0);
    const Json body = {{"model", facts_.rule.model},
                       {"prompt", text},
                       {"content", text},
                       {"add_special_tokens", false}};
    const HttpEnd end =
        fetch(client_, {.path = "/tokenize", .body = body.dump(), .timeout_ns = timeout_ns_});
    const Json json = Json::parse(end.body, nullptr, false);
    std::vector<std::int32_t> ids;
    if (end.status != kHttpOk || !end.problem.empty() || !json.is_object() ||
        !json.contains("tokens") || !json["tokens"].is_array()) {
      return ids;
    }
    for (const Json& id : json["tokens"]) {
      if (!id.is_number_integer() || id < 0 || id > INT32_MAX) return {};
      ids.push_back(id.get<std::int32_t>());
    }
    std::ranges::sort(ids);
    ids.erase(std::unique(ids.begin(), ids.end()), ids.end());
    return ids.size() < kFewestIds ? std::vector<std::int32_t>() : ids;
  }

  // From the most exact form to the plainest one; the first that is not refused.
  void choose_form() {
    PromptRule& prompt = facts_.rule.prompt;
    prompt.ids = tokenized_ids();
    const bool has_tokenizer = !prompt.ids.empty();
    if (!has_tokenizer) {
      prompt.ids.resize(kIds);
      std::iota(prompt.ids.begin(), prompt.ids.end(), kFirstId);
    }
    std::string refusal;
    for (const PromptForm form : {PromptForm::token_ids, PromptForm::words}) {
      for (const bool ignores_eos : {true, false}) {
        prompt.form = form;
        facts_.rule.ignores_eos = ignores_eos;
        const CompletionEnd end = probe(kProbeTokens);
        if (end.problem.empty()) return settle(end, has_tokenizer);
        if (end.http.status < 400 || end.http.status > 499 || end.http.status == 401 ||
            end.http.status == 403) {
          refuse_server("/v1/completions: " + end.problem);
        }
        refusal = end.problem;
      }
    }
    refuse_server("/v1/completions: " + refusal);
  }

  CompletionEnd probe(std::int64_t tokens) {
    Arrival arrival;
    arrival.prompt_tokens = static_cast<std::int32_t>(tokens);
    const std::string prompt = prompt_json(facts_.rule.prompt, arrival, ++probes_, 0);
    return complete_now(client_, completion_json(facts_.rule, prompt, 1, 0), timeout_ns_);
  }

  void settle(const CompletionEnd& end, bool has_tokenizer) {
    const auto counted = end.stream.prompt_tokens();
    facts_.counts_tokens = counted.has_value() && end.stream.output_tokens().has_value();
    if (!facts_.counts_tokens) {
      facts_.notes.emplace_back(
          "the server does not count tokens (usage): answers are counted by their chunks, prompts "
          "as they were sent");
    }
    if (!facts_.rule.ignores_eos) {
      facts_.notes.emplace_back(
          "the server refuses ignore_eos: answers may end before their length");
    }
    if (facts_.rule.prompt.form == PromptForm::token_ids) {
      settle_ids(counted, has_tokenizer);
    } else {
      settle_words(counted);
    }
  }

  void settle_ids(std::optional<std::int64_t> counted, bool has_tokenizer) {
    facts_.notes.push_back(
        has_tokenizer ? fmt::format("prompts are token ids, drawn from {} that /tokenize returned",
                                    facts_.rule.prompt.ids.size())
                      : fmt::format("prompts are token ids {} to {}: the server has no /tokenize",
                                    kFirstId, kFirstId + kIds - 1));
    const std::int64_t added = counted.value_or(kProbeTokens) - kProbeTokens;
    if (added == 0) return;
    if (added < 0 || added > kMostAddedTokens) {
      facts_.notes.push_back(
          fmt::format("the server counts {} tokens in a prompt of {} ids", *counted, kProbeTokens));
      return;
    }
    facts_.rule.prompt.added_tokens = added;
    facts_.notes.push_back(
        fmt::format("the server adds {} to each prompt: prompts are shorter by that", added));
  }

  // Two lengths give what the server adds and what a word is.
  void settle_words(std::optional<std::int64_t> counted) {
    PromptRule& prompt = facts_.rule.prompt;
    facts_.notes.emplace_back(
        "the server refuses token ids: prompts are words, and their lengths are near what was "
        "asked for");
    if (!counted) return;
    const CompletionEnd longer = probe(kLongProbeWords);
    const auto more = longer.stream.prompt_tokens();
    if (!longer.problem.empty() || !more || *more <= *counted) return;
    prompt.tokens_per_word =
        static_cast<double>(*more - *counted) / static_cast<double>(kLongProbeWords - kProbeTokens);
    prompt.added_tokens = std::max<std::int64_t>(
        0, std::llround(static_cast<double>(*counted) -
                        prompt.tokens_per_word * static_cast<double>(kProbeTokens)));
  }

  HttpClient& client_;
  TimeNs timeout_ns_;
  ServerFacts facts_;
  std::uint64_t probes_ = 0;
};

}  // namespace

ServerFacts find_out(HttpClient& client, const std::string& model, TimeNs timeout_ns) {
  return Discovery(client, timeout_ns).run(model);
}

}  // namespace headroom
