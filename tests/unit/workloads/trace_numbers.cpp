#include "tests/unit/workloads/trace_numbers.hpp"

#include <algorithm>
#include <array>
#include <catch2/catch.hpp>
#include <regex>

#include "workloads/traces/csv_rows.hpp"

namespace headroom::trace_samples {
namespace {

struct Key {
  std::string_view format;
  std::string_view name;
  Meaning meaning;
};

constexpr Meaning kCount = Meaning::count;
constexpr Meaning kTime = Meaning::time;
constexpr Meaning kId = Meaning::id;
constexpr Meaning kUnread = Meaning::unread;

constexpr std::array kKeys = {
    Key{"aibrix", "timestamp", kTime},
    Key{"aibrix", "Prompt Length", kCount},
    Key{"aibrix", "Output Length", kCount},
    Key{"aibrix", "prompt_length", kCount},
    Key{"aibrix", "output_length", kCount},
    Key{"aibrix", "session_id", Meaning::name},
    Key{"aiperf", "session_num", kUnread},
    Key{"aiperf", "turn_index", kCount},
    Key{"aiperf", "request_start_ns", kTime},
    Key{"aiperf", "request_end_ns", kTime},
    Key{"aiperf", "input_sequence_length/value", kCount},
    Key{"aiperf", "output_sequence_length/value", kCount},
    Key{"aiperf", "output_token_count/value", kCount},
    Key{"aiperf", "reasoning_token_count/value", kCount},
    Key{"aiperf", "error_isl/value", kCount},
    Key{"aiperf", "time_to_first_token/value", kTime},
    Key{"aiperf", "request_latency/value", kTime},
    Key{"aiperf", "inter_chunk_latency/value", kUnread},
    Key{"aiperf", "code", kUnread},
    Key{"apex", "ContextTokens", kCount},
    Key{"apex", "GeneratedTokens", kCount},
    Key{"apex", "StartTimeOffset", kTime},
    Key{"apex", "RequestID", kUnread},
    Key{"apex", "TotalTokens", kUnread},
    Key{"azure", "TIMESTAMP", Meaning::fixed},
    Key{"azure", "ContextTokens", kCount},
    Key{"azure", "GeneratedTokens", kCount},
    Key{"bailian", "chat_id", kId},
    Key{"bailian", "parent_chat_id", Meaning::parent},
    Key{"bailian", "timestamp", kTime},
    Key{"bailian", "input_length", kCount},
    Key{"bailian", "output_length", kCount},
    Key{"bailian", "turn", kCount},
    Key{"bailian", "hash_ids", kId},
    Key{"blis", "request_id", kUnread},
    Key{"blis", "vllm_priority", kCount},
    Key{"blis", "round_index", kCount},
    Key{"blis", "prefix_length", kCount},
    Key{"blis", "input_tokens", kCount},
    Key{"blis", "output_tokens", kCount},
    Key{"blis", "reason_ratio", Meaning::fixed},
    Key{"blis", "server_input_tokens", kCount},
    Key{"blis", "arrival_time_us", kTime},
    Key{"blis", "send_time_us", kTime},
    Key{"blis", "first_chunk_time_us", kTime},
    Key{"blis", "last_chunk_time_us", kTime},
    Key{"blis", "num_chunks", kUnread},
    Key{"burstgpt", "Timestamp", kTime},
    Key{"burstgpt", "Elapsed time", kUnread},
    Key{"burstgpt", "Request tokens", kCount},
    Key{"burstgpt", "Response tokens", kCount},
    Key{"burstgpt", "Total tokens", kUnread},
    Key{"guidellm", "version", kUnread},
    Key{"guidellm", "rate", kUnread},
    Key{"guidellm", "successful", kCount},
    Key{"guidellm", "errored", kUnread},
    Key{"guidellm", "incomplete", kUnread},
    Key{"guidellm", "total", kUnread},
    Key{"guidellm", "turn_index", kUnread},
    Key{"guidellm", "request_start", kUnread},
    Key{"guidellm", "text_tokens", kUnread},
    Key{"guidellm", "request_start_time", kTime},
    Key{"guidellm", "request_end_time", kUnread},
    Key{"guidellm", "request_latency", kTime},
    Key{"guidellm", "prompt_tokens", kCount},
    Key{"guidellm", "output_tokens", kCount},
    Key{"guidellm", "time_to_first_token_ms", kTime},
    Key{"guidellm", "inter_token_latency_ms", kUnread},
    Key{"headroom", "arrival_ns", kTime},
    Key{"headroom", "prompt_tokens", kCount},
    Key{"headroom", "output_tokens", kCount},
    Key{"headroom", "thinking_tokens", kCount},
    Key{"headroom", "max_tokens", kCount},
    Key{"headroom", "priority", Meaning::integer},
    Key{"headroom", "session", Meaning::wide_id},
    Key{"headroom", "after_previous_ns", kTime},
    Key{"headroom", "output_segment", Meaning::wide_id},
    Key{"headroom", "gives_up_ns", kTime},
    Key{"headroom", "measured_ttft_ns", kTime},
    Key{"headroom", "measured_e2el_ns", kTime},
    Key{"llmservingsim", "input_toks", kCount},
    Key{"llmservingsim", "output_toks", kCount},
    Key{"llmservingsim", "arrival_time_ns", kTime},
    Key{"llmservingsim", "tool_duration_ns", kTime},
    Key{"llmservingsim", "session_id", Meaning::name},
    Key{"llmservingsim", "input_tok_ids", kId},
    Key{"llmservingsim", "output_tok_ids", kId},
    Key{"mooncake", "timestamp", kTime},
    Key{"mooncake", "input_length", kCount},
    Key{"mooncake", "output_length", kCount},
    Key{"mooncake", "hash_ids", kId},
    Key{"mooncake", "session_id", Meaning::name},
    Key{"mooncake", "delay", kTime},
    Key{"mooncake", "delay_ms", kTime},
    Key{"ragpulse", "timestamp", kTime},
    Key{"ragpulse", "input_length", kCount},
    Key{"ragpulse", "output_length", kCount},
    Key{"ragpulse", "sys_prompt", Meaning::fixed},
    Key{"ragpulse", "passages_ids", Meaning::fixed},
    Key{"ragpulse", "history", Meaning::fixed},
    Key{"ragpulse", "web_search", Meaning::fixed},
    Key{"ragpulse", "user_input", Meaning::fixed},
    Key{"splitwise", "request_id", kUnread},
    Key{"splitwise", "request_type", Meaning::fixed},
    Key{"splitwise", "application_id", kUnread},  // a text, the class
    Key{"splitwise", "arrival_timestamp", kTime},
    Key{"splitwise", "batch_size", Meaning::fixed},
    Key{"splitwise", "prompt_size", kCount},
    Key{"splitwise", "token_size", kCount},
    Key{"tracelab", "round_index", kUnread},
    Key{"tracelab", "input_tokens_total", kCount},
    Key{"tracelab", "prefix_tokens", kCount},
    Key{"tracelab", "newly_append_tokens", kUnread},
    Key{"tracelab", "output_tokens", kCount},
    Key{"tracelab", "reasoning_output_tokens", kCount},
    Key{"tracelab", "tool_wall_latency_ms", Meaning::span},
    Key{"tracelab_csv", "id", kUnread},  // a text, the session
    Key{"tracelab_csv", "input_len", kCount},
    Key{"tracelab_csv", "output_len", kCount},
    Key{"tracelab_csv", "arrival_time", kTime},
    Key{"tracelab_csv", "round_idx", kCount},
    Key{"tracelab_csv", "tool_wait_after_ms", kTime},
    Key{"tracelab_csv", "prefix_len", kCount},
    Key{"vidur", "arrived_at", kTime},
    Key{"vidur", "num_prefill_tokens", kCount},
    Key{"vidur", "num_decode_tokens", kCount},
    Key{"vidur", "num_total_tokens", kUnread},
    Key{"vidur", "pd_ratio", kUnread},
    Key{"vidur", "session_id", kUnread},  // a text
    Key{"vidur", "priority", Meaning::integer},
    Key{"vllm_custom", "output_tokens", kCount},
    Key{"vllm_custom", "id", kUnread},
    Key{"vllm_bench", "burstiness", kUnread},
    Key{"vllm_bench", "num_prompts", kUnread},
    Key{"vllm_bench", "duration", kUnread},
    Key{"vllm_bench", "completed", kUnread},
    Key{"vllm_bench", "failed", kUnread},
    Key{"vllm_bench", "total_input_tokens", kUnread},
    Key{"vllm_bench", "total_output_tokens", kUnread},
    Key{"vllm_bench", "request_throughput", kUnread},
    Key{"vllm_bench", "input_lens", kCount},
    Key{"vllm_bench", "output_lens", kCount},
    Key{"vllm_bench", "ttfts", kTime},
    Key{"vllm_bench", "itls", kTime},
    Key{"vllm_bench", "latencies", kUnread},
    Key{"vllm_bench", "start_times", kTime},
    Key{"vllm_bench", "queue_times", kUnread},
    Key{"vllm_bench", "mean_ttft_ms", kUnread},
    Key{"vllm_bench", "p99_ttft_ms", kUnread},
    Key{"vllm_bench", "date", kUnread},
    Key{"weka", "block_size", kCount},
    Key{"weka", "tool_tokens", kUnread},
    Key{"weka", "t", kTime},
    Key{"weka", "in", kCount},
    Key{"weka", "out", kCount},
    Key{"weka", "hash_ids", kId},
    Key{"weka", "api_time", kTime},
    Key{"weka", "ttft", kTime},
    Key{"weka", "think_time", kTime},
};

bool is_number(const std::string& text) {
  static const std::regex kNumber(R"(-?\d+(\.\d+)?([eE][-+]?\d+)?)");
  return std::regex_match(text, kNumber);
}

// The field that begins at `at`, with its quotes.
std::string_view field_at(std::string_view line, std::size_t at) {
  bool quoted = false;
  std::size_t end = at;
  while (end < line.size() && (quoted || line[end] != ',')) quoted ^= line[end++] == '"';
  return line.substr(at, end - at);
}

std::vector<Number> numbers_of_table(std::string_view text) {
  std::vector<Number> numbers;
  std::vector<std::string> columns;
  std::size_t begin = 0;
  std::size_t number = 0;
  for (const std::string& with_end : lines_of(text)) {
    const std::string_view line = std::string_view(with_end).substr(0, with_end.find('\n'));
    ++number;
    if (number == 1) columns = csv_header(line);
    std::size_t at = 0;
    for (std::size_t i = 0; i < columns.size() && number != 1; ++i) {
      const std::string field(field_at(line, at));
      if (is_number(field) || columns[i] == "TIMESTAMP") {
        numbers.push_back({begin + at, field.size(), number, columns[i], false});
      }
      at += field.size() + 1;
    }
    begin += with_end.size();
  }
  return numbers;
}

// Walks through valid JSON.
class JsonNumbers {
 public:
  explicit JsonNumbers(std::string_view text) : text_(text) {}

