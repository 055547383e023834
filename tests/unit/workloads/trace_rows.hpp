#pragma once
// Files of traces, read through the detection of their format, as text that tests compare.

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "workloads/traces/trace_record.hpp"

namespace headroom::trace_rows {

// One text per record: "time,prompt,output" and then what else it states, in the order of
// TraceRecord: "thinking=5 class=chat session=1 after=5 prefix=7:16|8:24 answer=9 ttft=3 e2el=4".
// Identities stand as the names given for them, others as numbers. "-" stands for no time.
struct Names {
  std::vector<std::pair<std::uint64_t, std::string>> of;
};
[[nodiscard]] std::vector<std::string> in_file(const std::string& path, const Names& names = {});
// Of a file with these bytes.
[[nodiscard]] std::vector<std::string> in(std::string_view content, const Names& names = {});

// What reading ends with, without the path in front; "no error".
[[nodiscard]] std::string error_in(std::string_view content);

// tests/data/traces/<name>, and its bytes.
[[nodiscard]] std::string sample(const std::string& name);
[[nodiscard]] std::string bytes_of(const std::string& path);
// Whether these ways of writing a file leave what is read of it: CRLF, a byte order mark, blank
// lines in front and at the end, no last line end.
[[nodiscard]] bool line_ends_do_not_matter(const std::string& content);

// The formats that recognise a file with these bytes, joined by ' '.
[[nodiscard]] std::string formats_of(std::string_view content);

}  // namespace headroom::trace_rows
