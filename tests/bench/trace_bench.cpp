// Reading a long trace row by row, plain and compressed. Read `MB/s` (10^6 bytes of text per second
// of CPU time), `rows/s` and `peak_MiB`, the most memory that reading took on top of what the
// process had before. HEADROOM_BENCH_TRACE_MIB is the size of the text: 64 without it, 1083 as
// Azure's conversations of 2024. The file lies in the temporary directory ($TMPDIR).

#include <benchmark/benchmark.h>
#include <malloc.h>

#include <array>
#include <cstdlib>
#include <fstream>
#include <memory>
#include <string>
#include <string_view>

#include "sim/kernel/check.hpp"
#include "tests/bench/azure_shaped_file.hpp"
#include "workloads/traces/detect.hpp"

namespace headroom {
namespace {

std::int64_t text_bytes() {
  constexpr std::int64_t kUsualMib = 64;
  const char* given = std::getenv("HEADROOM_BENCH_TRACE_MIB");
  const std::int64_t mib = given == nullptr ? kUsualMib : std::atoll(given);
  HEADROOM_CHECK(mib >= 1, "HEADROOM_BENCH_TRACE_MIB is not an integer >= 1");
  return mib << 20;
}

// A line of /proc/self/status, in MiB: VmRSS, what is in memory now; VmHWM, the most there was.
double memory_mib(std::string_view key) {
  std::ifstream status("/proc/self/status");
  std::string word;
  double kib = 0;
  while (status >> word) {
    if (word.starts_with(key)) status >> kib;
  }
  return kib / 1024;
}

void forget_peak() {
  malloc_trim(0);  // memory that was given back, but not to the system, counts as in use
  std::ofstream("/proc/self/clear_refs") << 5;
}

// Made once: Google Benchmark calls a benchmark several times. Removed at the end of the program.
const AzureShapedFile& made_file(bool gzip) {
  static std::array<std::unique_ptr<AzureShapedFile>, 2> files;
  std::unique_ptr<AzureShapedFile>& file = files[gzip ? 1 : 0];
  if (!file) file = std::make_unique<AzureShapedFile>(text_bytes(), gzip);
  return *file;
}

void trace_rows(benchmark::State& state, bool gzip) {
  const AzureShapedFile& made = made_file(gzip);
  forget_peak();
  const double before_mib = memory_mib("VmRSS");
  std::int64_t rows = 0;
  std::int64_t tokens = 0;
  for (auto _ : state) {
    TraceFile file(made.path());
    TraceRecord record;
    while (file.next(record)) {
      ++rows;
      tokens += record.prompt_tokens + record.output_tokens;
    }
  }
  benchmark::DoNotOptimize(tokens);
  if (rows != made.rows() * static_cast<std::int64_t>(state.iterations())) {
    state.SkipWithError("not all rows were read");
  }
  const auto iterations = static_cast<double>(state.iterations());
  const double megabytes = 1e-6 * static_cast<double>(made.bytes());
  constexpr auto kRate = benchmark::Counter::kIsRate;
  state.counters["MB/s"] = benchmark::Counter(megabytes * iterations, kRate);
  state.counters["rows/s"] = benchmark::Counter(static_cast<double>(rows), kRate);
  state.counters["peak_MiB"] = memory_mib("VmHWM") - before_mib;
}
BENCHMARK_CAPTURE(trace_rows, azure, false)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(trace_rows, azure_gzip, true)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace headroom
