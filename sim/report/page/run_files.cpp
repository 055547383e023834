#include "sim/report/page/run_files.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <limits>
#include <optional>
#include <string_view>
#include <utility>

#include "sim/report/json/names.hpp"
#include "sim/report/page/run_summary.hpp"
#include "workloads/traces/csv_rows.hpp"
#include "workloads/traces/shown.hpp"

namespace headroom {
namespace {

namespace fs = std::filesystem;

constexpr std::array kWrittenOutcomes{Outcome::unfinished,  Outcome::finished,
                                      Outcome::rejected,    Outcome::cancelled,
                                      Outcome::lost_to_oom, Outcome::lost_to_fault};
constexpr std::array kOomKinds{OomKind::startup,
                               OomKind::rejected_too_long,
                               OomKind::runtime_device,
                               OomKind::fragmentation,
                               OomKind::thrash,
                               OomKind::runtime_host,
                               OomKind::cgroup_kill,
                               OomKind::host_freeze,
                               OomKind::context_length_exceeded,
                               OomKind::kv_cells};

constexpr auto kWrittenEventKinds = [] {
  std::array<EngineEventKind, kEngineEventKinds> kinds{};
  for (std::size_t i = 0; i < kinds.size(); ++i) kinds[i] = static_cast<EngineEventKind>(i);
  return kinds;
}();

// The value of `known` with this name.
template <typename T, std::size_t N>
std::optional<T> named(const std::array<T, N>& known, std::string_view name) {
  const auto found = std::ranges::find_if(known, [&](T one) { return name_of(one) == name; });
  return found == known.end() ? std::nullopt : std::optional<T>(*found);
}

void check_directory(const fs::path& directory) {
  std::error_code failed;
  if (!fs::is_directory(directory, failed)) {
    throw ConfigError(Complaint{.kind = ErrorKind::unreadable,
                                .origin = directory.string(),
                                .problem = fs::exists(directory, failed)
                                               ? "expected a folder of a run or a study's database"
                                               : "no such file or folder"});
  }
  for (const char* name :
       {"summary.json", "requests.csv", "timeline.csv", "events.jsonl", "resolved.json"}) {
    if (fs::is_regular_file(directory / name, failed)) continue;
    throw ConfigError(
        Complaint{.origin = directory.string(),
                  .problem = fmt::format(
                      "no folder of a run: it has no {} (headroom run S -o DIR writes it)", name)});
  }
}

// A whole number of the row, from `low` on.
template <typename T>
T number(const CsvRows& rows, CsvRows::Column column, std::int64_t low) {
  constexpr auto kMost = std::numeric_limits<T>::max();
  const std::int64_t value = rows.integer(column);
  if (value < low || std::cmp_greater(value, kMost)) {
    rows.refuse(column, fmt::format("a whole number in {} .. {}", low, kMost));
  }
  return static_cast<T>(value);
}

TimeNs instant(const CsvRows& rows, CsvRows::Column column) {
  return rows.text(column).empty() ? -1 : number<TimeNs>(rows, column, 0);
}

class RequestRows {
 public:
  explicit RequestRows(CsvRows& rows) : rows_(rows) {
    for (std::size_t i = 0; i < kNames.size(); ++i) columns_[i] = rows.need(kNames[i]);
  }

  [[nodiscard]] RequestRecord record() const {
    RequestRecord r;
    r.index = number<std::uint64_t>(rows_, columns_[0], 0);
    r.class_id = number<std::uint8_t>(rows_, columns_[1], 0);
    r.replica = number<std::uint16_t>(rows_, columns_[2], 0);
    r.arrival_ns = number<TimeNs>(rows_, columns_[3], 0);
    r.queued_ns = instant(rows_, columns_[4]);
    r.first_scheduled_ns = instant(rows_, columns_[5]);
    r.first_token_ns = instant(rows_, columns_[6]);
    r.finish_ns = instant(rows_, columns_[7]);
    r.prompt_tokens = number<std::int32_t>(rows_, columns_[8], 0);
    r.output_tokens = number<std::int32_t>(rows_, columns_[9], 0);
    r.max_tokens = number<std::int32_t>(rows_, columns_[10], 0);
    r.preemptions = number<std::uint16_t>(rows_, columns_[11], 0);
    const std::optional<Outcome> outcome = named(kWrittenOutcomes, rows_.text(columns_[12]));
    if (!outcome) rows_.refuse(columns_[12], "an outcome, such as finished or rejected");
    r.outcome = *outcome;
    check_order(r);
    return r;
  }

 private:
  static constexpr std::array<std::string_view, 13> kNames{
      "index",          "class",      "replica",
      "arrival_ns",     "queued_ns",  "first_scheduled_ns",
      "first_token_ns", "finish_ns",  "prompt_tokens",
      "output_tokens",  "max_tokens", "preemptions",
      "outcome"};

  // Latencies are differences of these.
  void check_order(const RequestRecord& r) const {
    if (r.first_token_ns >= 0 && r.first_token_ns < r.arrival_ns) {
      rows_.refuse(columns_[6], "a time not before the arrival");
    }
    if (r.finish_ns >= 0 && r.finish_ns < std::max(r.arrival_ns, r.first_token_ns)) {
      rows_.refuse(columns_[7], "a time not before the arrival and the first token");
    }
    if (r.outcome == Outcome::finished && (r.first_token_ns < 0 || r.finish_ns < 0)) {
      rows_.refuse(columns_[7], "times of first token and finish for a finished request");
    }
  }

