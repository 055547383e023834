// `headroom trace describe|check|convert`: what a trace file holds, whether it is usable, and the
// same in another format.

#include <CLI/CLI.hpp>

#include <cstdint>
#include <cstdio>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "sim/app/command.hpp"
#include "sim/app/commands/short_flag.hpp"
#include "sim/app/input_text.hpp"
#include "sim/kernel/errors.hpp"
#include "sim/kernel/named_value.hpp"
#include "sim/kernel/visible_text.hpp"
#include "sim/report/files/replaced_file.hpp"
#include "sim/report/json/trace_json.hpp"
#include "sim/report/text/trace_report.hpp"

namespace headroom {
namespace {

struct TraceArguments {
  std::string file;
  std::string session_input = "auto";  // or whole, added
  std::string columns;                 // of a table
  bool json = false;
  // describe
  std::int64_t kv_tokens = 100'000;           // of the pool for the comparison of max_tokens rules
  std::optional<std::int64_t> max_model_len;  // tokens; absent: the longest request's power of two
  // convert
  std::string output;           // "-": standard output
  std::string to = "headroom";  // or mooncake
};

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
  const Conversion done = convert_trace(arguments.file, target, write_stdout,
                                        session_input(arguments), arguments.columns);
  if (std::fflush(stdout) != 0) throw ConfigError("standard output: cannot write");
  const bool guessed = done.session_turns.whole + done.session_turns.added > 0;
  if (done.backward_steps > 0 || !done.left_out.empty() || !done.warning.empty() || guessed) {
    const std::string text = visible_lines(conversion_text(done, "standard output"));
    std::fwrite(text.data(), 1, text.size(), stderr);
  }
  return "";
}

std::string trace_describe_command(const TraceArguments& arguments) {
  const TraceProfile profile = profile_trace(
      arguments.file, {.kv_tokens = arguments.kv_tokens, .max_model_len = arguments.max_model_len},
      session_input(arguments), arguments.columns);
  return arguments.json ? trace_profile_json(profile) : trace_profile_text(profile);
}

std::string trace_check_command(const TraceArguments& arguments) {
  const TraceCheck check = check_trace(arguments.file, session_input(arguments), arguments.columns);
  return arguments.json ? trace_check_json(check) : trace_check_text(check);
}

std::string trace_convert_command(const TraceArguments& arguments) {
  const TraceTarget target = trace_target(arguments.to);
  if (arguments.output == "-") return convert_to_stdout(arguments, target);
  ReplacedFile file(arguments.output);
  const Conversion done = convert_trace(
      arguments.file, target, [&file](std::string_view text) { file.write(text); },
      session_input(arguments), arguments.columns);
  file.publish();
  return conversion_text(done, arguments.output);
}

std::string trace_command(const CLI::App& command, const TraceArguments& arguments) {
  if (command.got_subcommand("describe")) return trace_describe_command(arguments);
  if (command.got_subcommand("convert")) return trace_convert_command(arguments);
  return trace_check_command(arguments);
}

std::function<int()> add_trace(CLI::App& command) {
  const auto a = std::make_shared<TraceArguments>();
  command.require_subcommand(1);
  CLI::App* describe = command.add_subcommand("describe", "arrivals, lengths, sessions, prefixes");
  with_short_numbers(
      describe->add_option("--kv-tokens", a->kv_tokens,
                           "size of the KV pool in which to compare max_tokens rules (100000)"),
      "tokens");
  with_short_numbers(describe->add_option("--max-model-len", a->max_model_len,
                                          "tokens; gives the engine's default max_tokens"),
                     "tokens");
  CLI::App* convert = command.add_subcommand("convert", "write the same rows in another format");
  convert->add_option("-o,--output", a->output, "file; - is standard output")->required();
  convert->add_option("--to", a->to, "headroom (CSV with every field) or mooncake (JSONL)");
  CLI::App* check = command.add_subcommand("check", "read every row and count what looks odd");
  for (CLI::App* one : {describe, convert, check}) {
    one->add_option("file", a->file,
                    "a trace of any known format, plain or .gz; - is standard input")
        ->required();
    one->add_option("--session-input", a->session_input,
                    "what a later turn of a Mooncake file holds: the whole prompt or the added "
                    "text; auto, whole or added (auto)")
        ->check(CLI::IsMember({"auto", "whole", "added"}));
    one->add_option("--columns", a->columns, kColumnsHelp);
    if (one != convert) one->add_flag("--json", a->json, "print JSON");
  }
  return [a, &command] {
    a->file = input_path(a->file);
    return print(trace_command(command, *a), a->json);
  };
}

}  // namespace

const Command kTraceCommand{"trace", "describe, convert or check a trace file", add_trace};

}  // namespace headroom
