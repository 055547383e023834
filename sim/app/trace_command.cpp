#include "sim/app/trace_command.hpp"

#include <cstdio>
#include <string_view>

#include "sim/kernel/errors.hpp"
#include "sim/kernel/named_value.hpp"
#include "sim/kernel/visible_text.hpp"
#include "sim/report/replaced_file.hpp"
#include "sim/report/trace_report.hpp"

namespace headroom {
namespace {

void write_stdout(std::string_view text) {
  if (std::fwrite(text.data(), 1, text.size(), stdout) != text.size()) {
    throw ConfigError("standard output: cannot write");
  }
}

SessionInput session_input(const TraceArguments& arguments) {
  return value_named<SessionInput>(arguments.session_input, {{"auto", SessionInput::detect},
                                                             {"whole", SessionInput::whole},
                                                             {"added", SessionInput::added}});
}

std::string convert_to_stdout(const TraceArguments& arguments, TraceTarget target) {
  const Conversion done =
      convert_trace(arguments.file, target, write_stdout, session_input(arguments));
  if (std::fflush(stdout) != 0) throw ConfigError("standard output: cannot write");
  const bool guessed = done.session_turns.whole + done.session_turns.added > 0;
  if (done.backward_steps > 0 || !done.left_out.empty() || !done.warning.empty() || guessed) {
    const std::string text = visible_lines(conversion_text(done, "standard output"));
    std::fwrite(text.data(), 1, text.size(), stderr);
  }
  return "";
}

}  // namespace

std::string trace_describe_command(const TraceArguments& arguments) {
  const TraceProfile profile = profile_trace(
      arguments.file, {.kv_tokens = arguments.kv_tokens, .max_model_len = arguments.max_model_len},
      session_input(arguments));
  return arguments.json ? trace_profile_json(profile) : trace_profile_text(profile);
}

std::string trace_check_command(const TraceArguments& arguments) {
  const TraceCheck check = check_trace(arguments.file, session_input(arguments));
  return arguments.json ? trace_check_json(check) : trace_check_text(check);
}

std::string trace_convert_command(const TraceArguments& arguments) {
  const TraceTarget target = trace_target(arguments.to);
  if (arguments.output == "-") return convert_to_stdout(arguments, target);
  ReplacedFile file(arguments.output);
  const Conversion done = convert_trace(
      arguments.file, target, [&file](std::string_view text) { file.write(text); },
      session_input(arguments));
  file.publish();
  return conversion_text(done, arguments.output);
}

}  // namespace headroom
