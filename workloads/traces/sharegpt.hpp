#pragma once
// ShareGPT conversations as benchmarks sample them (ShareGPT_V3_unfiltered_cleaned_split.json of
// https://huggingface.co/datasets/anon8231489123/ShareGPT_Vicuna_unfiltered, and files of its
// layout): an array, or one object per line, of
//   {"id": .., "conversations": [{"from": "human", "value": text}, {"from": "gpt", ..}, ..]}
// A request is the first two turns of a conversation, by any speakers, as in vLLM
// (vllm/benchmarks/datasets/sharegpt.py, read at commit 237145ea); a conversation with fewer turns,
// which vLLM skips, is a row with zero output tokens. vLLM's filters by length and its shuffle are
// not applied. There are no times. LENGTHS ARE ESTIMATES: a tokenizer is needed to count tokens;
// here every kShareGptBytesPerToken bytes of UTF-8 are one token, the usual rule of thumb for
// English text (code and other languages have fewer bytes per token), rounded up. Turns with a role
// and a content, as LMSYS (https://huggingface.co/lmsys: lmsys-chat-1m, arena conversations) and
// OpenAI's API write them, stand below "conversations", "conversation", "messages", or
// "conversation_a" and "conversation_b", the answers of two models to one text. Of such a list the
// request is all before the first turn of the assistant, and that turn. Contents of several parts
// are texts one after the other; parts that are no text are refused. The class of a row of LMSYS is
// its model, its time `tstamp`, where every row has one. Lists of lengths that were counted are
// read as they are: an array of [prompt tokens, output tokens], or of [text, prompt tokens, output
// tokens] as samplers made from vLLM's write them.

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "workloads/traces/trace_reader.hpp"

namespace headroom {

inline constexpr std::int64_t kShareGptBytesPerToken = 4;

[[nodiscard]] bool is_sharegpt(const FileStart& start);

[[nodiscard]] std::int32_t estimated_tokens(std::string_view text);

class ShareGptReader final : public TraceReader {
 public:
  explicit ShareGptReader(LineReader& lines);  // reads the whole file; keeps the lengths
  [[nodiscard]] bool next(TraceRecord& record) override;
  [[nodiscard]] TraceClock clock() const override {
    return has_times_ ? TraceClock::absolute : TraceClock::none;
  }

 private:
  struct Row {
    std::int32_t prompt_tokens = 0;
    std::int32_t output_tokens = 0;
    std::string model;  // of LMSYS
    TimeNs time_ns = kNoTime;
  };
  class Conversations;

  bool has_times_ = false;
  std::vector<Row> rows_;
  std::size_t at_ = 0;
};

}  // namespace headroom
