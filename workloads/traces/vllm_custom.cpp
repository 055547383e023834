#include "workloads/traces/vllm_custom.hpp"

#include "workloads/traces/json_values.hpp"
#include "workloads/traces/sharegpt.hpp"

namespace headroom {

bool is_vllm_custom(const FileStart& start) {
  const FileStart row{.first_line = start.first_line, .bytes = start.first_line};
  const auto has = [&](std::string_view key) { return json_mentions(row, key); };
  const bool other = has("requests") || has("messages") || has("conversations") ||
                     has("input_length") || has("input_toks");
  return row.bytes.starts_with('{') && has("prompt") && !other;
}

bool VllmCustomReader::next(TraceRecord& record) {
  if (!rows_.next()) return false;
  const JsonNode& row = rows_.row();
  const JsonNode* prompt = row.find("prompt");
  if (prompt == nullptr || prompt->kind != JsonNode::Kind::text) {
    rows_.refuse("prompt", prompt, "a text");
  }
  const JsonNode* output = row.find("output_tokens");
  if (output == nullptr || output->kind == JsonNode::Kind::null) {
    rows_.refuse("output_tokens", output,
                 "the tokens of the answer (vLLM itself would use --custom-output-len)");
  }
  record.prompt_tokens = estimated_tokens(prompt->text);
  record.output_tokens = rows_.count("output_tokens");
  return true;
}

}  // namespace headroom
