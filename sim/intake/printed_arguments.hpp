#pragma once
// The arguments that an engine prints when it starts ("non-default args: {...}"), and commands that
// launchers print as a list of words (['vllm', 'serve', ...]).

#include <optional>
#include <string>
#include <string_view>

#include "sim/intake/draft.hpp"
#include "sim/intake/from.hpp"

namespace headroom {

struct PrintedStartup {
  FromResult result;
  // The log prints every argument: what is at its default is among the options, and what is not
  // modelled is left out of the lists.
  bool has_defaults = false;
};

// Of the last start in the text. Nothing: no engine prints its arguments there. `release` as for
// scenario_from_command.
[[nodiscard]] std::optional<PrintedStartup> scenario_from_printed(std::string_view text,
                                                                  const std::string& shown_as,
                                                                  std::string_view release = {});

// Reads the first list of words in `text` that starts an engine. False: there is none.
bool read_printed_words(Draft& draft, std::string_view text);

}  // namespace headroom
