#pragma once
// A message that memory ran out, as people paste it: a tail of a log of any engine, of its
// allocator or of the kernel, with colours, broken over lines or cut off.

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sim/engines/memory_message.hpp"

namespace headroom {

struct Engine;

struct MemoryFailure {
  const Engine* engine = nullptr;  // that writes such messages; nullptr: several may
  StartupStage stage = StartupStage::weights;
  std::string text;  // of the message, from its first word on
  std::int64_t line = 0;
  std::string meaning;               // one clause: what happened
  std::vector<std::string> changes;  // what to change, most helpful first
  std::string victim;                // the process that the kernel killed; else empty
  // Of an allocation that was refused, as the log names it: "CUDA0". Figures are that device's
  // where the log gives those of each; empty: it does not say.
  std::string device;
  std::string board;        // "NVIDIA GeForce RTX 4090"
  std::size_t devices = 1;  // that hold buffers
  // By MemoryFigure, in GiB or tokens; absent: the text does not say it.
  std::array<std::optional<double>, kMemoryFigures> figures;

  [[nodiscard]] const std::optional<double>& figure(MemoryFigure which) const {
    return figures[static_cast<std::size_t>(which)];
  }
};

// The first failure that names its cause; of the allocator's own messages the last one. Figures are
// those of all lines, later ones over earlier ones. Nothing: the text says of no failure.
[[nodiscard]] std::optional<MemoryFailure> find_memory_failure(std::string_view text);

// A part of the device's memory, for a bar; `rest` by subtraction, where the total is known.
struct MemoryPart {
  std::string_view name;
  double gib = 0;
};
// Parts that are known; empty: none is.
[[nodiscard]] std::vector<MemoryPart> memory_parts(const MemoryFailure& failure);

}  // namespace headroom
