#pragma once
// Traces of splitwise-sim (https://github.com/Mutinifni/splitwise-sim; TRACES.md 3.7), as its
// generate_trace.py writes them:
//   request_id,request_type,application_id,arrival_timestamp,batch_size,prompt_size,token_size
// arrival_timestamp: seconds, integer or decimal. application_id is the class. That simulator knows
// one type of request only, 2 (generative LLM), and a batch_size above 1 would be several prompts
// in one request: rows with anything else are refused.

#include <optional>

#include "workloads/traces/csv_rows.hpp"
#include "workloads/traces/trace_reader.hpp"

namespace headroom {

[[nodiscard]] bool is_splitwise(const FileStart& start);

class SplitwiseReader final : public TraceReader {
 public:
  explicit SplitwiseReader(LineReader& lines);
  [[nodiscard]] bool next(TraceRecord& record) override;

 private:
  CsvRows rows_;
  CsvRows::Column time_;
  CsvRows::Column prompt_;
  CsvRows::Column output_;
  std::optional<CsvRows::Column> type_;
  std::optional<CsvRows::Column> application_;
  std::optional<CsvRows::Column> batch_;
};

}  // namespace headroom
