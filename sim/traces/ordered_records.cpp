#include "sim/traces/ordered_records.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "sim/kernel/check.hpp"
#include "sim/kernel/errors.hpp"

namespace headroom {
namespace {

bool is_plain(const TraceRecord& record) {
  return record.time_ns != kNoTime && record.thinking_tokens == 0 && record.max_tokens == 0 &&
         record.priority == 0 && record.class_name.empty() && record.session == kNoSession &&
         record.after_previous_ns < 0 && record.prefix.empty() && record.output_segment == 0 &&
         record.gives_up_ns < 0 && record.measured_ttft_ns < 0 && record.measured_e2el_ns < 0;
}

}  // namespace

void RecordStore::add(const TraceRecord& record, TraceClock clock) {
  Row row;
  row.place_ns = place_of(record, clock);
  row.prompt_tokens = record.prompt_tokens;
  row.output_tokens = record.output_tokens;
  if (!is_plain(record)) {
    HEADROOM_CHECK(details_.size() < UINT32_MAX, "2^32 rows with details in memory");
    row.detail = static_cast<std::uint32_t>(details_.size());
    details_.push_back(record);
    // The reader's text is gone with its next row.
    details_.back().class_name = *classes_.emplace(record.class_name).first;
  }
  rows_.push_back(row);
}

// A row without a time belongs where its session's previous one stands (as in a run). Rows without
// a common clock keep the order of the file.
TimeNs RecordStore::place_of(const TraceRecord& record, TraceClock clock) {
  if (clock != TraceClock::absolute) return clock == TraceClock::none ? 0 : record.time_ns;
  if (record.time_ns == kNoTime) {
    const auto found = session_times_.find(record.session);
    return found == session_times_.end() ? latest_ns_ : found->second;
  }
  latest_ns_ = record.time_ns;
  if (record.session != kNoSession) session_times_[record.session] = record.time_ns;
  return record.time_ns;
}

void RecordStore::sort_by_time() { std::ranges::stable_sort(rows_, {}, &Row::place_ns); }

void RecordStore::get(std::size_t place, TraceRecord& record) const {
  const Row& row = rows_[place];
  if (row.detail != UINT32_MAX) {
    record = details_[row.detail];
    return;
  }
  record = TraceRecord();
  record.time_ns = row.place_ns;
  record.prompt_tokens = row.prompt_tokens;
  record.output_tokens = row.output_tokens;
}

OrderedRecords::OrderedRecords(const std::string& path, SessionInput input,
                               const std::string& columns)
    : path_(path), input_(input), columns_(columns) {
  file_.emplace(path, input, columns);
  file_state_ = file_->lines().file_state();
  format_ = file_->format().name;
  clock_ = file_->clock();
  if (!file_state_.is_regular) load();
}

std::string OrderedRecords::file_name() const {
  return std::filesystem::path(path_).filename().string();
}

void OrderedRecords::open() {
  if (!is_fresh_) {
    file_.emplace(path_, input_, columns_);
    if (file_->lines().file_state() != file_state_) {
      throw DataError(fmt::format("{}: changed while it was read", path_));
    }
  }
  is_fresh_ = false;
}

void OrderedRecords::load() {
  open();
  TraceRecord record;
  TimeNs latest_ns = kNoTime;
  TimeUnitCheck times;
  while (file_->next(record)) {
    times.add(record.time_ns);
    store_.add(record, clock_);
    if (clock_ != TraceClock::absolute || record.time_ns == kNoTime) continue;
    backward_steps_ += record.time_ns < latest_ns ? 1 : 0;
    latest_ns = record.time_ns;
  }
  if (backward_steps_ != 0) store_.sort_by_time();
  in_memory_ = true;
  session_turns_ = file_->session_turns();
  warning_ = file_->warning(times);
  file_.reset();
}

}  // namespace headroom
