#include "tests/unit/workloads/record_text.hpp"

#include <fmt/format.h>

#include <filesystem>

#include "sim/kernel/errors.hpp"
#include "sim/serving/request.hpp"
#include "tests/support/temp_file.hpp"
#include "workloads/traces/detect.hpp"

namespace headroom {
namespace {

std::string with_line_ends(const std::string& content, const std::string& line_end) {
  std::string all;
  for (const char c : content) {
    if (c == '\n') {
      all += line_end;
    } else {
      all += c;
    }
  }
  return all;
}

}  // namespace

std::string record_text(const TraceRecord& record) {
  const TraceRecord none;
  std::string text = record.time_ns == kNoTime ? "-" : fmt::format("{}", record.time_ns);
  text += fmt::format(",{},{}", record.prompt_tokens, record.output_tokens);
  const auto add = [&](const char* name, auto value, auto absent) {
    if (value != absent) text += fmt::format(" {}={}", name, value);
  };
  add("thinking", record.thinking_tokens, none.thinking_tokens);
  add("max", record.max_tokens, none.max_tokens);
  add("priority", record.priority, none.priority);
  if (!record.class_name.empty()) text += fmt::format(" class='{}'", record.class_name);
  add("session", record.session, none.session);
  add("after", record.after_previous_ns, none.after_previous_ns);
  const char* before = " prefix=";
  for (const PrefixSegment& segment : record.prefix) {
    text += fmt::format("{}{}:{}", before, segment.id, segment.tokens);
    before = "|";
  }
  add("answer", record.output_segment, none.output_segment);
  add("leaves", record.gives_up_ns, none.gives_up_ns);
  add("ttft", record.measured_ttft_ns, none.measured_ttft_ns);
  add("e2el", record.measured_e2el_ns, none.measured_e2el_ns);
  return text;
}

std::vector<std::string> records_of_file(const std::string& path) {
  TraceFile file(path);
  TraceRecord record;
  std::vector<std::string> all;
  while (file.next(record)) all.push_back(record_text(record));
  return all;
}

std::vector<std::string> records_of(const std::string& content) {
  const TempFile file(content);
  return records_of_file(file.path());
}

std::vector<std::string> records_of_sample(const std::string& name) {
  return records_of_file(sample_path(name));
}

std::string data_error(const std::string& content) {
  const TempFile file(content);
  try {
    static_cast<void>(records_of_file(file.path()));
  } catch (const DataError& error) {
    const std::string message = error.what();
    return message.starts_with(file.path()) ? message.substr(file.path().size())
                                            : "no path: " + message;
  }
  return "no error";
}

std::string sample_path(const std::string& name) {
  const std::filesystem::path root = HEADROOM_SOURCE_DIR;
  return (root / "tests" / "data" / "traces" / name).string();
}

std::vector<std::string> same_files(const std::string& content) {
  return {content, with_line_ends(content, "\r\n"), "\xEF\xBB\xBF" + content,
          "\n\r\n" + with_line_ends(content, "\n\n\r\n"), content.substr(0, content.size() - 1)};
}

}  // namespace headroom
