#include "tests/unit/workloads/traffic_text.hpp"

#include <fmt/format.h>

#include <map>
#include <utility>

namespace headroom::test {

LengthOptions fixed_tokens(std::int64_t tokens) {
  return {.law = LengthLaw::fixed, .tokens = tokens};
}

DurationOptions fixed_time(double seconds) {
  return {.law = DurationLaw::fixed, .mean_s = seconds};
}

DurationOptions exponential_time(double mean_s) {
  return {.law = DurationLaw::exponential, .mean_s = mean_s};
}

TrafficOptions chat(std::int64_t num_requests) {
  TrafficOptions options;
  options.arrivals.rate_per_s = 5.0;
  options.num_requests = num_requests;
  TrafficClass one;
  one.prompt = {.law = LengthLaw::lognormal, .median = 1020.0, .sigma = 0.77};
  one.output = {.law = LengthLaw::lognormal, .median = 129.0, .sigma = 0.93};
  options.classes.push_back(one);
  return options;
}

TrafficOptions sessions(std::int64_t num_sessions) {
  TrafficOptions options;
  options.num_sessions = num_sessions;
  TrafficClass one;
  one.prompt = {.law = LengthLaw::uniform, .min = 100, .max = 200};
  one.output = {.law = LengthLaw::uniform, .min = 10, .max = 50};
  one.sessions.turns = fixed_tokens(4);
  one.sessions.think_time = fixed_time(10.0);
  options.classes.push_back(one);
  return options;
}

std::string text(const Arrival& a) {
  std::string line = fmt::format("{} {} {} {} {} {} {} {} {} {}", a.time_ns, a.prompt_tokens,
                                 a.output_tokens, a.max_tokens, a.class_id, a.priority, a.session,
                                 a.first_token_deadline_ns, a.deadline_ns, a.output_segment);
  for (const PrefixSegment& piece : a.prefix) line += fmt::format(" {}:{}", piece.id, piece.tokens);
  return line;
}

std::vector<std::string> take_all(WorkloadSource& source) {
  std::vector<std::string> all;
  while (source.next_time() != kNever) all.push_back(text(source.take()));
  return all;
}

std::int64_t tokens_of(const std::vector<PrefixSegment>& prefix) {
  std::int64_t sum = 0;
  for (const PrefixSegment& piece : prefix) sum += piece.tokens;
  return sum;
}

std::vector<std::vector<ServedRequest>> by_session(const std::vector<ServedRequest>& requests) {
  std::map<std::uint64_t, std::vector<ServedRequest>> sessions;
  for (const ServedRequest& request : requests) {
    sessions[request.arrival.session].push_back(request);
  }
  std::vector<std::vector<ServedRequest>> all;
  for (auto& [number, turns] : sessions) all.push_back(std::move(turns));
  return all;
}

}  // namespace headroom::test
