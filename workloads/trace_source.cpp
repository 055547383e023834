#include "workloads/trace_source.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "sim/kernel/check.hpp"
#include "sim/kernel/errors.hpp"

namespace headroom {

TraceSource::TraceSource(std::shared_ptr<const Trace> trace, const TraceSourceOptions& options)
    : trace_(std::move(trace)), max_tokens_(options.max_tokens), class_id_(options.class_id) {
  const std::int64_t wanted = options.num_requests.value_or(INT64_MAX);
  if (wanted < 0) {
    throw ConfigError(fmt::format("num_requests is {}; allowed: 0 or more", wanted));
  }
  max_tokens_.check_class(class_id_);
  const auto rows = static_cast<std::int64_t>(trace_->rows.size());
  end_ = static_cast<std::size_t>(std::min(wanted, rows));
}

TimeNs TraceSource::next_time() { return at_ == end_ ? kNever : trace_->rows[at_].time_ns; }

Arrival TraceSource::take() {
  HEADROOM_CHECK(at_ < end_, "request taken from a workload that has ended");
  const TraceRow& row = trace_->rows[at_];
  ++at_;
  Arrival arrival{.time_ns = row.time_ns,
                  .prompt_tokens = row.prompt_tokens,
                  .output_tokens = row.output_tokens,
                  .max_tokens = 0,
                  .class_id = class_id_};
  max_tokens_.apply(arrival);
  return arrival;
}

void TraceSource::on_done(std::uint64_t /*index*/, Outcome /*outcome*/, TimeNs /*now_ns*/) {
  // Open loop: what becomes of a request changes nothing.
}

}  // namespace headroom
