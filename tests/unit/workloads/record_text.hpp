#pragma once
// What a trace file says, as text that tests compare.

#include <string>
#include <vector>

#include "workloads/traces/trace_record.hpp"

namespace headroom {

// "time,prompt,output", then each field that is stated, in the order of TraceRecord: "0,40,20
// thinking=5 max=64 priority=-1 class='chat' session=1 after=5 prefix=7:16|8:24 answer=9 ttft=3
// e2el=4". "-" stands for no time.
[[nodiscard]] std::string record_text(const TraceRecord& record);

// All records of a file, through the detection of its format.
[[nodiscard]] std::vector<std::string> records_of_file(const std::string& path);
// Of a file with these bytes.
[[nodiscard]] std::vector<std::string> records_of(const std::string& content);
// Of tests/data/traces/<name>.
[[nodiscard]] std::vector<std::string> records_of_sample(const std::string& name);

// The message with which reading a file with these bytes ends, without its path; "no error".
[[nodiscard]] std::string data_error(const std::string& content);

[[nodiscard]] std::string sample_path(const std::string& name);
// `content` in all the ways in which its records stay the same: with CRLF, a byte order mark, blank
// lines, without the last line end.
[[nodiscard]] std::vector<std::string> same_files(const std::string& content);

}  // namespace headroom
