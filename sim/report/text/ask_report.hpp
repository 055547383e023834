#pragma once
// The answer of `headroom ask` on one screen: verdict first, then headroom, latencies and changes.

#include <span>
#include <string>
#include <vector>

#include "sim/study/ask/ask.hpp"

namespace headroom {

struct AskText {
  std::vector<std::string> assumed;  // what the user left open, in one line each
  std::string next;                  // the command to go on with; may be empty
};
[[nodiscard]] std::string ask_text(const AskAnswer& answer, const AskText& texts);

// One line for each system that was asked about. `services`: what each is called in its compose
// file, or none.
[[nodiscard]] std::string ask_table(std::span<const AskAnswer> answers,
                                    std::span<const std::string> services,
                                    std::span<const std::string> assumed);

// A text of the two above in Markdown. `has_verdict`: it begins with one.
[[nodiscard]] std::string ask_markdown(const std::string& text, bool has_verdict);

}  // namespace headroom
