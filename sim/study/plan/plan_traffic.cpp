#include "sim/study/plan/plan_traffic.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "sim/kernel/errors.hpp"
#include "sim/resolve/resolve.hpp"
#include "sim/resolve/workload_factory.hpp"

namespace headroom {
namespace {

bool is_trace(const Json& workload) {
  return workload.contains("trace") && workload["trace"].is_object() &&
         workload["trace"].contains("file");
}

// Shares of the span that no number of copies brings back to the same place: fractional parts of
// square roots of primes.
double shift_share(std::int64_t replication) {
  constexpr std::array kPrimes{2.0, 3.0, 5.0, 7.0, 11.0, 13.0, 17.0, 19.0, 23.0, 29.0};
  const auto count = static_cast<std::int64_t>(kPrimes.size());
  const double prime = kPrimes[static_cast<std::size_t>((replication - 1) % count)];
  const std::int64_t round = (replication - 1) / count;
  const double root = std::sqrt(prime) * static_cast<double>(1 + round);
  return root - std::floor(root);
}

void scale_trace(Json& trace, double factor, std::int64_t replication, double span_s) {
  const auto had = trace.value("copies", std::int64_t{1});
  const double wanted = static_cast<double>(had) * trace.value("keep", 1.0) * factor;
  // Rounding must not create a copy that keeps almost no rows.
  const auto copies =
      std::max<std::int64_t>(1, static_cast<std::int64_t>(std::ceil(wanted - 1e-9)));
  trace["copies"] = copies;
  trace["keep"] = std::min(1.0, wanted / static_cast<double>(copies));
  if (replication > 0 && copies > 1) trace["copy_shift_s"] = span_s * shift_share(replication);
}

void multiply(Json& object, const char* key, double factor) {
  if (!object.contains(key)) return;
  Json& value = object[key];
  if (value.is_array()) {
    for (Json& one : value) {
      if (one.is_number()) one = one.get<double>() * factor;
    }
  } else if (value.is_number()) {
    value = value.get<double>() * factor;
  }
}

void multiply_count(Json& object, const char* key, double factor) {
  if (!object.contains(key) || !object[key].is_number()) return;
  object[key] = std::max<std::int64_t>(
      1, static_cast<std::int64_t>(std::llround(object[key].get<double>() * factor)));
}

void scale_generated(Json& workload, double factor) {
  for (const char* count : {"num_requests", "num_sessions"}) {
    multiply_count(workload, count, factor);
  }
  if (workload.contains("arrivals") && workload["arrivals"].is_object()) {
    for (const char* rate : {"request_rate", "rates", "tail_rate", "end_rate"}) {
      multiply(workload["arrivals"], rate, factor);
    }
  }
  if (workload.contains("closed_loop") && workload["closed_loop"].is_object()) {
    multiply_count(workload["closed_loop"], "users", factor);
  }
  if (workload.contains("servegen") && workload["servegen"].is_object()) {
    Json& rate = workload["servegen"]["rate_scale"];
    rate = (rate.is_number() ? rate.get<double>() : 1.0) * factor;
  }
}

void scale_lengths(Json& workload, const char* key, double factor) {
  if (factor == 1 || !workload.contains(key) || !workload[key].is_object()) return;
  Json& law = workload[key];
  for (const char* value : {"median", "mean", "stddev"}) multiply(law, value, factor);
  for (const char* value : {"tokens", "min", "max"}) multiply_count(law, value, factor);
  if (!law.contains("values") || !law["values"].is_array()) return;
  for (Json& one : law["values"]) {
    if (!one.is_number()) continue;
    one = std::max<std::int64_t>(
        1, static_cast<std::int64_t>(std::llround(one.get<double>() * factor)));
  }
}

// Each part of a workload that may bring requests of its own: the whole, then its classes.
template <typename Visit>
void for_each_part(Json& workload, const Visit& visit) {
  visit(workload);
  if (!workload.contains("classes") || !workload["classes"].is_array()) return;
  for (Json& one : workload["classes"]) {
    if (one.is_object()) visit(one);
  }
}

}  // namespace

PlanTraffic measure_traffic(const Scenario& scenario) {
  constexpr TimeNs kAnswerNs = 1'000'000'000;
  validate(scenario);
  Workload workload = make_workload(scenario);
  PlanTraffic traffic;
  traffic.is_recorded = !workload.facts.trace_name.empty();
  traffic.shares_prefixes = workload.facts.shares_prefixes;
  traffic.is_closed_loop = scenario.workload.closed_loop.users.has_value();
  double prompt_sum = 0;
  double output_sum = 0;
  TimeNs first = 0;
  TimeNs last = 0;
  while (workload.source->next_time() != kNever) {
    const Arrival arrival = workload.source->take();
    const auto index = static_cast<std::uint64_t>(traffic.requests);
    if (traffic.requests++ == 0) first = arrival.time_ns;
    last = arrival.time_ns;
    prompt_sum += arrival.prompt_tokens;
    output_sum += arrival.output_tokens;
    traffic.longest = std::max<TokenCount>(
        traffic.longest, TokenCount{arrival.prompt_tokens} + arrival.output_tokens);
    traffic.lengths.push_back({arrival.prompt_tokens, arrival.output_tokens});
    workload.source->on_done(index, Outcome::finished, arrival.time_ns + kAnswerNs);
  }
  if (traffic.requests == 0)
    throw ConfigError(Complaint{.origin = scenario.file, .problem = "no requests"});
  std::ranges::stable_sort(traffic.lengths, {}, &PlanRequest::prompt);
  traffic.span_s = static_cast<double>(last - first) / 1e9;
  traffic.mean_prompt = prompt_sum / static_cast<double>(traffic.requests);
  traffic.mean_output = output_sum / static_cast<double>(traffic.requests);
  return traffic;
}

void scale_workload(Json& workload, double factor, std::int64_t replication, double span_s) {
  for_each_part(workload, [&](Json& part) {
    if (is_trace(part)) {
      scale_trace(part["trace"], factor, replication, span_s);
    } else if (factor != 1) {
      scale_generated(part, factor);
    }
  });
}

void convert_tokens(Json& workload, const PlanModel& model, const std::string& file) {
  for_each_part(workload, [&](Json& part) {
    if (is_trace(part)) {
      for (const auto& [key, factor] :
           {std::pair{"input_tokens_factor", model.input_tokens_factor},
            std::pair{"output_tokens_factor", model.output_tokens_factor},
            std::pair{"thinking_tokens_factor", model.thinking_tokens_factor}}) {
        if (factor != 1) part["trace"][key] = part["trace"].value(key, 1.0) * factor;
      }
      return;
    }
    if (model.thinking_tokens_factor != 1) {
      throw ConfigError(Complaint{
          .kind = ErrorKind::no_effect,
          .origin = file,
          .problem =
              fmt::format("thinking_tokens_factor of {}: has no effect: generated traffic does not "
                          "list thinking tokens separately (use output_tokens_factor)",
                          model.model)});
    }
    scale_lengths(part, "prompt", model.input_tokens_factor);
    scale_lengths(part, "output", model.output_tokens_factor);
  });
}

}  // namespace headroom