  CsvRows& rows_;
  std::array<CsvRows::Column, 13> columns_{};
};

std::vector<RequestRecord> read_requests(const std::string& path) {
  LineReader lines(path);
  CsvRows rows(lines);
  const RequestRows columns(rows);
  std::vector<RequestRecord> records;
  while (rows.next()) records.push_back(columns.record());
  return records;
}

std::vector<TimelineRow> read_timeline(const std::string& path) {
  LineReader lines(path);
  CsvRows rows(lines);
  constexpr std::array<std::string_view, 8> kCounts{
      "running_requests",   "waiting_requests",   "kv_capacity_tokens", "kv_used_tokens",
      "kv_reserved_tokens", "kv_internal_tokens", "kv_external_tokens", "kv_cached_tokens"};
  const CsvRows::Column time = rows.need("time_ns");
  const CsvRows::Column replica = rows.need("replica");
  const CsvRows::Column cause = rows.need("cause");
  std::array<CsvRows::Column, kCounts.size()> counts{};
  for (std::size_t i = 0; i < kCounts.size(); ++i) counts[i] = rows.need(kCounts[i]);
  std::vector<TimelineRow> timeline;
  while (rows.next()) {
    TimelineRow& row = timeline.emplace_back();
    row.time_ns = number<TimeNs>(rows, time, 0);
    row.replica = number<std::uint16_t>(rows, replica, 0);
    row.oom = rows.text(cause) == "oom";
    if (!row.oom && rows.text(cause) != "interval") rows.refuse(cause, "interval or oom");
    const std::array targets{&row.running,     &row.waiting,     &row.kv.capacity, &row.kv.used,
                             &row.kv.reserved, &row.kv.internal, &row.kv.external, &row.kv.cached};
    for (std::size_t i = 0; i < targets.size(); ++i) {
      *targets[i] = number<std::int64_t>(rows, counts[i], 0);
    }
  }
  return timeline;
}

[[noreturn]] void refuse_event(const LineReader& lines, std::string_view what) {
  throw DataError(fmt::format("{}: {}", lines.place(), what));
}

// A count of the event; `none` where it is not there.
std::int64_t count_of(const LineReader& lines, const Json& event, const char* key,
                      std::int64_t none) {
  const auto found = event.find(key);
  if (found == event.end()) return none;
  if (!found->is_number_integer()) {
    refuse_event(lines,
                 fmt::format("{}: expected a whole number, not {}", key, shown(found->dump())));
  }
  return found->get<std::int64_t>();
}

template <typename T, std::size_t N>
T kind_of(const LineReader& lines, const Json& event, const char* key,
          const std::array<T, N>& known) {
  const auto found = event.find(key);
  std::optional<T> kind;
  if (found != event.end() && found->is_string()) {
    kind = named(known, found->get_ref<const std::string&>());
  }
  if (!kind) {
    std::string names;
    for (const T one : known) names += fmt::format("{}{}", names.empty() ? "" : ", ", name_of(one));
    refuse_event(lines, fmt::format("{}: expected one of {}", key, names));
  }
  return *kind;
}

LoggedEvent event_of(const LineReader& lines, const Json& json) {
  LoggedEvent event;
  event.kind = kind_of(lines, json, "kind", kWrittenEventKinds);
  if (json.contains("oom")) event.oom = kind_of(lines, json, "oom", kOomKinds);
  event.time_ns = count_of(lines, json, "time_ns", -1);
  if (event.time_ns < 0) refuse_event(lines, "time_ns: expected 0 or more");
  event.until_ns = count_of(lines, json, "until_ns", -1);
  event.replica = static_cast<std::uint16_t>(count_of(lines, json, "replica", 0));
  event.request = static_cast<std::uint64_t>(count_of(lines, json, "request", -1));
  event.tokens = count_of(lines, json, "tokens", 0);
  event.running = count_of(lines, json, "running", -1);
  event.waiting = count_of(lines, json, "waiting", -1);
  event.free_blocks = count_of(lines, json, "free_blocks", -1);
  return event;
}

std::vector<LoggedEvent> read_events(const std::string& path) {
  LineReader lines(path);
  std::vector<LoggedEvent> events;
  std::string_view line;
  while (lines.next(line)) {
    const Json json = Json::parse(line, nullptr, false);
    if (!json.is_object()) {
      refuse_event(lines, fmt::format("not a JSON object (truncated file?): {}", shown(line)));
    }
    events.push_back(event_of(lines, json));
  }
  return events;
}

}  // namespace

RunFiles read_run(const std::string& directory) {
  const fs::path folder(directory);
  check_directory(folder);
  const auto path = [&](const char* name) { return (folder / name).string(); };
  RunFiles run;
  run.directory = directory;
  run.summary = read_json_file(path("summary.json")).root;
  check_summary(run.summary, path("summary.json"));
  run.resolved = read_json_file(path("resolved.json")).root;
  check_resolved(run.resolved, path("resolved.json"));
  run.requests = read_requests(path("requests.csv"));
  const auto arrived = run.summary["requests"]["arrived"].get<std::int64_t>();
  if (std::cmp_not_equal(run.requests.size(), arrived)) {
    throw DataError(
        fmt::format("{}: {} rows, but summary.json says that {} requests arrived: one of the files "
                    "belongs to another run or is truncated",
                    path("requests.csv"), run.requests.size(), arrived));
  }
  run.timeline = read_timeline(path("timeline.csv"));
  run.events = read_events(path("events.jsonl"));
  return run;
}

}  // namespace headroom