  [[nodiscard]] std::vector<Number> all() {
    while (at_ < text_.size()) step();
    return std::move(numbers_);
  }

 private:
  void step() {
    const char c = text_[at_];
    if (c == '"') return quoted();
    if (c == '-' || (c >= '0' && c <= '9')) return bare();
    if (c == '{') keys_.emplace_back();
    if (c == '}') keys_.pop_back();
    if (c == '\n') ++line_;
    ++at_;
  }
  void quoted() {
    const std::size_t begin = ++at_;
    while (text_[at_] != '"') at_ += text_[at_] == '\\' ? 2 : 1;
    const std::string inside(text_.substr(begin, at_ - begin));
    ++at_;
    if (text_.substr(at_).starts_with(':')) {
      keys_.back() = inside;
    } else if (is_number(inside)) {
      add(begin, false);
    }
  }
  void bare() {
    const std::size_t begin = at_;
    at_ = std::min(text_.find_first_not_of("+-.eE0123456789", at_), text_.size());
    add(begin, true);
  }
  void add(std::size_t begin, bool is_bare) {
    const std::size_t end = is_bare ? at_ : at_ - 1;
    std::string key = keys_.back();
    // "value" alone does not tell which one.
    if (key == "value" && keys_.size() > 1) key = keys_[keys_.size() - 2] + "/value";
    numbers_.push_back({begin, end - begin, line_, std::move(key), is_bare});
  }

