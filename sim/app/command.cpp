#include "sim/app/command.hpp"

#include <cstdio>

#include "sim/app/failure.hpp"
#include "sim/app/interruption.hpp"
#include "sim/kernel/errors.hpp"
#include "sim/kernel/visible_text.hpp"

namespace headroom {

const std::string kVersion = HEADROOM_VERSION;

std::string columns_setting(const std::string& columns) {
  return "workload.trace.columns=" + columns;
}

int print(const std::string& given, bool is_json) {
  const std::string text = is_json ? given : visible_lines(given);
  if (std::fwrite(text.data(), 1, text.size(), stdout) != text.size() || std::fflush(stdout) != 0) {
    throw ConfigError("standard output: cannot write");
  }
  return 0;
}

int answer_of(const StudyAnswer& answer, bool is_json) {
  print(answer.text, is_json);
  if (answer.end == StudyEnd::interrupted) return interrupted_exit_code();
  return answer.end == StudyEnd::incomplete ? kExitIncomplete : 0;
}

}  // namespace headroom
