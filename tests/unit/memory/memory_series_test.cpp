#include "sim/memory/memory_series.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <cstdint>
#include <functional>
#include <sstream>
#include <string>

#include "sim/kernel/errors.hpp"

namespace headroom::memory_series_test {
namespace {

MemorySeries read(const std::string& text, const SeriesColumns& columns = {}) {
  std::istringstream in(text);
  return read_memory_series(in, "memory.csv", columns);
}

std::string error_of(const std::string& text) {
  try {
    (void)read(text);
  } catch (const DataError& error) {
    return error.what();
  }
  return "no error";
}

// One sample a second.
MemorySeries series_of(std::int64_t seconds, const std::function<MemorySample(double)>& at) {
  MemorySeries series;
  series.name = "test";
  for (std::int64_t i = 0; i < seconds; ++i) {
    MemorySample sample = at(static_cast<double>(i));
    sample.time_s = static_cast<double>(i);
    series.samples.push_back(sample);
  }
  return series;
}

// Load that comes and goes: 6 GiB at the top of each period of 60 s, 0 for its last 20 s.
double bursts(double time_s) {
  const auto second = static_cast<std::int64_t>(time_s) % 60;
  return second < 40 ? 0.15 * static_cast<double>(second) : 0;
}

// Noise of +-8 MiB that repeats after 97 s.
double noise(double time_s) {
  const auto second = static_cast<std::int64_t>(time_s);
  return static_cast<double>((second * 31) % 97 - 48) / 48 * (8.0 / 1024);
}

MemorySample used(double gib) {
  MemorySample sample;
  sample.used_gib = gib;
  return sample;
}

const SeriesAlert* alert(const SeriesReport& report, SeriesAlertKind kind) {
  const auto at = std::ranges::find(report.alerts, kind, &SeriesAlert::kind);
  return at == report.alerts.end() ? nullptr : &*at;
}

}  // namespace

TEST_CASE("what nvidia-smi writes is read") {
  const MemorySeries series = read(
      "timestamp, memory.used [MiB]\n"
      "2025/11/09 09:18:13.123, 70188 MiB\n"
      "2025/11/09 09:18:14.623, 71680 MiB\n");
  REQUIRE(series.samples.size() == 2);
  CHECK(series.start == "2025/11/09 09:18:13.123");
  CHECK(series.samples[1].time_s == 1.5);
  CHECK(series.samples[0].used_gib == Approx(70188.0 / 1024));
  CHECK(series.samples[1].used_gib == 70.0);
  // --format=csv,nounits and the total.
  const MemorySeries bare = read(
      "timestamp, index, memory.used [MiB], memory.total [MiB]\n"
      "2025/11/09 23:59:59.500, 0, 1024, 81559\r\n"
      "2025/11/10 00:00:00.500, 0, 2048, 81559\r\n");
  CHECK(bare.samples[1].time_s == 1.0);
  CHECK(bare.samples[1].used_gib == 2.0);
  CHECK(*bare.capacity_gib == Approx(81559.0 / 1024));
}

TEST_CASE("columns are found by name and unit") {
  const MemorySeries series = read(
      "time_ms,reserved_bytes,allocated_gb,vllm:num_requests_running,max_context,comment\n"
      "500,2147483648,1,3,4096,x\n"
      "2500,1073741824,,,,y\n");
  CHECK(series.samples[0].used_gib == 2.0);  // reserved stands in
  CHECK(*series.samples[0].reserved_gib == 2.0);
  CHECK(*series.samples[0].allocated_gib == Approx(1e9 / 1073741824.0));
  CHECK(*series.samples[0].running == 3.0);
  CHECK(*series.samples[0].max_context == 4096.0);
  CHECK(series.samples[1].time_s == 2.0);
  CHECK_FALSE(series.samples[1].running);
  CHECK(series.ignored == std::vector<std::string>{"comment"});
}

TEST_CASE("one of several devices is chosen") {
  const std::string text = "time_s,gpu,used_gib\n0,0,10\n0,1,20\n1,0,11\n1,1,21\n";
  CHECK(read(text, {.gpu = "1"}).samples[1].used_gib == 21.0);
  CHECK(error_of(text) == "memory.csv:3: devices '0' and '1': choose one (1 samples before)");
}

TEST_CASE("wrong files are refused with the line") {
  CHECK(error_of("") == "memory.csv: empty");
  CHECK(error_of("time_s,used_gib\n") == "memory.csv: no samples in 1 lines");
  CHECK(
      error_of("2025/11/09 09:18:13.123, 70188 MiB\n").starts_with("memory.csv:1: no time column"));
  CHECK(error_of("time_s,power\n0,1\n").starts_with("memory.csv:1: no memory column"));
  CHECK(error_of("time_s,used_gib,memory.used [MiB]\n") ==
        "memory.csv:1: 'memory.used [MiB]' is a second column with the same meaning (0 samples "
        "before)");
  CHECK(error_of("time_s,used\n0,12\n") ==
        "memory.csv:2: memory '12' without a unit: name the column e.g. used_gib (0 samples "
        "before)");
  CHECK(error_of("time_s,used_gib\n0,1\n1\n") ==
        "memory.csv:3: 1 values, the header has 2 (1 samples before)");
  CHECK(error_of("time_s,used_gib\n0,1\n1,-2\n") ==
        "memory.csv:3: memory '-2' is not a number >= 0 (1 samples before)");
  CHECK(error_of("time_s,used_gib\n0,nan\n").starts_with("memory.csv:2: memory 'nan'"));
  CHECK(error_of("time_s,used_gib\n5,1\n4,1\n") ==
        "memory.csv:3: time goes backwards at '4' (1 samples before)");
  CHECK(
      error_of("timestamp,used_gib\nyesterday,1\n").starts_with("memory.csv:2: time 'yesterday'"));
  // nvidia-smi on a device with unified memory.
  CHECK(error_of("timestamp, memory.used [MiB]\n2025/11/09 09:18:13.123, [N/A]\n")
            .starts_with("memory.csv:2: '[N/A]': this device does not report its memory"));
}

TEST_CASE("a leak is found under load that comes and goes") {
  // 1 GiB an hour for two hours from 20 GiB; 80 GiB are full after 60 hours.
  MemorySeries series =
      series_of(7200, [](double t) { return used(20 + t / 3600 + bursts(t) + noise(t)); });
  series.capacity_gib = 80;
  const SeriesReport report = report_memory_series(series);
  REQUIRE(report.leak);
  CHECK(report.leak->bytes_per_hour == Approx(1024.0 * 1024 * 1024).epsilon(0.03));
  CHECK(report.leak->rise_gib == Approx(2.0).epsilon(0.03));
  CHECK(*report.leak->full_at_s == Approx(60 * 3600.0).epsilon(0.03));
  CHECK_FALSE(report.leak->idle);
  CHECK(report.steps.empty());
}

TEST_CASE("load without a leak is not called one") {
  for (const double amplitude : {0.0, 1.0, 10.0}) {
    const SeriesReport report = report_memory_series(
        series_of(7200, [&](double t) { return used(20 + bursts(t) + amplitude * noise(t)); }));
    CAPTURE(amplitude);
    CHECK_FALSE(report.leak);
    CHECK(report.steps.empty());
  }
}

TEST_CASE("noise alone is never called a leak") {
  // The records of a floor of noise always rise; they are few: about ln(48) = 4 of 48 windows.
  for (std::uint32_t seed = 1; seed <= 100; ++seed) {
    std::uint32_t state = seed * 2654435761U;
    const SeriesReport report = report_memory_series(series_of(480, [&](double) {
      state = state * 1664525U + 1013904223U;  // Numerical Recipes
      return used(20 + static_cast<double>(state >> 8) / 16777216.0);
    }));
    CAPTURE(seed);
    CHECK_FALSE(report.leak);
  }
}

TEST_CASE("growth that ends is not a leak") {
  // Caches that fill by 2 GiB in the first half hour and stay.
  const SeriesReport report = report_memory_series(series_of(
      7200, [](double t) { return used(20 + std::min(t, 1800.0) / 900 + bursts(t) + noise(t)); }));
  CHECK_FALSE(report.leak);
}

TEST_CASE("a load that lasts for a while is neither a leak nor a step") {
  const SeriesReport report = report_memory_series(series_of(
      7200, [](double t) { return used(20 + (t >= 2000 && t < 4000 ? 5.0 : 0.0) + noise(t)); }));
  CHECK_FALSE(report.leak);
  CHECK(report.steps.empty());
  REQUIRE(report.after_load);
  CHECK(report.after_load->difference_gib() == Approx(0).margin(0.02));
  CHECK(report.peak.gib == Approx(25).margin(0.01));
}

TEST_CASE("a level shift is a step with its time and size, and no leak") {
  const SeriesReport report = report_memory_series(series_of(
      7200, [](double t) { return used(20 + (t >= 3000 ? 4.0 : 0.0) + bursts(t) + noise(t)); }));
  CHECK_FALSE(report.leak);
  REQUIRE(report.steps.size() == 1);
  CHECK(report.steps[0].size_gib == Approx(4).margin(0.05));
  // 3000 is the begin of a burst; the last 20 s of the period before are below the middle.
  CHECK(report.steps[0].time_s == 3000.0);
}

TEST_CASE("a leak and a step in one recording are told apart") {
  const SeriesReport report = report_memory_series(series_of(7200, [](double t) {
    return used(20 + t / 3600 + (t >= 3000 ? 4.0 : 0.0) + bursts(t) + noise(t));
  }));
  REQUIRE(report.leak);
  CHECK(report.leak->rise_gib == Approx(2.0).epsilon(0.05));
  REQUIRE(report.steps.size() == 1);
  CHECK(report.steps[0].size_gib == Approx(4).margin(0.1));
}

TEST_CASE("with a column of requests, idle samples decide") {
  // Requests run in minutes 10 to 90 without a pause above the idle level; 0.5 GiB stay behind.
  MemorySeries series = series_of(7200, [](double t) {
    const bool busy = t >= 600 && t < 5400;
    MemorySample sample = used(20 + (busy ? 3 + t / 3600 : (t >= 5400 ? 0.5 : 0.0)));
    sample.running = busy ? 8 : 0;
    return sample;
  });
  const SeriesReport report = report_memory_series(series);
  CHECK(report.baseline.gib == 20.0);
  REQUIRE(report.after_load);
  CHECK(report.after_load->after.time_s == 5400.0);
  CHECK(report.after_load->difference_gib() == 0.5);
  CHECK_FALSE(report.leak);
  REQUIRE(report.steps.size() == 1);
  CHECK(report.steps[0].size_gib == 0.5);
  CHECK(report.steps[0].time_s == 5400.0);
}

TEST_CASE("a recording that is too short says so") {
  const SeriesReport report =
      report_memory_series(series_of(20, [](double t) { return used(20 + t); }));
  CHECK_FALSE(report.leak);
  CHECK(report.notes.front() == "20 samples: too few to detect a leak or a step (48 needed)");
}

TEST_CASE("80 and 90 percent of the capacity raise warning and critical") {
  // 60 GiB rising by 0.1 a second to 75 GiB at 150 s and back; of 80 GiB: 64 at 40 s, 72 at 120 s.
  MemorySeries series =
      series_of(301, [](double t) { return used(t <= 150 ? 60 + t / 10 : 90 - t / 10); });
  SeriesOptions options;
  options.capacity_gib = 80;
  const SeriesReport report = report_memory_series(series, options);
  REQUIRE(report.alerts.size() == 2);
  CHECK(report.alerts[0].kind == SeriesAlertKind::memory_warning);
  CHECK(report.alerts[0].time_s == 40.0);
  CHECK(report.alerts[0].value == 64.0);
  CHECK(report.alerts[0].worst == 75.0);
  CHECK(report.alerts[0].until_s == 260.0);
  CHECK(report.alerts[1].kind == SeriesAlertKind::memory_critical);
  CHECK(report.alerts[1].time_s == 120.0);
}

TEST_CASE("reserved memory that is not allocated raises an alert above 2 GB") {
  // 2 GB = 2e9 bytes = 1.8626 GiB.
  const MemorySeries series = series_of(10, [](double t) {
    MemorySample sample = used(10);
    sample.reserved_gib = 10;
    sample.allocated_gib = t == 4 ? 8.13 : 8.14;
    return sample;
  });
  const SeriesReport report = report_memory_series(series);
  const SeriesAlert* found = alert(report, SeriesAlertKind::fragmentation);
  REQUIRE(found != nullptr);
  CHECK(found->time_s == 4.0);
  CHECK(found->until_s == 4.0);
  CHECK(found->value == Approx(1.87));
}

TEST_CASE("more than 80 percent of the requests that fit raise an alert") {
  const MemorySeries series = series_of(10, [](double t) {
    MemorySample sample = used(10);
    sample.running = 40 + t;
    return sample;
  });
  SeriesOptions options;
  options.max_concurrency = 58.11;  // 80 %: 46.49
  const SeriesReport report = report_memory_series(series, options);
  REQUIRE(alert(report, SeriesAlertKind::in_flight) != nullptr);
  CHECK(alert(report, SeriesAlertKind::in_flight)->time_s == 7.0);
  CHECK(alert(report_memory_series(series), SeriesAlertKind::in_flight) == nullptr);
}

TEST_CASE("a context far above the usual raises an alert") {
  // 1,000 tokens for an hour, once 4,000 at 1800 s: the maximum of 300 s is 4,000 from 1800 to
  // 2099 s; its mean is (3300 * 1000 + 300 * 4000) / 3600 = 1250, the limit 2500.
  const auto contexts = [](double spike) {
    return series_of(3600, [spike](double t) {
      MemorySample sample = used(10);
      sample.max_context = t == 1800 ? spike : 1000;
      return sample;
    });
  };
  const SeriesReport report = report_memory_series(contexts(4000));
  const SeriesAlert* found = alert(report, SeriesAlertKind::context_spike);
  REQUIRE(found != nullptr);
  CHECK(found->time_s == 1800.0);
  CHECK(found->until_s == 2099.0);
  CHECK(found->value == 4000.0);
  CHECK(found->limit == Approx(2500));
  // 2,000: mean 1083, limit 2167.
  CHECK(alert(report_memory_series(contexts(2000)), SeriesAlertKind::context_spike) == nullptr);
}

TEST_CASE("the slope of Theil and Sen does not follow outliers") {
  std::vector<SeriesPoint> points;
  for (int i = 0; i < 20; ++i) points.push_back({1.0 * i, i % 5 == 0 ? 100.0 : 2.0 * i});
  CHECK(*theil_sen_slope(points) == Approx(2.0));
  CHECK_FALSE(theil_sen_slope({{1, 2}, {1, 3}}));
}

}  // namespace headroom::memory_series_test
