#include "sim/api/tables.hpp"

#include <span>
#include <utility>
#include <vector>

#include "sim/report/json/names.hpp"
#include "sim/serving/request.hpp"

namespace headroom::api {
namespace {

template <typename Row, typename Value>
Column<Value> column(std::span<const Row> rows, const Value Row::*member) {
  static_assert(sizeof(Row) % sizeof(Value) == 0);
  return {rows.empty() ? nullptr : &(rows.front().*member), sizeof(Row) / sizeof(Value)};
}

template <typename Value>
Column<Value> kv_column(std::span<const TimelineRow> rows, const Value KvSplit::*member) {
  static_assert(sizeof(TimelineRow) % sizeof(Value) == 0);
  return {rows.empty() ? nullptr : &(rows.front().kv.*member), sizeof(TimelineRow) / sizeof(Value)};
}

// Bytes of any type may be read as such.
Column<std::uint8_t> outcomes(std::span<const RequestRecord> rows) {
  const auto* first =
      rows.empty() ? nullptr : reinterpret_cast<const std::uint8_t*>(&rows.front().outcome);
  return {first, sizeof(RequestRecord)};
}
static_assert(sizeof(Outcome) == 1);

RequestColumns columns_of(std::span<const RequestRecord> rows) {
  return {.rows = rows.size(),
          .class_id = column(rows, &RequestRecord::class_id),
          .replica = column(rows, &RequestRecord::replica),
          .arrival_ns = column(rows, &RequestRecord::arrival_ns),
          .queued_ns = column(rows, &RequestRecord::queued_ns),
          .first_scheduled_ns = column(rows, &RequestRecord::first_scheduled_ns),
          .first_token_ns = column(rows, &RequestRecord::first_token_ns),
          .finish_ns = column(rows, &RequestRecord::finish_ns),
          .prompt_tokens = column(rows, &RequestRecord::prompt_tokens),
          .output_tokens = column(rows, &RequestRecord::output_tokens),
          .max_tokens = column(rows, &RequestRecord::max_tokens),
          .preemptions = column(rows, &RequestRecord::preemptions),
          .outcome = outcomes(rows)};
}

TimelineColumns columns_of(std::span<const TimelineRow> rows) {
  return {.rows = rows.size(),
          .time_ns = column(rows, &TimelineRow::time_ns),
          .replica = column(rows, &TimelineRow::replica),
          .running_requests = column(rows, &TimelineRow::running),
          .waiting_requests = column(rows, &TimelineRow::waiting),
          .kv_capacity_tokens = kv_column(rows, &KvSplit::capacity),
          .kv_used_tokens = kv_column(rows, &KvSplit::used),
          .kv_reserved_tokens = kv_column(rows, &KvSplit::reserved),
          .kv_internal_tokens = kv_column(rows, &KvSplit::internal),
          .kv_external_tokens = kv_column(rows, &KvSplit::external),
          .kv_cached_tokens = kv_column(rows, &KvSplit::cached),
          .oom = column(rows, &TimelineRow::oom)};
}

// Samples are kept by replica; here they are one table.
struct Recorded {
  std::shared_ptr<const Recorder> recorder;
  std::vector<TimelineRow> timeline;
};

}  // namespace

RunTables run_tables(std::shared_ptr<const Recorder> recorder) {
  if (recorder == nullptr) return {};
  auto recorded = std::make_shared<Recorded>(Recorded{std::move(recorder), {}});
  const Timeline& timeline = recorded->recorder->timeline();
  for (std::size_t replica = 0; replica < timeline.replicas(); ++replica) {
    const auto rows = timeline.rows(static_cast<std::uint16_t>(replica));
    recorded->timeline.insert(recorded->timeline.end(), rows.begin(), rows.end());
  }
  return {.requests = columns_of(recorded->recorder->records()),
          .timeline = columns_of(std::span<const TimelineRow>(recorded->timeline)),
          .memory = recorded};
}

std::vector<std::string> outcome_names() {
  std::vector<std::string> names;
  for (std::size_t i = 0; i < kOutcomeCount; ++i) {
    names.emplace_back(name_of(static_cast<Outcome>(i)));
  }
  return names;
}

}  // namespace headroom::api
