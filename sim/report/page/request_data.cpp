#include "sim/report/page/request_data.hpp"

#include <algorithm>
#include <array>
#include <vector>

#include "sim/metrics/serving_metrics.hpp"
#include "sim/metrics/statistics.hpp"
#include "sim/report/json/names.hpp"
#include "sim/report/page/run_data.hpp"

namespace headroom {
namespace {

constexpr std::size_t kSlowest = 200;

Json quantiles(const std::vector<std::int64_t>& values, const std::vector<double>& levels,
               double scale) {
  constexpr std::size_t kAtOnce = 100;  // of `percentiles`
  Json at_levels = Json::array();
  for (std::size_t done = 0; done < levels.size() && !values.empty(); done += kAtOnce) {
    const std::size_t some = std::min(kAtOnce, levels.size() - done);
    for (const double value : percentiles(values, std::span(levels).subspan(done, some))) {
      at_levels.push_back(value * scale);
    }
  }
  return {{"count", values.size()}, {"values", std::move(at_levels)}};
}

// Scrambles a request's number (the finaliser of SplitMix64), so that a draw by it has nothing to
// do with periods of the workload.
std::uint64_t scrambled(std::uint64_t x) {
  x += 0x9E3779B97F4A7C15;
  x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9;
  x = (x ^ (x >> 27)) * 0x94D049BB133111EB;
  return x ^ (x >> 31);
}

// The `most` records of this outcome with the smallest scrambled numbers.
void draw(std::span<const RequestRecord> records, Outcome outcome, std::size_t most,
          std::vector<const RequestRecord*>& drawn) {
  std::vector<const RequestRecord*> all;
  for (const RequestRecord& record : records) {
    if (record.outcome == outcome) all.push_back(&record);
  }
  const auto key = [](const RequestRecord* r) { return scrambled(r->index); };
  if (all.size() > most) {
    const auto cut = all.begin() + static_cast<std::ptrdiff_t>(most);
    std::ranges::nth_element(all, cut, {}, key);
    all.erase(cut, all.end());
  }
  drawn.insert(drawn.end(), all.begin(), all.end());
}

Json request_row(const RequestRecord& r, const ClientLatency& client_latency) {
  Json ttft = nullptr;
  Json tpot = nullptr;
  Json e2el = nullptr;
  if (r.first_token_ns >= 0) {
    ttft =
        static_cast<double>(r.first_token_ns - r.arrival_ns + client_latency.of(r.prompt_tokens)) *
        kMsPerNs;
  }
  if (r.finish_ns >= 0) {
    e2el = static_cast<double>(r.finish_ns - r.arrival_ns + client_latency.of(r.prompt_tokens)) *
           kMsPerNs;
  }
  if (r.outcome == Outcome::finished && r.output_tokens > 1) {
    tpot = static_cast<double>(r.finish_ns - r.first_token_ns) * kMsPerNs / (r.output_tokens - 1);
  }
  return Json::array({r.index, static_cast<double>(r.arrival_ns) * 1e-9, r.class_id,
                      r.prompt_tokens, r.output_tokens, std::move(ttft), std::move(tpot),
                      std::move(e2el), r.preemptions, name_of(r.outcome)});
}

Json sampled_rows(std::span<const RequestRecord> records, const ClientLatency& client_latency) {
  std::vector<const RequestRecord*> drawn;
  draw(records, Outcome::finished, kSampledFinished, drawn);
  for (const Outcome other : {Outcome::rejected, Outcome::cancelled, Outcome::lost_to_oom,
                              Outcome::lost_to_fault, Outcome::unfinished}) {
    draw(records, other, kSampledOthers, drawn);
  }
  std::ranges::sort(drawn, {}, &RequestRecord::index);
  Json rows = Json::array();
  for (const RequestRecord* record : drawn) rows.push_back(request_row(*record, client_latency));
  return rows;
}

Json slowest_rows(std::span<const RequestRecord> records, const ClientLatency& client_latency) {
  std::vector<const RequestRecord*> finished;
  for (const RequestRecord& record : records) {
    if (record.outcome == Outcome::finished) finished.push_back(&record);
  }
  const auto longer = [](const RequestRecord* a, const RequestRecord* b) {
    const TimeNs first = a->finish_ns - a->arrival_ns;
    const TimeNs second = b->finish_ns - b->arrival_ns;
    return first != second ? first > second : a->index < b->index;
  };
  const auto shown = static_cast<std::ptrdiff_t>(std::min(finished.size(), kSlowest));
  std::partial_sort(finished.begin(), finished.begin() + shown, finished.end(), longer);
  finished.resize(static_cast<std::size_t>(shown));
  Json rows = Json::array();
  for (const RequestRecord* one : finished) rows.push_back(request_row(*one, client_latency));
  return rows;
}

// Sums over bins of equal length from 0 on; what lies behind the last one counts in it.
class Bins {
 public:
  explicit Bins(double end_s) : width_s_(std::max(end_s, 1e-9) / kTimeBins), sums_(kTimeBins) {}

