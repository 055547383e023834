#include "sim/traces/trace_profile.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "sim/kernel/errors.hpp"
#include "sim/traces/ordered_records.hpp"

namespace headroom {
namespace {

class ProfileSink {
 public:
  ProfileSink(TraceClock clock, const ReservationOptions& options)
      : clock_(clock), options_(options) {
    start();
  }
  void start() { profiler_.emplace(clock_, options_); }
  void add(const TraceRecord& record) { profiler_->add(record); }
  [[nodiscard]] TraceProfile finish() { return profiler_->finish(); }

 private:
  TraceClock clock_;
  ReservationOptions options_;
  std::optional<TraceProfiler> profiler_;
};

}  // namespace

void TraceProfiler::Latency::add(TimeNs ns) {
  if (ns < 0) return;
  histogram_.add(ns);
  sum_ns_ += ns;
  max_ns_ = std::max(max_ns_, ns);
}

std::optional<MeasuredProfile> TraceProfiler::Latency::profile() const {
  const std::int64_t rows = histogram_.count();
  if (rows == 0) return std::nullopt;
  const auto max = static_cast<double>(max_ns_);
  // The middle of the highest bucket may lie above its values.
  const auto ms = [&](double p) { return std::min(histogram_.percentile(p), max) / kNsPerMsReal; };
  return MeasuredProfile{
      .rows = rows,
      .mean_ms = static_cast<double>(sum_ns_) / static_cast<double>(rows) / kNsPerMsReal,
      .p50_ms = ms(50),
      .p90_ms = ms(90),
      .p99_ms = ms(99),
      .max_ms = max / kNsPerMsReal};
}

TraceProfiler::TraceProfiler(TraceClock clock, const ReservationOptions& options)
    : clock_(clock), is_absolute_(clock == TraceClock::absolute), reservations_(options) {}

void TraceProfiler::add_more(const TraceRecord& record) {
  if (!record.class_name.empty()) add_class(record.class_name);
  if (record.session != kNoSession) ++turns_[record.session];
  closed_loop_rows_ += record.after_previous_ns >= 0 ? 1 : 0;
  timeless_rows_ += is_absolute_ && record.time_ns == kNoTime ? 1 : 0;
  thinking_tokens_ += record.thinking_tokens;
  ttft_.add(record.measured_ttft_ns);
  e2el_.add(record.measured_e2el_ns);
  if (record.prefix.empty()) return;
  ++prefix_.rows;
  for (const PrefixSegment& piece : record.prefix) prefix_.prefix_tokens += piece.tokens;
  prefix_.hit_tokens += share_.add(record.prefix);
}

// Rows of one class often follow each other.
void TraceProfiler::add_class(std::string_view name) {
  if (latest_class_ == classes_.end() || latest_class_->first != name) {
    latest_class_ = classes_.find(name);
    if (latest_class_ == classes_.end()) latest_class_ = classes_.emplace(name, 0).first;
  }
  ++latest_class_->second;
}

void TraceProfiler::fill_rows(TraceProfile& profile) {
  profile.left.rows = input_.count();
  profile.left.arrivals = arrivals_left_.stats();
  profile.left.input = length_stats(input_);
  profile.left.output = length_stats(output_);
  profile.reservations = reservations_.finish(input_, output_);
  input_.merge(zero_input_);
  output_.merge(zero_output_);
  profile.all.rows = input_.count();
  profile.all.arrivals = arrivals_.stats();
  profile.all.input = length_stats(input_);
  profile.all.output = length_stats(output_);
}

std::vector<ClassRows> TraceProfiler::classes(std::int64_t rows) const {
  std::vector<ClassRows> list;
  if (classes_.empty()) return list;
  std::int64_t unnamed = rows;
  for (const auto& [name, count] : classes_) unnamed -= count;
  if (unnamed > 0) list.push_back({.name = "", .rows = unnamed});
  for (const auto& [name, count] : classes_) list.push_back({.name = name, .rows = count});
  return list;
}

SessionProfile TraceProfiler::sessions() const {
  std::vector<std::int64_t> turns;
  turns.reserve(turns_.size());
  SessionProfile profile;
  for (const auto& [session, count] : turns_) {
    turns.push_back(count);
    profile.rows += count;
  }
  if (turns.empty()) return profile;
  std::ranges::sort(turns);
  const std::size_t last = turns.size() - 1;
  profile.sessions = static_cast<std::int64_t>(turns.size());
  profile.p50_turns = (turns[last / 2] + turns[(last + 1) / 2]) / 2;
  profile.max_turns = turns[last];
  return profile;
}

TraceProfile TraceProfiler::finish() {
  TraceProfile profile;
  profile.clock = clock_;
  profile.zero = zero_;
  fill_rows(profile);
  profile.thinking_tokens = thinking_tokens_;
  profile.closed_loop_rows = closed_loop_rows_;
  profile.timeless_rows = timeless_rows_;
  profile.classes = classes(profile.all.rows);
  profile.sessions = sessions();
  profile.prefix = prefix_;
  if (profile.all.input.sum_tokens > 0) {
    profile.prefix.hit_share =
        static_cast<double>(prefix_.hit_tokens) / static_cast<double>(profile.all.input.sum_tokens);
  }
  profile.ttft = ttft_.profile();
  profile.e2el = e2el_.profile();
  return profile;
}

TraceProfile profile_trace(const std::string& path, const ReservationOptions& options,
                           SessionInput input, const std::string& columns) {
  OrderedRecords records(path, input, columns);
  ProfileSink sink(records.clock(), options);
  records.pass(sink);
  TraceProfile profile = sink.finish();
  if (profile.all.rows == 0) throw DataError(fmt::format("{}: has no rows", path));
  profile.file = records.file_name();
  profile.format = records.format();
  profile.backward_steps = records.backward_steps();
  profile.in_memory = records.in_memory();
  profile.session_turns = records.session_turns();
  profile.warning = records.warning();
  return profile;
}

}  // namespace headroom
