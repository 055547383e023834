#include "sim/server/api_request.hpp"

#include <fmt/format.h>

#include "sim/scenario/json_document.hpp"
#include "sim/server/http_status.hpp"

namespace headroom {
namespace {

constexpr std::size_t kShownValue = 80;
constexpr std::int64_t kDefaultMaxTokens = 16;  // of /v1/completions, as OpenAI has it
constexpr std::int64_t kMostPriority = INT32_MAX;

std::string shown_value(const Json& value) {
  std::string text = value.dump();
  if (text.size() <= kShownValue) return text;
  text.resize(kShownValue);
  while (!text.empty() && (static_cast<unsigned char>(text.back()) & 0xC0) == 0x80) text.pop_back();
  if (!text.empty() && static_cast<unsigned char>(text.back()) >= 0x80) text.pop_back();
  return text + "...";
}

[[noreturn]] void refuse_field(std::string_view name, const Json& value, std::string_view wanted) {
  throw ApiRefusal(kStatusBadRequest,
                   fmt::format("{} is {}; expected {}", name, shown_value(value), wanted),
                   std::string(name));
}

// What shows or frees a value may go down into it.
bool check_depth(int depth, Json::parse_event_t, Json&) {
  if (depth > static_cast<int>(kMaxJsonDepth)) {
    throw ApiRefusal(kStatusBadRequest,
                     fmt::format("the body is nested deeper than {} levels", kMaxJsonDepth));
  }
  return true;
}

// The fields of one request. A field that is null counts as absent.
class RequestFields {
 public:
  explicit RequestFields(std::string_view body) : json_(Json::parse(body, check_depth, false)) {
    if (json_.is_discarded()) throw ApiRefusal(kStatusBadRequest, "the body is not valid JSON");
    if (!json_.is_object()) throw ApiRefusal(kStatusBadRequest, "the body is not a JSON object");
  }

  [[nodiscard]] const Json* find(const char* name) const { return find_in(json_, name); }
  [[nodiscard]] static const Json* find_in(const Json& object, const char* name) {
    const auto found = object.find(name);
    return found == object.end() || found->is_null() ? nullptr : &*found;
  }
  // Says null itself.
  [[nodiscard]] bool is_null(const char* name) const {
    return json_.contains(name) && json_[name].is_null();
  }
  [[nodiscard]] std::optional<std::int64_t> integer(const char* name, std::int64_t low,
                                                    std::int64_t high) const {
    const Json* value = find(name);
    if (value == nullptr) return std::nullopt;
    const bool fits = value->is_number_integer() &&
                      !(value->is_number_unsigned() && value->get<std::uint64_t>() > INT64_MAX) &&
                      value->get<std::int64_t>() >= low && value->get<std::int64_t>() <= high;
    if (!fits) refuse_field(name, *value, fmt::format("an integer from {} to {}", low, high));
    return value->get<std::int64_t>();
  }
  [[nodiscard]] bool flag(const char* name, bool otherwise = false) const {
    return flag_in(json_, name, otherwise);
  }
  [[nodiscard]] static bool flag_in(const Json& object, const char* name, bool otherwise = false) {
    const Json* value = find_in(object, name);
    if (value == nullptr) return otherwise;
    if (!value->is_boolean()) refuse_field(name, *value, "true or false");
    return value->get<bool>();
  }

 private:
  Json json_;
};

class RequestReader {
 public:
  RequestReader(std::string_view body, const TokenRule& rule, const ApiLimits& limits)
      : fields_(body), rule_(rule), limits_(limits) {
    check_model();
  }

  [[nodiscard]] CompletionAsk completion(bool is_chat) {
    CompletionAsk ask;
    ask.is_chat = is_chat;
    ask.n = static_cast<std::int32_t>(fields_.integer("n", 1, limits_.most_answers).value_or(1));
    if (is_chat) {
      ask.prompts.push_back(chat(true));
    } else {
      ask.prompts = prompts();
    }
    if (static_cast<std::int64_t>(ask.answers()) > limits_.most_answers) {
      throw ApiRefusal(kStatusBadRequest,
                       fmt::format("{} prompts with n = {} are {} answers; at most {} in a request",
                                   ask.prompts.size(), ask.n, ask.answers(), limits_.most_answers),
                       "n");
    }
    read_lengths(ask);
    read_stream(ask);
    refuse_unsupported();
    return ask;
  }

