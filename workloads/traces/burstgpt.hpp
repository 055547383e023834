#pragma once
// BurstGPT (https://github.com/HPMLL/BurstGPT; TRACES.md 3.2): requests to Azure OpenAI. Two
// layouts, told apart by the names of their columns:
//   Timestamp,Model,Request tokens,Response tokens,Total tokens,Log Type
//   Timestamp,Session ID,Elapsed time,Model,Request tokens,Response tokens,Total tokens,Log Type
// Timestamp: seconds since 00:00 of the first day, with a resolution of 1 s, so that rows share
// times; the second layout prints it as 19440110.0. Session ID: a UUID, empty for requests by API.
// Model is the class. Failed requests have no response tokens, most of them no request tokens
// either. "Elapsed time" is in whole seconds and often missing: it is no measured latency. What a
// session's prompts share is not in the file.

#include <optional>

#include "workloads/traces/csv_rows.hpp"
#include "workloads/traces/trace_reader.hpp"

namespace headroom {

[[nodiscard]] bool is_burstgpt(const FileStart& start);

class BurstGptReader final : public TraceReader {
 public:
  explicit BurstGptReader(LineReader& lines);
  [[nodiscard]] bool next(TraceRecord& record) override;

 private:
  CsvRows rows_;
  CsvRows::Column time_;
  CsvRows::Column prompt_;
  CsvRows::Column output_;
  std::optional<CsvRows::Column> model_;
  std::optional<CsvRows::Column> session_;
};

}  // namespace headroom
