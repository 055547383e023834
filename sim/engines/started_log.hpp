#pragma once
// A start-up that went well, or as much of its log as was pasted: what the engine wrote about its
// memory, whole or in pieces, with colours, tags and lines of several ranks mixed. Each engine
// whose lines are known has a table of them (<engine>/started_lines.cpp, EngineLaunch::started).

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace headroom {

struct Engine;
struct StartupLog;

// Sizes in GiB (2^30 bytes) of one device, lengths in tokens.
enum class StartFigure : std::uint8_t {
  skipped,
  total,        // of the device, as the runtime reports it
  free_before,  // before anything is loaded
  free_after,   // when all is allocated
  allocated,    // of all that follows together, where the log does not say the parts
  weights,
  kv,      // the pool, or what is left for it
  states,  // of recurrent layers
  graphs,
  activations,  // buffers of a step
  outside,      // context, communication and whatever else torch does not allocate
  pool_tokens,
  context_length,
  requests,     // at once
  concurrency,  // requests of the longest length that the pool holds, as the engine counts them
  count
};
inline constexpr std::size_t kStartFigures = static_cast<std::size_t>(StartFigure::count);

// A line of a log and what its numbers are.
struct StartLine {
  std::string_view pattern;  // find_pattern, log_text.hpp
  std::array<StartFigure, 5> figures = {};
  double gib = 1;  // of one unit of its sizes: 2^-10 of a MiB
  // One buffer of several, whose device's name stands in front of a text ("CUDA0 KV buffer size")
  // or behind a key ("device=CUDA0"); both empty: no buffer.
  std::string_view device_before = {};
  std::string_view device_behind = {};
  bool adds = false;  // buffers of several lines are parts; else the last line counts
};
struct StartedLog;

struct StartedLines {
  std::span<const StartLine> rows;
  std::span<const std::string_view> marks;  // texts that only this engine writes
  // A text of the line with which a load begins: buffers before it are of another one. Empty: none.
  std::string_view load_begins = {};
  const StartedLines* runs = nullptr;  // another engine, whose lines it writes, too
  // Takes what a line says of the model, the board and the options. Null: nothing.
  void (*read_settings)(std::string_view line, StartedLog& log) = nullptr;
};

// The sizes of one device's buffers, by kind, under the name that the log gives it.
struct DeviceBuffers {
  std::string device;
  std::array<std::optional<double>, kStartFigures> gib;

  [[nodiscard]] double sum() const;
};

struct StartedLog {
  const Engine* engine = nullptr;
  std::string model;                // as the log names it; empty: it does not
  std::string board;                // "NVIDIA GeForce RTX 3090"; empty: it does not say
  bool has_several_boards = false;  // of more than one kind
  // Options of the engine's section that the log tells, by their names.
  std::map<std::string, std::string> options;
  // Of a start that failed also these: engines that size them themselves would not have.
  std::map<std::string, std::string> options_of_failure;
  std::array<std::optional<double>, kStartFigures> figures;
  // Where buffers are named: the fullest device of these, and what the host holds.
  std::string device;
  std::size_t devices = 1;
  std::vector<DeviceBuffers> buffers;  // of the devices, without the host's
  std::optional<double> host_gib;

  [[nodiscard]] std::optional<double>& figure(StartFigure which) {
    return figures[static_cast<std::size_t>(which)];
  }
  [[nodiscard]] const std::optional<double>& figure(StartFigure which) const {
    return figures[static_cast<std::size_t>(which)];
  }
};

// Nothing: no line of a known engine says anything about memory.
[[nodiscard]] std::optional<StartedLog> find_started_log(std::string_view text);

// The engine with most lines of its own in a text that says nothing of its memory: a server that
// has loaded no model. Null: fewer than two such lines.
[[nodiscard]] const Engine* engine_of_lines(std::string_view text);

// The same of a log that its engine's own reader has read.
[[nodiscard]] StartedLog started_log(const StartupLog& log);

}  // namespace headroom