  void add(TimeNs at_ns, double amount) { sums_[bin_of(seconds(at_ns))] += amount; }
  void spread(TimeNs from_ns, TimeNs to_ns, double amount) {
    const double from = seconds(from_ns);
    const double to = seconds(to_ns);
    const std::size_t first = bin_of(from);
    const std::size_t last = bin_of(to);
    if (first == last) {
      sums_[first] += amount;
      return;
    }
    for (std::size_t i = first; i <= last; ++i) {
      const double begin = std::max(from, static_cast<double>(i) * width_s_);
      const double end = i == last ? to : static_cast<double>(i + 1) * width_s_;
      sums_[i] += amount * std::max(0.0, end - begin) / (to - from);
    }
  }
  [[nodiscard]] Json per_second() const {
    Json rates = Json::array();
    for (const double sum : sums_) rates.push_back(sum / width_s_);
    return rates;
  }
  [[nodiscard]] double width_s() const { return width_s_; }

 private:
  static double seconds(TimeNs ns) { return static_cast<double>(ns) * 1e-9; }
  [[nodiscard]] std::size_t bin_of(double at_s) const {
    return static_cast<std::size_t>(std::min(at_s / width_s_, kTimeBins - 1.0));
  }

  double width_s_;
  std::vector<double> sums_;
};

}  // namespace

std::vector<double> quantile_levels() {
  std::vector<double> levels;
  for (int half = 0; half <= 198; ++half) levels.push_back(half / 2.0);
  for (int tenth = 991; tenth <= 999; ++tenth) levels.push_back(tenth / 10.0);
  for (const double level : {99.95, 99.99, 100.0}) levels.push_back(level);
  return levels;
}

Json latency_data(std::span<const RequestRecord> records, const ClientLatency& client_latency) {
  std::vector<std::int64_t> ttft_ns;
  std::vector<std::int64_t> tpot;
  std::vector<std::int64_t> e2el_ns;
  for (const RequestRecord& r : records) {
    if (r.outcome != Outcome::finished) continue;
    ttft_ns.push_back(r.first_token_ns - r.arrival_ns + client_latency.of(r.prompt_tokens));
    e2el_ns.push_back(r.finish_ns - r.arrival_ns + client_latency.of(r.prompt_tokens));
    if (r.output_tokens < 2) continue;
    tpot.push_back(((r.finish_ns - r.first_token_ns) << kTpotBits) / (r.output_tokens - 1));
  }
  const std::vector<double> levels = quantile_levels();
  return {{"levels", levels},
          {"ttft_ms", quantiles(ttft_ns, levels, kMsPerNs)},
          {"tpot_ms", quantiles(tpot, levels, kMsPerNs / (1 << kTpotBits))},
          {"e2el_ms", quantiles(e2el_ns, levels, kMsPerNs)}};
}

Json requests_data(std::span<const RequestRecord> records, const ClientLatency& client_latency) {
  return {{"total", records.size()},
          {"columns",
           {"index", "arrival_s", "class", "prompt_tokens", "output_tokens", "ttft_ms", "tpot_ms",
            "e2el_ms", "preemptions", "outcome"}},
          {"sample", sampled_rows(records, client_latency)},
          {"slowest", slowest_rows(records, client_latency)}};
}

Json throughput_data(std::span<const RequestRecord> records, double end_s) {
  Bins arrived(end_s);
  Bins finished(end_s);
  Bins tokens(end_s);
  for (const RequestRecord& r : records) {
    arrived.add(r.arrival_ns, 1);
    if (r.outcome != Outcome::finished) continue;
    finished.add(r.finish_ns, 1);
    tokens.spread(r.first_token_ns, r.finish_ns, r.output_tokens);
  }
  return {{"bin_s", arrived.width_s()},
          {"arrived_per_s", arrived.per_second()},
          {"finished_per_s", finished.per_second()},
          {"output_tokens_per_s", tokens.per_second()}};
}

}  // namespace headroom
