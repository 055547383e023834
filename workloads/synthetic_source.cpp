#include "workloads/synthetic_source.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <span>

#include "sim/kernel/check.hpp"
#include "sim/kernel/errors.hpp"
#include "workloads/length_pair.hpp"

namespace headroom {
namespace {

const SyntheticOptions& checked(const SyntheticOptions& options) {
  if (options.num_requests && *options.num_requests < 0) {
    throw ConfigError(fmt::format("num_requests is {}; allowed: 0 or more", *options.num_requests));
  }
  if (options.joint_lengths) check_joint_lengths(options.prompt, options.output);
  return options;
}

}  // namespace

SyntheticSource::SyntheticSource(const SyntheticOptions& options, std::uint64_t seed)
    : arrivals_(checked(options).arrivals, seed, options.num_requests),
      prompts_(options.prompt, seed, "lengths/prompt"),
      // The same stream picks the same row.
      outputs_(options.output, seed, options.joint_lengths ? "lengths/prompt" : "lengths/output"),
      max_tokens_(options.max_tokens),
      remaining_(options.num_requests.value_or(INT64_MAX)),
      class_id_(options.class_id) {
  max_tokens_.check_class(class_id_);
}

void SyntheticSource::refill() {
  at_ = 0;
  drawn_ = static_cast<std::size_t>(std::min<std::int64_t>(remaining_, kBatch));
  if (remaining_ != INT64_MAX) remaining_ -= static_cast<std::int64_t>(drawn_);
  arrivals_.fill(std::span(times_ns_).first(drawn_));
  prompts_.fill(std::span(prompt_tokens_).first(drawn_));
  outputs_.fill(std::span(output_tokens_).first(drawn_));
}

TimeNs SyntheticSource::next_time() {
  if (at_ == drawn_) {
    refill();
    if (drawn_ == 0) return kNever;
  }
  return times_ns_[at_];
}

Arrival SyntheticSource::take() {
  HEADROOM_CHECK(next_time() != kNever, "request taken from a workload that has ended");
  Arrival arrival{.time_ns = times_ns_[at_],
                  .prompt_tokens = prompt_tokens_[at_],
                  .output_tokens = output_tokens_[at_],
                  .max_tokens = 0,
                  .class_id = class_id_};
  max_tokens_.apply(arrival);
  ++at_;
  return arrival;
}

void SyntheticSource::on_done(std::uint64_t /*index*/, Outcome /*outcome*/, TimeNs /*now_ns*/) {
  // Open loop: what becomes of a request changes nothing.
}

}  // namespace headroom
