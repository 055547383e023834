#include "sim/traces/trace_convert.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>

#include "sim/kernel/errors.hpp"
#include "sim/kernel/nearest_name.hpp"
#include "sim/traces/mooncake_writer.hpp"
#include "sim/traces/ordered_records.hpp"
#include "workloads/traces/headroom_csv_writer.hpp"

namespace headroom {
namespace {

const std::array<std::string, 2> kTargets = {"headroom", "mooncake"};  // by TraceTarget

// What the writing pass has to know before its first row.
class Survey {
 public:
  Survey(const OrderedRecords& records, TraceTarget target) : records_(records), target_(target) {}

  void start() {
    rows = 0;
    first_ns = kNever;
    columns = {};
    columns.clock = records_.clock();
    obstacles = MooncakeObstacles(records_.clock());
  }

  void add(const TraceRecord& record) {
    ++rows;
    if (record.time_ns != kNoTime) first_ns = std::min(first_ns, record.time_ns);
    if (target_ == TraceTarget::headroom) {
      columns.include(record);
      return;
    }
    const std::string reason = obstacles.of(record);
    if (!reason.empty()) throw DataError(fmt::format("{}: row {}: {}", path(), rows, reason));
  }

  [[nodiscard]] const std::string& path() const { return records_.path(); }
  // What times are counted from.
  [[nodiscard]] TimeNs offset_ns() const {
    return records_.clock() == TraceClock::absolute && first_ns != kNever ? first_ns : 0;
  }

  std::int64_t rows = 0;
  TimeNs first_ns = kNever;
  TraceCsvColumns columns;
  MooncakeObstacles obstacles{TraceClock::absolute};

 private:
  const OrderedRecords& records_;
  TraceTarget target_;
};

template <typename Writer>
class WritingPass {
 public:
  WritingPass(Writer& writer, const Survey& survey) : writer_(writer), survey_(survey) {}

  void start() {
    if (started_) refuse_changed();
    started_ = true;
  }
  void add(const TraceRecord& record) {
    row_ = record;
    if (row_.time_ns != kNoTime) row_.time_ns -= survey_.offset_ns();
    ++rows_;
    try {
      writer_.write(row_);
    } catch (const DataError& error) {
      throw DataError(fmt::format("{}: {}", survey_.path(), error.what()));
    }
  }
  void finish() {
    if (rows_ != survey_.rows) refuse_changed();
    writer_.finish();
  }

 private:
  [[noreturn]] void refuse_changed() const {
    throw DataError(fmt::format("{}: changed while it was read", survey_.path()));
  }

  Writer& writer_;
  const Survey& survey_;
  TraceRecord row_;
  std::int64_t rows_ = 0;
  bool started_ = false;
};

template <typename Writer>
void write_rows(Writer writer, OrderedRecords& records, const Survey& survey) {
  WritingPass pass(writer, survey);
  records.pass(pass);
  pass.finish();
}

}  // namespace

TraceTarget trace_target(const std::string& name) {
  const auto found = std::ranges::find(kTargets, name);
  if (found == kTargets.end()) {
    throw ConfigError(Complaint{.kind = ErrorKind::unknown,
                                .origin = fmt::format("--to {}", name),
                                .problem = fmt::format("expected one of {}", comma_list(kTargets)),
                                .nearest = nearest_name(name, kTargets)});
  }
  return static_cast<TraceTarget>(found - kTargets.begin());
}

Conversion convert_trace(const std::string& path, TraceTarget target,
                         const std::function<void(std::string_view text)>& sink, SessionInput input,
                         const std::string& columns) {
  OrderedRecords records(path, input, columns);
  Survey survey(records, target);
  records.pass(survey);
  if (survey.rows == 0) throw DataError(fmt::format("{}: has no rows", path));
  if (target == TraceTarget::headroom) {
    write_rows(TraceCsvWriter(sink, survey.columns), records, survey);
  } else {
    write_rows(MooncakeWriter(sink), records, survey);
  }
  return {.file = records.file_name(),
          .format = std::string(records.format()),
          .rows = survey.rows,
          .backward_steps = records.backward_steps(),
          .session_turns = records.session_turns(),
          .left_out = survey.obstacles.left_out(),
          .warning = records.warning()};
}

}  // namespace headroom
