#include "playground/core/charts.hpp"

#include <algorithm>
#include <map>
#include <utility>
#include <vector>

namespace headroom::playground {
namespace {

using nlohmann::json;

constexpr std::size_t kSlices = 300;  // of a long timeline
constexpr double kMsPerNs = 1e-6;

// Percentiles that are drawn: each whole one, and the tail finer.
std::vector<double> levels() {
  std::vector<double> levels;
  for (int percent = 0; percent < 99; ++percent) levels.push_back(percent);
  for (int tenths = 990; tenths <= 1000; ++tenths) levels.push_back(tenths / 10.0);
  return levels;
}

// numpy's linear interpolation.
json quantiles(std::vector<double> values, const std::vector<double>& levels) {
  json at_levels = json::array();
  std::sort(values.begin(), values.end());
  for (const double level : levels) {
    if (values.empty()) break;
    const double place = level / 100 * static_cast<double>(values.size() - 1);
    const auto below = static_cast<std::size_t>(place);
    const std::size_t above = std::min(below + 1, values.size() - 1);
    const double share = place - static_cast<double>(below);
    at_levels.push_back(values[below] + share * (values[above] - values[below]));
  }
  return {{"count", values.size()}, {"values", std::move(at_levels)}};
}

// `setup` says what the client adds to each request, and to it for each prompt token.
json latency_chart(const api::RequestColumns& requests, const json& setup) {
  const double request_ms = setup.value("client_latency_ms", 0.0);
  const double token_ms = setup.value("client_prompt_token_us", 0.0) * 1e-3;
  const std::vector<std::string> outcomes = api::outcome_names();
  std::vector<double> ttft;
  std::vector<double> tpot;
  std::vector<double> e2el;
  for (std::size_t i = 0; i < requests.rows; ++i) {
    if (outcomes[requests.outcome[i]] != "finished") continue;
    const double client_ms = request_ms + token_ms * requests.prompt_tokens[i];
    const auto ms = [&](std::int64_t from, std::int64_t to) {
      return static_cast<double>(to - from) * kMsPerNs;
    };
    ttft.push_back(ms(requests.arrival_ns[i], requests.first_token_ns[i]) + client_ms);
    e2el.push_back(ms(requests.arrival_ns[i], requests.finish_ns[i]) + client_ms);
    if (requests.output_tokens[i] > 1) {
      tpot.push_back(ms(requests.first_token_ns[i], requests.finish_ns[i]) /
                     (requests.output_tokens[i] - 1));
    }
  }
  const std::vector<double> at = levels();
  return {{"levels", at},
          {"ttft_ms", quantiles(std::move(ttft), at)},
          {"tpot_ms", quantiles(std::move(tpot), at)},
          {"e2el_ms", quantiles(std::move(e2el), at)}};
}

// All replicas together.
struct Sample {
  std::int64_t time_ns = 0;
  std::int64_t running = 0;
  std::int64_t waiting = 0;
  std::int64_t capacity = 0;
  std::int64_t used = 0;
  std::int64_t reserved = 0;
  std::int64_t internal = 0;
  std::int64_t external = 0;
  std::int64_t cached = 0;
};

std::vector<Sample> samples_of(const api::TimelineColumns& rows) {
  std::map<std::int64_t, Sample> by_time;
  for (std::size_t i = 0; i < rows.rows; ++i) {
    if (rows.oom[i]) continue;
    Sample& sum = by_time[rows.time_ns[i]];
    sum.time_ns = rows.time_ns[i];
    sum.running += rows.running_requests[i];
    sum.waiting += rows.waiting_requests[i];
    sum.capacity += rows.kv_capacity_tokens[i];
    sum.used += rows.kv_used_tokens[i];
    sum.reserved += rows.kv_reserved_tokens[i];
    sum.internal += rows.kv_internal_tokens[i];
    sum.external += rows.kv_external_tokens[i];
    sum.cached += rows.kv_cached_tokens[i];
  }
  std::vector<Sample> samples;
  for (const auto& [time, sample] : by_time) samples.push_back(sample);
  return samples;
}

// No peak of the pool or of the queue is lost.
std::vector<Sample> thinned(const std::vector<Sample>& samples) {
  if (samples.size() <= 2 * kSlices) return samples;
  std::vector<Sample> kept{samples.front()};
  const auto keep = [&](const Sample& sample) {
    if (sample.time_ns > kept.back().time_ns) kept.push_back(sample);
  };
  for (std::size_t slice = 0; slice < kSlices; ++slice) {
    const auto at = [&](std::size_t number) {
      return samples.begin() + static_cast<std::ptrdiff_t>(number * samples.size() / kSlices);
    };
    const auto fullest = std::max_element(
        at(slice), at(slice + 1), [](const Sample& a, const Sample& b) { return a.used < b.used; });
    const auto longest =
        std::max_element(at(slice), at(slice + 1),
                         [](const Sample& a, const Sample& b) { return a.waiting < b.waiting; });
    keep(*std::min(fullest, longest));
    keep(*std::max(fullest, longest));
  }
  keep(samples.back());
  return kept;
}

json timeline_chart(const api::TimelineColumns& rows) {
  const std::vector<Sample> samples = samples_of(rows);
  json drawn = json::array();
  for (const Sample& s : thinned(samples)) {
    drawn.push_back({static_cast<double>(s.time_ns) * 1e-9, s.running, s.waiting, s.capacity,
                     s.used, s.reserved, s.internal, s.external, s.cached});
  }
  std::uint16_t last_replica = 0;
  json moments = json::array();
  for (std::size_t i = 0; i < rows.rows; ++i) {
    last_replica = std::max(last_replica, rows.replica[i]);
    if (!rows.oom[i] || moments.size() >= kSlices) continue;
    moments.push_back({static_cast<double>(rows.time_ns[i]) * 1e-9, rows.replica[i]});
  }
  return {
      {"samples", samples.size()},
      {"replicas", last_replica + 1},
      {"columns",
       {"time_s", "running_requests", "waiting_requests", "kv_capacity_tokens", "kv_used_tokens",
        "kv_reserved_tokens", "kv_internal_tokens", "kv_external_tokens", "kv_cached_tokens"}},
      {"rows", std::move(drawn)},
      {"oom", std::move(moments)}};
}

}  // namespace

json run_charts(const api::RunAnswer& answer) {
  const json setup = json::parse(answer.json).value("setup", json::object());
  return {{"latency", latency_chart(answer.tables.requests, setup)},
          {"timeline", timeline_chart(answer.tables.timeline)}};
}

}  // namespace headroom::playground
