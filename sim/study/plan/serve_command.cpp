#include "sim/study/plan/serve_command.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "sim/setup/from/flag_table.hpp"

namespace headroom {
namespace {

constexpr std::array<std::pair<std::string_view, std::string_view>, 4> kLaunchers{
    {{"vllm", "vllm serve {}"},
     {"sglang", "python3 -m sglang.launch_server --model-path {}"},
     {"trtllm", "trtllm-serve {}"},
     {"tgi", "text-generation-launcher --model-id {}"}}};

// The spelling that launchers' own pages use: the first one.
std::string_view first_name(const FlagRow& row) { return row.names.substr(0, row.names.find('|')); }

// What stands behind a flag for a value of the option; nothing: this flag cannot say it.
std::optional<std::string> flag_text(const FlagRow& row, const Json& value) {
  const std::string name(first_name(row));
  if (name.empty()) return std::nullopt;
  if (!row.constant.empty()) {
    return Json::parse(row.constant) == value ? std::optional(name) : std::nullopt;
  }
  if (row.takes == Takes::nothing || row.takes == Takes::toggle) {
    if (!value.is_boolean()) return std::nullopt;
    if (value.get<bool>()) return name;
    if (row.takes == Takes::nothing) return std::nullopt;
    return fmt::format("--no-{}", name.substr(2));
  }
  if (value.is_string()) return fmt::format("{} {}", name, value.get<std::string>());
  if (!value.is_number() && !value.is_boolean()) return std::nullopt;
  return fmt::format("{} {}", name, value.dump());
}

}  // namespace

ServeCommand serve_command(const Json& engine, const std::string& model) {
  ServeCommand command;
  const auto name = engine.value("name", std::string());
  const auto* const launcher =
      std::ranges::find(kLaunchers, name, [](const auto& one) { return one.first; });
  const EngineFlags* flags = flags_of(name);
  if (launcher == kLaunchers.end() || flags == nullptr) return command;
  command.text = fmt::format(fmt::runtime(launcher->second), model);
  for (const auto& [key, value] : engine.items()) {
    if (key == "name" || key == "version") continue;
    std::optional<std::string> text;
    for (const FlagRow& row : flags->rows) {
      if (row.pointer != "/engine/" + key) continue;
      text = flag_text(row, value);
      if (text) break;
    }
    if (text) {
      command.text += " " + *text;
    } else {
      command.not_a_flag.push_back(key);
    }
  }
  return command;
}

}  // namespace headroom
