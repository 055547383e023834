#include "sim/engines/memory_failure.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <span>

#include "sim/engines/engines.hpp"
#include "sim/engines/launch.hpp"
#include "sim/engines/log_text.hpp"
#include "sim/engines/started_log.hpp"

namespace headroom {
namespace {

using Figure = MemoryFigure;

constexpr double kLengthMargin = 0.9;  // pools are known to 10 % (resolve/start_verdict.hpp)
constexpr std::int64_t kLengthUnit = 256;

constexpr std::string_view kLessMemory =
    "leave more memory free: a smaller share of the device for the engine, a smaller batch, or "
    "other programs stopped|quantised weights or KV, or more devices";

// PyTorch: c10/cuda/CUDACachingAllocator.cpp; its sizes carry units of their own.
constexpr std::string_view kTorchTotal = "has a total capacity of ";
constexpr std::string_view kTorchTotalMisspelt = "has a total capacty of ";  // 2.1
constexpr std::string_view kTorchMark = "out of memory. Tried to allocate ";

// Linux: mm/oom_kill.c, __oom_kill_process.
constexpr std::string_view kKernelMark = "illed process ";

struct Line {
  std::string text;
  std::int64_t number = 0;
};

std::vector<Line> lines_of(std::string_view text) {
  std::vector<Line> lines;
  std::int64_t number = 0;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find('\n', begin), text.size());
    lines.push_back({without_colours(text.substr(begin, end - begin)), ++number});
    begin = end + 1;
  }
  return lines;
}

// "1.96 GiB", "256.00 MiB", "512 bytes" right behind `phrase`, in GiB.
std::optional<double> size_behind(std::string_view text, std::string_view phrase) {
  constexpr std::array<std::pair<std::string_view, double>, 5> kUnits{{{"GiB", 1},
                                                                       {"MiB", kGibPerMib},
                                                                       {"KiB", kGibPerMib / 1024},
                                                                       {"bytes", kGibPerByte},
                                                                       {"kB", kGibPerMib / 1024}}};
  for (const auto& [unit, gib] : kUnits) {
    std::array<double, 1> number{};
    if (find_pattern(text, fmt::format("{}# {}", phrase, unit), number)) return number[0] * gib;
  }
  return std::nullopt;
}

// Of a list with sizes in front of their names: "(GPU 0; 44.56 GiB total capacity; 565 MiB free; ".
std::optional<double> size_before(std::string_view text, std::string_view phrase) {
  const std::size_t end = text.find(phrase);
  if (end == std::string_view::npos) return std::nullopt;
  const std::size_t begin = text.rfind("; ", end);
  if (begin == std::string_view::npos) return std::nullopt;
  return size_behind(text.substr(begin, end - begin), "; ");
}

// The line with those behind it, as a terminal or an editor breaks long ones.
std::string joined_lines(std::span<const Line> lines, std::size_t at, std::size_t most) {
  std::string text;
  for (std::size_t i = at; i < std::min(at + most, lines.size()); ++i) {
    text += (i == at ? "" : " ") + lines[i].text;
  }
  return text;
}

// "CUDA0" of "failed to allocate CUDA0 buffer of size 10603200512"; of a later line, its device's.
std::string refused_device(const std::string& line) {
  constexpr std::string_view kMark = "failed to allocate ";
  const std::size_t at = line.find(kMark);
  std::array<double, 1> size{};
  if (at == std::string::npos ||
      !find_pattern(line, "failed to allocate * buffer of size #", size)) {
    return {};
  }
  const std::string rest = line.substr(at + kMark.size());
  return rest.substr(0, rest.find(' '));
}

class FailureReader {
 public:
  explicit FailureReader(std::string_view text) : lines_(lines_of(text)) {}

  std::optional<MemoryFailure> read() {
    for (std::size_t at = 0; at < lines_.size(); ++at) {
      for (const Engine* engine : engines()) {
        if (engine->launch != nullptr) read_messages(*engine, at);
      }
      read_torch(at);
      read_kernel(at);
      if (const std::string device = refused_device(lines_[at].text); !device.empty()) {
        failure_.device = device;
      }
    }
    if (!found_) return std::nullopt;
    fill_changes();
    return std::move(failure_);
  }

