#include "sim/intake/printed_arguments.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "sim/engines/launch.hpp"
#include "sim/engines/log_text.hpp"
#include "sim/intake/flag_parser.hpp"
#include "sim/intake/launch.hpp"
#include "sim/intake/printed_value.hpp"

namespace headroom {
namespace {

constexpr std::size_t kNowhere = std::string_view::npos;

struct FoundStart {
  const Engine* engine = nullptr;
  const PrintedStart* start = nullptr;
  std::size_t at = 0;  // of the value
};

// Without colours, and without what docker compose writes before each line ("chat-1  | ").
std::string plain_lines(std::string_view text) {
  std::string all;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find('\n', begin), text.size());
    const std::string line = without_colours(text.substr(begin, end - begin));
    const std::size_t bar = line.find(" | ");
    const std::string_view front = std::string_view(line).substr(0, bar == kNowhere ? 0 : bar);
    const bool is_service =
        !front.empty() && front.find_first_of("'\"{}()[]=:") == kNowhere &&
        front.substr(0, front.find(' ')).size() + 1 >= front.find_last_not_of(' ') + 1;
    all += is_service ? line.substr(bar + 3) : line;
    all += '\n';
    begin = end + 1;
  }
  return all;
}

std::optional<FoundStart> last_start(std::string_view text) {
  std::optional<FoundStart> last;
  for (const Engine* engine : launched_engines()) {
    for (const PrintedStart& start : engine->launch->printed) {
      const std::string lead = fmt::format("{}{}", start.before, start.value);
      const std::size_t found = text.rfind(lead);
      if (found == kNowhere || (last && found + start.before.size() < last->at)) continue;
      last = {engine, &start, found + start.before.size()};
    }
  }
  return last;
}

}  // namespace

std::optional<PrintedStartup> scenario_from_printed(std::string_view text,
                                                    const std::string& shown_as,
                                                    std::string_view release) {
  const std::string lines = plain_lines(text);
  const std::optional<FoundStart> found = last_start(lines);
  if (!found) return std::nullopt;
  PrintedValue printed = printed_value(std::string_view(lines).substr(found->at));
  if (!printed.value.is_object()) return std::nullopt;
  Draft draft(shown_as);
  draft.engine = found->engine;
  if (!release.empty()) draft.set("/engine/version", std::string(release));
  if (const auto model = printed.value.find(found->start->model_key);
      model != printed.value.end()) {
    if (model->is_string()) draft.set("/model", *model);
    printed.value.erase(found->start->model_key);
  }
  read_arguments(draft, printed.value, found->start->has_defaults);
  if (printed.is_cut) {
    draft.note("the arguments that the log prints are cut off: those behind the cut are missing");
  }
  PrintedStartup read{finished(std::move(draft), release), found->start->has_defaults};
  if (read.has_defaults) {
    // Of arguments that were not given.
    std::erase_if(read.result.notes, [](const std::string& note) {
      return contains(note, "it has no effect in this release") ||
             note.ends_with(": the engine chooses");
    });
  }
  return read;
}

bool read_printed_words(Draft& draft, std::string_view text) {
  const std::string lines = plain_lines(text);
  for (std::size_t at = lines.find('['); at != kNowhere; at = lines.find('[', at + 1)) {
    const PrintedValue printed = printed_value(std::string_view(lines).substr(at));
    const Json& list = printed.value;
    const bool is_words =
        list.is_array() && !list.empty() &&
        std::ranges::all_of(list, [](const Json& one) { return one.is_string(); });
    if (is_words && !printed.is_cut && read_launch(draft, list.get<std::vector<std::string>>())) {
      return true;
    }
  }
  return false;
}

}  // namespace headroom
