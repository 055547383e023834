#include "sim/memory/memory_series.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "hardware/budget/budget.hpp"
#include "sim/engines/engine_metrics.hpp"
#include "sim/engines/engines.hpp"
#include "sim/engines/log_text.hpp"
#include "sim/kernel/errors.hpp"
#include "sim/kernel/fact_rows.hpp"
#include "workloads/traces/timestamp.hpp"

namespace headroom {
namespace {

enum class Role : std::uint8_t {
  time,
  used,
  reserved,
  allocated,
  total,
  running,
  context,
  gpu,
  ignored
};
constexpr std::size_t kRoles = static_cast<std::size_t>(Role::ignored);

struct Unit {
  std::string_view name;
  double scale;  // in GiB or s
};
const std::array kMemoryUnits{Unit{"b", gib_from_bytes(1)},
                              Unit{"byte", gib_from_bytes(1)},
                              Unit{"bytes", gib_from_bytes(1)},
                              Unit{"kib", gib_from_bytes(1024)},
                              Unit{"mib", gib_from_bytes(1024 * 1024)},
                              Unit{"gib", 1},
                              Unit{"mb", gib_from_bytes(1'000'000)},
                              Unit{"gb", gib_from_bytes(1'000'000'000)}};
constexpr std::array kTimeUnits{Unit{"s", 1},     Unit{"sec", 1},   Unit{"seconds", 1},
                                Unit{"ms", 1e-3}, Unit{"us", 1e-6}, Unit{"ns", 1e-9}};

struct Name {
  std::string_view name;
  Role role;
};
constexpr std::array kColumnNames{Name{"time", Role::time},
                                  Name{"timestamp", Role::time},
                                  Name{"t", Role::time},
                                  Name{"elapsed", Role::time},
                                  Name{"seconds", Role::time},
                                  Name{"memory_used", Role::used},
                                  Name{"used_memory", Role::used},
                                  Name{"used", Role::used},
                                  Name{"memory", Role::used},
                                  Name{"reserved", Role::reserved},
                                  Name{"memory_reserved", Role::reserved},
                                  Name{"allocated", Role::allocated},
                                  Name{"memory_allocated", Role::allocated},
                                  Name{"memory_total", Role::total},
                                  Name{"total", Role::total},
                                  Name{"capacity", Role::total},
                                  Name{"running", Role::running},
                                  Name{"num_requests_running", Role::running},
                                  Name{"running_requests", Role::running},
                                  Name{"in_flight", Role::running},
                                  Name{"max_context", Role::context},
                                  Name{"max_context_tokens", Role::context},
                                  Name{"max_context_length", Role::context},
                                  Name{"context_tokens", Role::context},
                                  Name{"index", Role::gpu},
                                  Name{"gpu", Role::gpu},
                                  Name{"gpu_id", Role::gpu},
                                  Name{"uuid", Role::gpu},
                                  Name{"pci_bus_id", Role::gpu}};

std::string_view trimmed(std::string_view text) {
  const std::size_t begin = text.find_first_not_of(" \t\"");
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(" \t\"") - begin + 1);
}

std::vector<std::string_view> cells_of(std::string_view line) {
  std::vector<std::string_view> cells;
  for (std::size_t from = 0; from <= line.size();) {
    const std::size_t comma = std::min(line.find(',', from), line.size());
    cells.push_back(trimmed(line.substr(from, comma - from)));
    from = comma + 1;
  }
  return cells;
}

// Lower case words joined by '_': "memory.used [MiB]" is "memory_used_mib".
std::string plain_name(std::string_view cell) {
  if (const Engine* engine = engine_of_metric(cell); engine != nullptr) {
    cell.remove_prefix(engine->metrics->prefix.size());
  }
  std::string name;
  for (const char c : cell) {
    const bool letter = (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
    if (letter) {
      name += c;
    } else if (c >= 'A' && c <= 'Z') {
      name += static_cast<char>(c - 'A' + 'a');
    } else if (!name.empty() && name.back() != '_') {
      name += '_';
    }
  }
  while (!name.empty() && name.back() == '_') name.pop_back();
  return name;
}

Role role_of(std::string_view name) {
  const auto at = std::ranges::find(kColumnNames, name, &Name::name);
  return at == kColumnNames.end() ? Role::ignored : at->role;
}

template <std::size_t N>
const Unit* unit_of(const std::array<Unit, N>& units, std::string_view name) {
  const auto at = std::ranges::find(units, name, &Unit::name);
  return at == units.end() ? nullptr : &*at;
}

bool is_memory(Role role) {
  return role == Role::used || role == Role::reserved || role == Role::allocated ||
         role == Role::total;
}

struct Column {
  Role role = Role::ignored;
  const Unit* unit = nullptr;  // of the name; null: of each value, or dates
};

// "used_gib" is `used` in GiB; a name that means something by itself has no unit.
Column column_of(const std::string& name) {
  Column column{.role = role_of(name)};
  const std::size_t cut = name.rfind('_');
  if (column.role != Role::ignored || cut == std::string::npos) return column;
  const Role role = role_of(std::string_view(name).substr(0, cut));
  const std::string_view suffix = std::string_view(name).substr(cut + 1);
  const Unit* unit = role == Role::time ? unit_of(kTimeUnits, suffix)
                     : is_memory(role)  ? unit_of(kMemoryUnits, suffix)
                                        : nullptr;
  if (unit != nullptr) column = {.role = role, .unit = unit};
  return column;
}

class SeriesReader {
 public:
  SeriesReader(std::istream& in, const std::string& name, const SeriesColumns& wanted)
      : in_(in), wanted_(wanted) {
    series_.name = name;
  }

  MemorySeries run() {
    read_header();
    while (next_line()) read_row();
    if (series_.samples.empty()) {
      throw DataError(fmt::format("{}: no samples in {} lines", series_.name, line_));
    }
    return std::move(series_);
  }

 private:
  [[nodiscard]] DataError wrong(const std::string& what) const {
    return DataError(fmt::format("{}:{}: {} ({} samples before)", series_.name, line_, what,
                                 series_.samples.size()));
  }

  bool next_line() {
    while (std::getline(in_, text_)) {
      ++line_;
      if (text_.ends_with('\r')) text_.pop_back();
      if (line_ == 1 && text_.starts_with("\xef\xbb\xbf")) text_.erase(0, 3);
      if (!trimmed(text_).empty()) return true;
    }
    return false;
  }

  void read_header() {
    at_.fill(std::string::npos);
    if (!next_line()) throw DataError(fmt::format("{}: empty", series_.name));
    header_ = text_;
    for (const std::string_view cell : cells_of(text_)) {
      const Column column = column_of(plain_name(cell));
      if (column.role == Role::ignored) {
        series_.ignored.emplace_back(cell);
      } else {
        std::size_t& at = at_[static_cast<std::size_t>(column.role)];
        if (at != std::string::npos) {
          throw wrong(fmt::format("'{}' is a second column with the same meaning", cell));
        }
        at = columns_.size();
      }
      columns_.push_back(column);
    }
    if (!has(Role::time)) {
      throw wrong(fmt::format(
          "no time column (time_s, time_ms, timestamp) in '{}'; is this a header?", text_));
    }
    if (!has(Role::used) && !has(Role::reserved)) {
      throw wrong(fmt::format(
          "no memory column (memory.used [MiB], used_gib, reserved_gib) in '{}'", text_));
    }
  }

  [[nodiscard]] bool has(Role role) const {
    return at_[static_cast<std::size_t>(role)] != std::string::npos;
  }
  [[nodiscard]] std::string_view cell(Role role) const {
    return cells_[at_[static_cast<std::size_t>(role)]];
  }

  void read_row() {
    if (text_ == header_) return;  // a recorder that was started again
    cells_ = cells_of(text_);
    if (cells_.size() != columns_.size()) {
      throw wrong(fmt::format("{} values, the header has {}", cells_.size(), columns_.size()));
    }
    if (!is_wanted_gpu()) return;
    MemorySample sample;
    sample.time_s = time_of(cell(Role::time));
    if (!series_.samples.empty() && sample.time_s < series_.samples.back().time_s) {
      throw wrong(fmt::format("time goes backwards at '{}'", cell(Role::time)));
    }
    sample.reserved_gib = memory(Role::reserved);
    sample.allocated_gib = memory(Role::allocated);
    const std::optional<double> used = has(Role::used) ? memory(Role::used) : sample.reserved_gib;
    if (!used) throw wrong("no memory value");
    sample.used_gib = *used;
    sample.running = count(Role::running);
    sample.max_context = count(Role::context);
    if (const std::optional<double> total = memory(Role::total)) {
      if (series_.capacity_gib && *series_.capacity_gib != *total) {
        throw wrong(fmt::format("total memory changes to '{}'", cell(Role::total)));
      }
      series_.capacity_gib = total;
    }
    series_.samples.push_back(sample);
  }

  bool is_wanted_gpu() {
    if (!has(Role::gpu)) return true;
    const std::string_view gpu = cell(Role::gpu);
    if (!wanted_.gpu.empty()) return gpu == wanted_.gpu;
    if (series_.samples.empty()) gpu_ = gpu;
    if (gpu != gpu_) throw wrong(fmt::format("devices '{}' and '{}': choose one", gpu_, gpu));
    return true;
  }

  // Seconds since the first sample.
  double time_of(std::string_view text) {
    const Unit* unit = columns_[at_[static_cast<std::size_t>(Role::time)]].unit;
    const std::optional<double> number = to_number(text);
    const bool first = series_.samples.empty();
    if (first) series_.start = text;
    if (unit != nullptr || number) {
      if (!number || dates_) throw wrong(fmt::format("time '{}' is not a number", text));
      const double time_s = *number * (unit == nullptr ? 1 : unit->scale);
      if (first) first_s_ = time_s;
      return time_s - first_s_;
    }
    std::string date(text);
    std::ranges::replace(date, '/', '-');
    const std::optional<TimeNs> instant = parse_timestamp(date);
    if (!instant || (!first && !dates_)) {
      throw wrong(fmt::format("time '{}' is neither seconds nor YYYY-MM-DD hh:mm:ss", text));
    }
    if (first) first_ns_ = *instant;
    dates_ = true;
    return static_cast<double>(*instant - first_ns_) / 1e9;
  }

  // Absent without the column or with an empty cell.
  std::optional<double> memory(Role role) {
    if (!has(role) || cell(role).empty()) return std::nullopt;
    const std::string_view text = cell(role);
    if (text.starts_with('[')) {
      throw wrong(fmt::format("'{}': this device does not report its memory", text));
    }
    const Unit* unit = columns_[at_[static_cast<std::size_t>(role)]].unit;
    std::string_view digits = text;
    const std::size_t letters = text.find_first_not_of("0123456789.+- ");
    if (letters != std::string_view::npos && text[letters] != 'e') {
      unit = unit_of(kMemoryUnits, plain_name(text.substr(letters)));
      if (unit == nullptr) throw wrong(fmt::format("memory '{}' has no known unit", text));
      digits = text.substr(0, letters);
    }
    const std::optional<double> number = to_number(digits);
    if (!number || *number < 0) throw wrong(fmt::format("memory '{}' is not a number >= 0", text));
    if (unit == nullptr) {
      throw wrong(fmt::format("memory '{}' without a unit: name the column e.g. used_gib", text));
    }
    return *number * unit->scale;
  }

  std::optional<double> count(Role role) {
    if (!has(role) || cell(role).empty()) return std::nullopt;
    const std::optional<double> number = to_number(cell(role));
    if (!number || *number < 0) throw wrong(fmt::format("'{}' is not a number >= 0", cell(role)));
    return number;
  }

  std::istream& in_;
  const SeriesColumns& wanted_;
  MemorySeries series_;
  std::array<std::size_t, kRoles> at_{};  // place of each role; npos: absent
  std::vector<Column> columns_;
  std::vector<std::string_view> cells_;
  std::string text_;
  std::string header_;
  std::int64_t line_ = 0;
  std::string gpu_;
  bool dates_ = false;
  double first_s_ = 0;
  TimeNs first_ns_ = 0;
};

}  // namespace

MemorySeries read_memory_series(std::istream& in, const std::string& name,
                                const SeriesColumns& columns) {
  return SeriesReader(in, name, columns).run();
}

}  // namespace headroom
