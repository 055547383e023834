#include "tests/unit/workloads/trace_rows.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "sim/kernel/errors.hpp"
#include "sim/serving/request.hpp"
#include "tests/support/temp_file.hpp"
#include "workloads/traces/detect.hpp"

namespace headroom::trace_rows {
namespace {

std::string shown(std::uint64_t id, const Names& names) {
  const auto found = std::find_if(names.of.begin(), names.of.end(),
                                  [id](const auto& name) { return name.first == id; });
  return found == names.of.end() ? std::to_string(id) : found->second;
}

std::string shown(const TraceRecord& record, const Names& names) {
  const std::string time =
      record.time_ns == kNoTime ? std::string("-") : std::to_string(record.time_ns);
  std::string text = fmt::format("{},{},{}", time, record.prompt_tokens, record.output_tokens);
  const auto add = [&](std::string_view name, std::int64_t value, std::int64_t none) {
    if (value != none) text += fmt::format(" {}={}", name, value);
  };
  add("thinking", record.thinking_tokens, 0);
  add("max", record.max_tokens, 0);
  add("priority", record.priority, 0);
  if (!record.class_name.empty()) text += fmt::format(" class={}", record.class_name);
  if (record.session != kNoSession) text += " session=" + shown(record.session, names);
  add("after", record.after_previous_ns, -1);
  std::string_view before = " prefix=";
  for (const PrefixSegment& segment : record.prefix) {
    text += fmt::format("{}{}:{}", before, shown(segment.id, names), segment.tokens);
    before = "|";
  }
  if (record.output_segment != 0) text += " answer=" + shown(record.output_segment, names);
  add("ttft", record.measured_ttft_ns, -1);
  add("e2el", record.measured_e2el_ns, -1);
  return text;
}

std::string with_crlf(const std::string& content) {
  std::string all;
  for (const char c : content) all += c == '\n' ? std::string("\r\n") : std::string(1, c);
  return all;
}

}  // namespace

std::vector<std::string> in_file(const std::string& path, const Names& names) {
  TraceFile file(path);
  TraceRecord record;
  std::vector<std::string> all;
  while (file.next(record)) all.push_back(shown(record, names));
  return all;
}

std::vector<std::string> in(std::string_view content, const Names& names) {
  const TempFile file(content);
  return in_file(file.path(), names);
}

std::string error_in(std::string_view content) {
  const TempFile file(content);
  try {
    static_cast<void>(in_file(file.path()));
  } catch (const DataError& error) {
    const std::string message = error.what();
    return message.starts_with(file.path()) ? message.substr(file.path().size())
                                            : "no path: " + message;
  }
  return "no error";
}

std::string sample(const std::string& name) {
  const std::filesystem::path root = HEADROOM_SOURCE_DIR;
  return (root / "tests" / "data" / "traces" / name).string();
}

std::string bytes_of(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

bool line_ends_do_not_matter(const std::string& content) {
  const std::vector<std::string> expected = in(content);
  const std::vector<std::string> variants = {
      with_crlf(content), "\xEF\xBB\xBF" + content, "\n\r\n" + content + "\n\r\n\n",
      content.substr(0, content.find_last_not_of("\r\n") + 1)};
  return !expected.empty() && std::ranges::all_of(variants, [&](const std::string& variant) {
    return in(variant) == expected;
  });
}

std::string formats_of(std::string_view content) {
  const TempFile file(content);
  LineReader lines(file.path());
  const FileStart start = lines.start();
  std::string names;
  for (const TraceFormat& format : trace_formats()) {
    if (!format.recognises(start)) continue;
    if (!names.empty()) names += ' ';
    names += format.name;
  }
  return names;
}

}  // namespace headroom::trace_rows
