#pragma once
// What a streamed answer of /v1/completions (server-sent events, one JSON object each) says while
// it arrives. Times as `vllm bench serve` takes them (vllm/benchmarks/lib/
// endpoint_request_func.py, async_request_openai_completions): every event with a choice is a
// chunk, whatever its text; the first one ends TTFT, each later one a gap, the last one E2EL.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sim/kernel/time.hpp"

namespace headroom {

class CompletionStream {
 public:
  // The next bytes of the answer, which came at `now_ns`. False: it cannot be read on (`problem`).
  bool feed(std::string_view bytes, TimeNs now_ns);

  [[nodiscard]] const std::string& problem() const { return problem_; }
  [[nodiscard]] bool has_ended() const { return done_; }  // its last event said so
  [[nodiscard]] std::int64_t chunks() const { return chunks_; }
  [[nodiscard]] TimeNs first_ns() const { return first_ns_; }  // -1: no chunk
  [[nodiscard]] TimeNs last_ns() const { return last_ns_; }
  [[nodiscard]] const std::vector<TimeNs>& gaps() const { return gaps_; }
  // By the server's own count (usage); empty: it gave none.
  [[nodiscard]] std::optional<std::int64_t> prompt_tokens() const { return prompt_tokens_; }
  [[nodiscard]] std::optional<std::int64_t> output_tokens() const { return output_tokens_; }

 private:
  void read_line(std::string_view line, TimeNs now_ns);
  void read_event(std::string_view data, TimeNs now_ns);

  std::string rest_;  // of a line that is not complete
  std::string problem_;
  std::int64_t chunks_ = 0;
  TimeNs first_ns_ = -1;
  TimeNs last_ns_ = -1;
  std::vector<TimeNs> gaps_;
  std::optional<std::int64_t> prompt_tokens_;
  std::optional<std::int64_t> output_tokens_;
  bool done_ = false;
};

}  // namespace headroom
