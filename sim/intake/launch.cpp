#include "sim/intake/launch.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>
#include <utility>
#include <vector>

#include "sim/intake/flag_parser.hpp"
#include "sim/intake/printed_arguments.hpp"
#include "sim/intake/shell_words.hpp"
#include "sim/intake/values.hpp"
#include "sim/kernel/errors.hpp"

namespace headroom {
namespace {

using Words = std::span<const std::string>;

// Start a program with the words behind them as they are.
constexpr std::array<std::string_view, 6> kPlainWrappers{"sudo", "nohup", "exec",
                                                         "time", "env",   "setsid"};

struct Launch {
  const Engine* engine = nullptr;
  std::size_t flags_at = 0;
};

using Programs = std::span<const LaunchProgram> EngineLaunch::*;

bool lists(std::string_view names, std::string_view name) {
  return !name.empty() && std::ranges::count(split(names, '|'), name) > 0;
}

std::string_view base_name(std::string_view path) {
  return path.substr(path.find_last_of("/\\") + 1);
}

std::optional<Launch> listed_launch(Programs programs, Words words) {
  for (const Engine* engine : launched_engines()) {
    for (const LaunchProgram& program : engine->launch->*programs) {
      if (base_name(words.front()) != program.name) continue;
      const bool sub = !program.subcommand.empty();
      if (sub && (words.size() < 2 || words[1] != program.subcommand)) continue;
      return Launch{engine, sub ? 2U : 1U};
    }
  }
  return std::nullopt;
}

// "python3 -u -m module ...": the words behind -m.
std::optional<std::size_t> module_at(Words words) {
  if (!base_name(words.front()).starts_with("python")) return std::nullopt;
  for (std::size_t i = 1; i + 1 < words.size() && words[i].starts_with('-'); ++i) {
    if (words[i] == "-m") return i + 1;
  }
  return std::nullopt;
}

std::optional<Launch> launch_at(Words words) {
  if (words.empty()) return std::nullopt;
  if (const std::optional<std::size_t> module = module_at(words)) {
    std::optional<Launch> launch = listed_launch(&EngineLaunch::modules, words.subspan(*module));
    if (launch) launch->flags_at += *module;
    return launch;
  }
  return listed_launch(&EngineLaunch::programs, words);
}

// "bash -lc TEXT": the text.
const std::string* shell_text(Words words) {
  constexpr std::array<std::string_view, 5> kShells{"sh", "bash", "zsh", "dash", "ash"};
  if (words.size() < 3 || std::ranges::count(kShells, base_name(words.front())) == 0)
    return nullptr;
  for (std::size_t i = 1; i + 1 < words.size() && words[i].starts_with('-'); ++i) {
    if (words[i].size() > 1 && words[i][1] != '-' && words[i].ends_with('c')) return &words[i + 1];
  }
  return nullptr;
}

// Index behind "docker run", "podman container run", ...; 0 when it is none.
std::size_t run_options_at(Words words) {
  constexpr std::array<std::string_view, 3> kRuntimes{"docker", "podman", "nerdctl"};
  if (words.size() < 2 || std::ranges::count(kRuntimes, base_name(words.front())) == 0) return 0;
  const std::size_t verb = words[1] == "container" && words.size() > 2 ? 2 : 1;
  return words[verb] == "run" || words[verb] == "create" ? verb + 1 : 0;
}

void read_run(Draft& draft, Words words) {
  const ContainerRun run = read_run_options(draft, words);
  const std::vector<std::string> entrypoint =
      run.entrypoint.empty() ? std::vector<std::string>{} : std::vector{run.entrypoint};
  read_container_launch(draft, words[run.image_at], entrypoint, words.subspan(run.image_at + 1));
}

// A command that begins with the first word; false when it starts no engine.
bool read_here(Draft& draft, Words words) {
  if (const std::size_t options = run_options_at(words); options > 0) {
    // What the shell set stays outside of the container.
    const Variables outside = std::exchange(draft.variables, {});
    for (const auto& [name, value] : outside) draft.ignored(name);
    read_run(draft, words.subspan(options));
    return true;
  }
  if (const std::string* text = shell_text(words)) return read_shell_launch(draft, *text);
  const std::optional<Launch> launch = launch_at(words);
  if (!launch) return false;
  draft.engine = launch->engine;
  read_flags(draft, words.subspan(launch->flags_at));
  return true;
}

std::vector<std::string> container_words(const std::string& image, Words entrypoint, Words words) {
  std::vector<std::string> all(entrypoint.begin(), entrypoint.end());
  all.insert(all.end(), words.begin(), words.end());
  const KnownImage known = known_image(image);
  if (known.image == nullptr || !known.image->starts_engine || !entrypoint.empty()) return all;
  // Images that got their entry point late are still run with the whole command.
  if (launch_at(words) || shell_text(words) != nullptr) return all;
  const EngineLaunch& launch = *known.engine->launch;
  std::vector<std::string> whole(launch.entrypoint.begin(), launch.entrypoint.end());
  if (words.empty() && !launch.idle_command.empty()) whole.emplace_back(launch.idle_command);
  const bool skip = !words.empty() && lists(launch.server_word, words.front());
  whole.insert(whole.end(), words.begin() + (skip ? 1 : 0), words.end());
  return whole;
}

}  // namespace

bool read_launch(Draft& draft, Words words) {
  for (std::size_t at = 0; at < words.size(); ++at) {
    const Words rest = words.subspan(at);
    const bool starts =
        run_options_at(rest) > 0 || shell_text(rest) != nullptr || launch_at(rest).has_value();
    if (!starts) continue;
    Draft changed = draft;
    for (std::size_t i = 0; i < at; ++i) {
      if (const std::size_t equals = assignment_at(words[i]); equals > 0) {
        changed.variables[words[i].substr(0, equals)] = words[i].substr(equals + 1);  // env A=b
      } else if (std::ranges::count(kPlainWrappers, base_name(words[i])) == 0) {
        changed.note(fmt::format("'{}' before the engine's command is not modelled", words[i]));
      }
    }
    if (!read_here(changed, rest)) continue;
    draft = std::move(changed);
    return true;
  }
  return false;
}

void read_container_launch(Draft& draft, const std::string& image, Words entrypoint, Words words) {
  if (!read_launch(draft, container_words(image, entrypoint, words))) {
    throw ConfigError(Complaint{
        .origin = draft.shown_as,
        .problem =
            fmt::format("neither the image {} nor its command starts a known engine; supported: {}",
                        image, understood_commands())});
  }
  set_release(draft, image);
}

bool container_starts_engine(const std::string& image, Words entrypoint, Words words) {
  const std::vector<std::string> all = container_words(image, entrypoint, words);
  for (std::size_t at = 0; at < all.size(); ++at) {
    const Words rest = Words(all).subspan(at);
    if (launch_at(rest)) return true;
    const std::string* text = shell_text(rest);
    if (text == nullptr) continue;
    const ShellText inner = read_shell(*text, image);
    return std::ranges::any_of(inner.commands, [](const ShellCommand& command) {
      return container_starts_engine("", {}, command.words);
    });
  }
  return false;
}

namespace {

bool starts_server(Words words) {
  for (std::size_t at = 0; at < words.size(); ++at) {
    const Words rest = words.subspan(at);
    if (run_options_at(rest) > 0 || launch_at(rest)) return true;
  }
  return false;
}

// What is said of a command beside the one that is read: its first words, as values of flags may be
// keys and tokens.
std::string other_note(Words words) {
  if (!starts_server(words)) {
    constexpr std::size_t kMostShown = 60;
    const std::string& first = words.front();
    return fmt::format("another command in the text is ignored: {} ...",
                       first.size() > kMostShown
                           ? "a word of " + std::to_string(first.size()) + " characters"
                           : first);
  }
  constexpr std::size_t kFewWords = 3;
  std::string begins;
  for (const std::string& word : words.first(std::min(kFewWords, words.size()))) {
    begins += (begins.empty() ? "" : " ") + word;
  }
  return fmt::format(
      "the text starts several servers, and the first one is read; give this one "
      "alone to ask about it: {} ...",
      begins);
}

}  // namespace

bool read_shell_launch(Draft& draft, std::string_view text) {
  const ShellText shell = read_shell(text, draft.shown_as, draft.variables);
  for (const auto& [file, content] : shell.files) draft.files[file] = content;
  bool found = false;
  std::vector<std::string> others;
  for (const ShellCommand& command : shell.commands) {
    Draft changed = draft;
    for (const auto& [name, value] : command.environment) changed.variables[name] = value;
    if (!found && read_launch(changed, command.words)) {
      draft = std::move(changed);
      found = true;
    } else if (!command.words.empty()) {
      others.push_back(other_note(command.words));
    }
  }
  if (!found) return false;
  for (const std::string& other : others) draft.note(other);
  for (const std::string& name : shell.unresolved) {
    draft.note(fmt::format("{} has no value here and is left as written", name));
  }
  return true;
}

std::string understood_commands() {
  std::string text;
  for (const Engine* engine : launched_engines()) {
    text += fmt::format("{}, ", engine->launch->examples);
  }
  return text + "docker run IMAGE ...";
}

FromResult scenario_from_command(std::string_view command, const std::string& shown_as,
                                 std::string_view release, SettingsFiles files) {
  Draft draft(shown_as);
  draft.files = std::move(files);
  if (!read_shell_launch(draft, command) && !read_printed_words(draft, command)) {
    throw ConfigError(
        Complaint{.kind = ErrorKind::missing,
                  .origin = shown_as,
                  .problem = fmt::format("no command that starts a known engine; supported: {}",
                                         understood_commands())});
  }
  return finished(std::move(draft), release);
}

}  // namespace headroom