  [[nodiscard]] std::vector<TokenId> tokenized() {
    if (fields_.find("messages") != nullptr) {
      return chat(fields_.flag("add_generation_prompt", true));
    }
    const Json* prompt = fields_.find("prompt");
    if (prompt == nullptr) throw ApiRefusal(kStatusBadRequest, "prompt is missing", "prompt");
    if (!prompt->is_string()) refuse_field("prompt", *prompt, "a text");
    return cut(prompt->get_ref<const std::string&>(), true);
  }

 private:
  void check_model() const {
    const Json* model = fields_.find("model");
    if (model == nullptr) return;
    if (!model->is_string()) refuse_field("model", *model, "a name");
    if (model->get_ref<const std::string&>() == limits_.model) return;
    throw ApiRefusal(kStatusNotFound,
                     fmt::format("no model {}; {} is served", shown_value(*model), limits_.model),
                     "model");
  }

  [[nodiscard]] std::vector<TokenId> cut(const std::string& text, bool adds_special) const {
    try {
      return rule_.ids_of(text, fields_.flag("add_special_tokens", adds_special));
    } catch (const PatternLimit& limit) {
      throw ApiRefusal(kStatusBadRequest, limit.what(), "prompt");
    }
  }

  // A text, a list of token ids, or a list of either.
  [[nodiscard]] std::vector<std::vector<TokenId>> prompts() const {
    const Json* prompt = fields_.find("prompt");
    if (prompt == nullptr) throw ApiRefusal(kStatusBadRequest, "prompt is missing", "prompt");
    const bool many =
        prompt->is_array() && !prompt->empty() && !prompt->front().is_number_integer();
    std::vector<std::vector<TokenId>> all;
    if (!many) {
      all.push_back(one_prompt(*prompt));
      return all;
    }
    if (static_cast<std::int64_t>(prompt->size()) > limits_.most_answers) {
      throw ApiRefusal(
          kStatusBadRequest,
          fmt::format("{} prompts in a request; at most {}", prompt->size(), limits_.most_answers),
          "prompt");
    }
    for (const Json& one : *prompt) all.push_back(one_prompt(one));
    return all;
  }

  [[nodiscard]] std::vector<TokenId> one_prompt(const Json& prompt) const {
    std::vector<TokenId> ids;
    if (prompt.is_string()) {
      ids = cut(prompt.get_ref<const std::string&>(), true);
    } else if (prompt.is_array()) {
      ids = listed_ids(prompt);
    } else {
      refuse_field("prompt", prompt, "a text, a list of token ids, or a list of either");
    }
    return checked_prompt(std::move(ids), "prompt");
  }

  [[nodiscard]] std::vector<TokenId> listed_ids(const Json& list) const {
    std::vector<TokenId> ids;
    ids.reserve(list.size());
    for (const Json& id : list) {
      const bool fits = id.is_number_integer() && id >= 0 && id < rule_.vocabulary();
      if (!fits) {
        refuse_field("prompt", id, fmt::format("token ids from 0 to {}", rule_.vocabulary() - 1));
      }
      ids.push_back(id.get<TokenId>());
    }
    return ids;
  }

  [[nodiscard]] std::vector<TokenId> checked_prompt(std::vector<TokenId> ids,
                                                    const char* name) const {
    if (ids.empty()) throw ApiRefusal(kStatusBadRequest, fmt::format("{} is empty", name), name);
    if (static_cast<std::int64_t>(ids.size()) >= limits_.max_model_len) {
      throw ApiRefusal(kStatusBadRequest,
                       fmt::format("the prompt has {} tokens; the model takes {} in all",
                                   ids.size(), limits_.max_model_len),
                       name);
    }
    return ids;
  }

  [[nodiscard]] std::vector<TokenId> chat(bool asks) const {
    const Json* messages = fields_.find("messages");
    if (messages == nullptr) throw ApiRefusal(kStatusBadRequest, "messages is missing", "messages");
    if (!messages->is_array() || messages->empty()) {
      refuse_field("messages", *messages, "a list of messages");
    }
    std::vector<ChatMessage> read;
    for (const Json& message : *messages) read.push_back(one_message(message));
    try {
      return checked_prompt(chat_ids(rule_, read, asks), "messages");
    } catch (const PatternLimit& limit) {
      throw ApiRefusal(kStatusBadRequest, limit.what(), "messages");
    }
  }