 private:
  void set(Figure which, double value) {
    failure_.figures[static_cast<std::size_t>(which)] = value;
  }

  void fail(const Engine* engine, StartupStage stage, std::string_view meaning,
            std::string_view changes, std::size_t at, std::string_view mark) {
    failure_.engine = engine != nullptr ? engine : failure_.engine;
    failure_.stage = stage;
    failure_.meaning = meaning;
    changes_ = changes;
    failure_.line = lines_[at].number;
    failure_.text = from_message(lines_[at].text, mark);
    found_ = true;
  }

  void read_messages(const Engine& engine, std::size_t at) {
    for (const MemoryMessage& message : engine.launch->messages) {
      std::array<double, kMaxPatternNumbers> numbers{};
      const std::string_view start = message.pattern.substr(0, message.pattern.find_first_of("#*"));
      if (!matches(message.pattern, start, at, numbers)) continue;
      for (std::size_t i = 0; i < message.figures.size(); ++i) {
        const Figure which = message.figures[i];
        const bool tokens = which == Figure::length || which == Figure::longest;
        if (which != Figure::skipped) set(which, numbers[i] * (tokens ? 1 : message.gib));
      }
      if (message.meaning.empty() || cause_named_) continue;
      cause_named_ = !message.is_vague;
      fail(&engine, message.stage, message.meaning, message.changes, at, start);
      break;  // rows stand in order: the fullest message first
    }
  }

  // On one line, else over the lines behind it; its first words stand on the first.
  bool matches(std::string_view pattern, std::string_view start, std::size_t at,
               std::span<double> numbers) const {
    if (find_pattern(lines_[at].text, pattern, numbers)) return true;
    std::array<double, kMaxPatternNumbers> none{};
    if (!find_pattern(lines_[at].text, start, none)) return false;
    constexpr std::size_t kBroken = 4;
    return find_pattern(joined_lines(lines_, at, kBroken), pattern, numbers);
  }

  void read_torch(std::size_t at) {
    if (!contains(lines_[at].text, kTorchMark)) return;
    const std::string text = joined_lines(lines_, at, 6);
    const auto take = [&](Figure which, std::string_view phrase) {
      if (const auto size = size_behind(text, phrase)) set(which, *size);
    };
    take(Figure::wanted, "Tried to allocate ");
    take(Figure::total, kTorchTotalMisspelt);
    take(Figure::total, kTorchTotal);
    take(Figure::free, "of which ");
    take(Figure::graphs, "PyTorch, with ");  // "allocated in private pools (e.g., CUDA Graphs)"
    take(Figure::reserved, "PyTorch, and ");
    take(Figure::reserved, "CUDA Graphs), and ");
    read_old_torch(text);
    const auto own = size_behind(text, "this process has ");
    const auto& total = failure_.figure(Figure::total);
    const auto& free = failure_.figure(Figure::free);
    if (own && total && free) set(Figure::others, std::max(0.0, *total - *free - *own));
    if (cause_named_) return;
    fail(nullptr, StartupStage::warm_up, "an allocation on the device was refused", kLessMemory, at,
         "Tried to allocate");
  }

  // PyTorch up to 2.0 lists what it knows in brackets.
  void read_old_torch(std::string_view text) {
    const auto total = size_before(text, " total capacity");
    if (!total) return;
    set(Figure::total, *total);
    if (const auto free = size_before(text, " free;")) set(Figure::free, *free);
    const auto used = size_before(text, " already allocated");
    const auto reserved = size_before(text, " reserved in total");
    if (used && reserved) set(Figure::reserved, std::max(0.0, *reserved - *used));
  }

