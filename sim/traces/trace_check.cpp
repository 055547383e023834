#include "sim/traces/trace_check.hpp"

#include <fmt/format.h>

#include <filesystem>

#include "sim/kernel/errors.hpp"
#include "workloads/traces/detect.hpp"

namespace headroom {
namespace {

class Checker {
 public:
  void add(const TraceRecord& record, TraceClock clock, std::int64_t line) {
    ++found_.rows;
    if (found_.rows == 1) first_line_ = line;
    line_ = line;
    const bool no_prompt = record.prompt_tokens == 0;
    const bool no_output = record.output_tokens == 0;
    if (no_prompt || no_output) {
      count(no_prompt && no_output ? found_.zero_both
            : no_prompt            ? found_.zero_prompt
                                   : found_.zero_output);
    } else {
      ++found_.usable_rows;
    }
    if (clock != TraceClock::absolute || record.time_ns == kNoTime) return;
    if (record.time_ns < latest_ns_) count(found_.backward_steps);
    if (record.time_ns == latest_ns_) count(found_.ties);
    latest_ns_ = record.time_ns;
  }

  // A file that is one document is read before its first row comes: all rows seem to be on its last
  // line.
  [[nodiscard]] TraceCheck finish() {
    if (line_ > first_line_) return found_;
    for (OddRows* odd : {&found_.backward_steps, &found_.ties, &found_.zero_prompt,
                         &found_.zero_output, &found_.zero_both}) {
      odd->first_line = 0;
    }
    return found_;
  }

 private:
  void count(OddRows& odd) const {
    if (++odd.rows > 1) return;
    odd.first_row = found_.rows;
    odd.first_line = line_;
  }

  TraceCheck found_;
  TimeNs latest_ns_ = kNoTime;
  std::int64_t first_line_ = 0;
  std::int64_t line_ = 0;
};

}  // namespace

TraceCheck check_trace(const std::string& path, SessionInput input, const std::string& columns) {
  TraceFile file(path, input, columns);
  Checker checker;
  TimeUnitCheck times;
  TraceRecord record;
  while (file.next(record)) {
    checker.add(record, file.clock(), file.lines().line_number());
    times.add(record.time_ns);
  }
  TraceCheck found = checker.finish();
  if (found.usable_rows == 0) {
    throw DataError(
        fmt::format("{}: no request left ({} rows read, all with zero tokens)", path, found.rows));
  }
  found.file = std::filesystem::path(path).filename().string();
  found.format = file.format().name;
  found.clock = file.clock();
  found.session_turns = file.session_turns();
  found.warning = file.warning(times);
  return found;
}

}  // namespace headroom
