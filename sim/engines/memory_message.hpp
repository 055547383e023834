#pragma once
// What programs write about memory when they start, and when it runs out: one row per message.
// Sizes are in GiB, whatever unit the message has.

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "hardware/budget/budget.hpp"

namespace headroom {

// What a number of a message says.
enum class MemoryFigure : std::uint8_t {
  skipped,
  total,    // of the device
  free,     // of it, when the message was written
  others,   // held by other programs
  wanted,   // of one allocation, or of the whole model, that was refused
  weights,  // as loaded
  kv,       // the pool, or what is left for it
  kv_wanted,
  graphs,
  activations,
  reserved,  // kept by the allocator without use
  length,    // tokens: the length that does not fit
  longest,   // tokens: the longest request that fits
  count
};
inline constexpr std::size_t kMemoryFigures = static_cast<std::size_t>(MemoryFigure::count);

struct MemoryMessage {
  // find_pattern (log_text.hpp); over up to three lines, as pasted messages are broken.
  std::string_view pattern;
  std::array<MemoryFigure, 5> figures = {};
  double gib = 1;  // of one unit of its sizes: 2^-10 of a MiB
  // Of a failure: where the engine was, what happened, and what to change, most helpful first:
  // "--flag: why|--flag: why". {longest} is the longest length that fits, with a margin; a change
  // whose figure is not known is left out. Empty: a message of a start that goes on.
  StartupStage stage = StartupStage::weights;
  std::string_view meaning = {};
  std::string_view changes = {};
  bool is_vague = false;  // a refusal whose cause other lines name
};

inline constexpr double kGibPerMib = 1.0 / 1024;
inline constexpr double kGibPerByte = 1.0 / (1024.0 * 1024 * 1024);

}  // namespace headroom