  void read_kernel(std::size_t at) {
    const std::string& line = lines_[at].text;
    const std::size_t mark = line.find(kKernelMark);
    if (mark == std::string::npos || mark == 0 || !contains(line, "anon-rss:")) return;
    const std::size_t open = line.find('(', mark);
    const std::size_t close = line.find(')', mark);
    if (open == std::string::npos || close == std::string::npos || close < open) return;
    failure_.victim = line.substr(open + 1, close - open - 1);
    if (const auto size = size_behind(line, "anon-rss:")) set(Figure::wanted, *size);
    const bool limited = contains(line, "cgroup");
    cause_named_ = true;
    fail(nullptr, StartupStage::host_memory,
         limited ? "the kernel killed the process at its container's memory limit"
                 : "the kernel killed the process because the host ran out of memory",
         limited ? "a larger memory limit of the container|a smaller model or context, or fewer "
                   "layers in host memory"
                 : "a smaller model or context, or fewer layers in host memory|other programs on "
                   "the host stopped|on unified memory: a smaller share for the engine, as its "
                   "device memory is the host's",
         at, line.substr(mark - 1, kKernelMark.size()));
  }

  void fill_changes() {
    constexpr std::string_view kLongest = "{longest}";
    for (std::size_t begin = 0; begin < changes_.size();) {
      const std::size_t end = std::min(changes_.find('|', begin), changes_.size());
      std::string change(changes_.substr(begin, end - begin));
      begin = end + 1;
      if (const std::size_t hole = change.find(kLongest); hole != std::string::npos) {
        const auto& longest = failure_.figure(Figure::longest);
        if (!longest) continue;
        const auto sure = static_cast<std::int64_t>(*longest * kLengthMargin) / kLengthUnit;
        if (sure == 0) continue;
        change.replace(hole, kLongest.size(), std::to_string(sure * kLengthUnit));
      }
      // The same flag without a figure stands behind that with one.
      const std::string flag = change.substr(0, change.find_first_of(" :"));
      const auto& kept = failure_.changes;
      if (flag.starts_with('-') && !kept.empty() && kept.back().starts_with(flag)) continue;
      failure_.changes.push_back(std::move(change));
    }
  }

  std::vector<Line> lines_;
  MemoryFailure failure_;
  std::string_view changes_;
  bool found_ = false;
  bool cause_named_ = false;  // by more than an allocator's message
};

}  // namespace

namespace {

// What the log says of each device's buffers: those of the one whose allocation was refused, else
// of the fullest.
void take_buffers(const StartedLog& log, MemoryFailure& failure) {
  failure.board = log.has_several_boards ? "" : log.board;
  failure.devices = std::max<std::size_t>(1, log.buffers.size());
  if (log.buffers.empty()) return;
  const auto own = std::ranges::find(log.buffers, failure.device, &DeviceBuffers::device);
  const auto fullest = std::ranges::find(log.buffers, log.device, &DeviceBuffers::device);
  if (own == log.buffers.end() && !failure.device.empty()) return;  // the host's
  const DeviceBuffers& taken = failure.device.empty() ? *fullest : *own;
  failure.device = taken.device;
  const auto take = [&](Figure which, StartFigure from) {
    failure.figures[static_cast<std::size_t>(which)] = taken.gib[static_cast<std::size_t>(from)];
  };
  take(Figure::weights, StartFigure::weights);
  take(Figure::kv, StartFigure::kv);
  take(Figure::activations, StartFigure::activations);
}

}  // namespace

std::optional<MemoryFailure> find_memory_failure(std::string_view text) {
  std::optional<MemoryFailure> failure = FailureReader(text).read();
  if (failure) {
    if (const auto log = find_started_log(text)) take_buffers(*log, *failure);
  }
  return failure;
}

std::vector<MemoryPart> memory_parts(const MemoryFailure& failure) {
  const auto& total = failure.figure(Figure::total);
  std::vector<MemoryPart> parts;
  double rest = total.value_or(std::numeric_limits<double>::infinity());
  const auto add = [&](std::string_view name, Figure which) {
    const auto& gib = failure.figure(which);
    if (!gib || *gib <= 0 || *gib > rest) return;
    parts.push_back({name, *gib});
    rest -= *gib;
  };
  add("weights", Figure::weights);
  add("KV", Figure::kv);
  add("graphs", Figure::graphs);
  add("activations", Figure::activations);
  add("kept unused", Figure::reserved);
  add("others", Figure::others);
  const auto& free = failure.figure(Figure::free);
  const bool has_free = free && *free >= 0 && *free <= rest;
  if (total) parts.push_back({"rest", has_free ? rest - *free : rest});
  if (has_free) parts.push_back({"free", *free});
  return parts;
}

}  // namespace headroom