  std::string_view text_;
  std::size_t at_ = 0;
  std::size_t line_ = 1;
  std::vector<std::string> keys_;  // the latest one of each object that is open
  std::vector<Number> numbers_;
};

}  // namespace

std::vector<Number> numbers_of(const Sample& sample, std::string_view text) {
  return sample.layout == Layout::table ? numbers_of_table(text) : JsonNumbers(text).all();
}

Meaning meaning_of(const Sample& sample, std::string_view key) {
  const auto found = std::ranges::find_if(
      kKeys, [&](const Key& k) { return k.format == sample.format && k.name == key; });
  INFO("no meaning of '" << key << "' of " << sample.format);
  REQUIRE(found != kKeys.end());
  return found->meaning;
}

std::vector<std::string_view> wrong_values(Meaning meaning) {
  constexpr std::string_view kTwo31 = "2147483648";
  constexpr std::string_view kTwo63 = "9223372036854775808";
  switch (meaning) {
    case Meaning::time:
    case Meaning::id: return {"NaN", "-1", kTwo63, "1e400", "x"};
    case Meaning::wide_id: return {"NaN", "-1", "1e400", "x"};
    case Meaning::span:
    case Meaning::parent: return {"NaN", kTwo63, "1e400", "x"};
    case Meaning::name: return {"-1", "1e400"};
    case Meaning::integer: return {"NaN", kTwo31, kTwo63, "1e400", "x"};
    case Meaning::unread: return {};
    case Meaning::count:
    case Meaning::fixed: break;
  }
  return {"NaN", "-1", kTwo31, kTwo63, "1e400", "x"};
}

}  // namespace headroom::trace_samples
