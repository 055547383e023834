#pragma once
// Usage traces of Qwen models on Alibaba Cloud's Bailian
// (https://github.com/alibaba-edu/qwen-bailian-usagetraces-anon; TRACES.md 3.4): one JSON object a
// line with chat_id (one for each request), parent_chat_id (-1: none), timestamp (seconds, a
// decimal), input_length, output_length, type (text, search, image, file, thinking, coder, ...:
// the class), turn, and hash_ids, one for each block of 16 tokens of the prompt, the last block
// maybe in part.
//
// A session is the tree of the requests that have one root. A parent that is not in the file is the
// root of its children; so is one that comes behind a child of its own (in the published files,
// which are in order of time, none does). Times are arrivals: the files do not say how long an
// answer took, so no request waits for its parent. `turn` counts along the tree; it is checked and
// not used.

#include <cstdint>
#include <unordered_map>

#include "workloads/traces/json_line.hpp"
#include "workloads/traces/trace_reader.hpp"

namespace headroom {

[[nodiscard]] bool is_bailian(const FileStart& start);

class BailianReader final : public TraceReader {
 public:
  explicit BailianReader(LineReader& lines) : rows_(lines) {}
  [[nodiscard]] bool next(TraceRecord& record) override;

 private:
  [[nodiscard]] std::uint64_t root_of_row();

  JsonRows rows_;
  std::unordered_map<std::int64_t, std::int64_t> roots_;  // by chat_id
};

}  // namespace headroom