  [[nodiscard]] static ChatMessage one_message(const Json& message) {
    if (!message.is_object()) refuse_field("messages", message, "objects with role and content");
    const Json* role = RequestFields::find_in(message, "role");
    if (role == nullptr || !role->is_string()) {
      refuse_field("messages", message, "a role in every message");
    }
    ChatMessage read{role->get<std::string>(), {}};
    const Json* content = RequestFields::find_in(message, "content");
    if (content == nullptr) return read;  // of an answer that called tools
    if (content->is_string()) {
      read.text = content->get<std::string>();
      return read;
    }
    if (!content->is_array()) refuse_field("content", *content, "a text or a list of parts");
    for (const Json& part : *content) {
      const Json* text = part.is_object() ? RequestFields::find_in(part, "text") : nullptr;
      if (text == nullptr || !text->is_string()) {
        refuse_field("content", part, "parts of type text: images and sound are not served");
      }
      read.text += text->get_ref<const std::string&>();
    }
    return read;
  }

  void read_lengths(CompletionAsk& ask) const {
    const std::int64_t most = limits_.max_model_len;
    std::optional<std::int64_t> wanted;
    if (ask.is_chat) wanted = fields_.integer("max_completion_tokens", 1, most);
    if (!wanted) wanted = fields_.integer("max_tokens", 1, most);
    const bool says_none = fields_.is_null("max_tokens");
    if (!wanted && !ask.is_chat && !says_none) wanted = kDefaultMaxTokens;
    ask.min_tokens = static_cast<std::int32_t>(fields_.integer("min_tokens", 0, most).value_or(0));
    ask.ignore_eos = fields_.flag("ignore_eos");
    ask.priority = static_cast<std::int32_t>(
        fields_.integer("priority", -kMostPriority, kMostPriority).value_or(0));
    if (!wanted) return;
    ask.max_tokens = static_cast<std::int32_t>(*wanted);
    if (ask.min_tokens > *wanted) {
      throw ApiRefusal(
          kStatusBadRequest,
          fmt::format("min_tokens is {}, but max_tokens is {}", ask.min_tokens, *wanted),
          "min_tokens");
    }
    for (const std::vector<TokenId>& prompt : ask.prompts) {
      const auto tokens = static_cast<std::int64_t>(prompt.size());
      if (tokens + *wanted <= most) continue;
      throw ApiRefusal(kStatusBadRequest,
                       fmt::format("the prompt has {} tokens and max_tokens is {}; the model takes "
                                   "{} in all",
                                   tokens, *wanted, most),
                       "max_tokens");
    }
  }

  void read_stream(CompletionAsk& ask) const {
    ask.stream = fields_.flag("stream");
    const Json* options = fields_.find("stream_options");
    if (options == nullptr) return;
    if (!options->is_object()) refuse_field("stream_options", *options, "an object");
    if (!ask.stream) {
      throw ApiRefusal(kStatusBadRequest, "stream_options without stream", "stream_options");
    }
    ask.include_usage = RequestFields::flag_in(*options, "include_usage");
    ask.continuous_usage_stats =
        ask.include_usage && RequestFields::flag_in(*options, "continuous_usage_stats");
  }

  // What an answer would lack.
  void refuse_unsupported() const {
    for (const char* name : {"echo", "use_beam_search"}) {
      if (fields_.flag(name)) {
        throw ApiRefusal(kStatusBadRequest, fmt::format("{} is not simulated", name), name);
      }
    }
    for (const char* name : {"logprobs", "prompt_logprobs", "top_logprobs"}) {
      const Json* value = fields_.find(name);
      const bool off = value == nullptr || *value == false || *value == 0;
      if (!off) {
        throw ApiRefusal(kStatusBadRequest,
                         fmt::format("{} is not simulated: answers are filler text", name), name);
      }
    }
  }

  RequestFields fields_;
  const TokenRule& rule_;
  const ApiLimits& limits_;
};

}  // namespace

CompletionAsk read_completion(std::string_view body, bool is_chat, const TokenRule& rule,
                              const ApiLimits& limits) {
  return RequestReader(body, rule, limits).completion(is_chat);
}

std::vector<TokenId> read_tokenize(std::string_view body, const TokenRule& rule,
                                   const ApiLimits& limits) {
  return RequestReader(body, rule, limits).tokenized();
}

}  // namespace headroom
