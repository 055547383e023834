#include "hardware/explanations.hpp"

#include <fmt/format.h>

#include <array>
#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "sim/kernel/errors.hpp"

namespace headroom::explanations_test {
namespace {

constexpr const char* kHeader =
    "model_id,environment,iteration,timestamp,peak_memory_gib,kv_cache_gib,output_tokens_per_s,"
    "start_temp_c,end_temp_c\n";

std::vector<SparkRun> read(const std::string& rows) {
  std::istringstream in(kHeader + rows);
  return read_spark_runs(in, "runs.csv");
}

std::string message_of(const std::string& text) {
  std::istringstream in(text);
  try {
    static_cast<void>(read_spark_runs(in, "runs.csv"));
  } catch (const DataError& error) {
    return error.what();
  }
  return "no error";
}

// The published 63 runs; empty, with a warning, where they are not at hand.
std::vector<SparkRun> published() {
  const std::filesystem::path path =
      std::filesystem::path(HEADROOM_SHARED_DIR) / "seeds/dgx_spark_runs.csv";
  std::ifstream in(path);
  if (!in) {
    WARN("skipped: no published runs at " << path.string());
    return {};
  }
  return read_spark_runs(in, path.string());
}

DeviceSpec gb10() {
  DeviceSpec device;
  device.memory_model = MemoryModel::unified;
  device.sm = 121;
  device.memory_reported_bytes = bytes_from_gib(121.69);
  device.memory_nominal_bytes = ByteCount{128} << 30;
  return device;
}

// Parameters of catalog/models.json. Checkpoint: bf16, of GPT-OSS the experts in 4.25 bits
// (36 x 128 x 3 x 2880^2). Per token: all but the input embedding, 4 of 128 experts.
const std::array<ServedModel, 3> kServed{
    ServedModel{"Qwen/Qwen2.5-72B-Instruct", 72'706'203'648 * 2, 71'460'495'360 * 2},
    ServedModel{"deepseek-ai/DeepSeek-R1-Distill-Qwen-7B", 7'615'616'512 * 2, 7'070'619'136 * 2},
    ServedModel{"openai/gpt-oss-120b", 114'661'785'600 * 17 / 32 + 2'167'371'072 * 2,
                3'583'180'800 * 17 / 32 + ByteCount{1'549'668'672} * 2}};

Environment environment(const std::string& id) {
  std::ostringstream text;
  text << std::ifstream(
              std::filesystem::path(HEADROOM_SOURCE_DIR) / "hardware/catalog/environments.json",
              std::ios::binary)
              .rdbuf();
  for (const Environment& row : parse_environments(text.str(), "environments.json")) {
    if (row.id == id) return row;
  }
  throw std::runtime_error("no environment " + id);
}

// Scores of Qwen, DeepSeek, GPT-OSS, each first and steady.
std::vector<ExplanationScore> scores(const std::string& id, std::span<const ModelRuns> runs) {
  return score_explanation(environment(id), environment("native"), gb10(), runs, kServed);
}

}  // namespace

TEST_CASE("a file of runs is read, whatever its line ends", "[explanations]") {
  const std::vector<SparkRun> runs = read(
      "a/b,native,1,20251108_195154,74.23,40.93,120.8,38,60\r\n\n"
      "a/b,container,2,20251108_201941,80.00,35.74,120.4,38,60");
  REQUIRE(runs.size() == 2);
  CHECK(runs[0].model == "a/b");
  CHECK_FALSE(runs[0].container);
  CHECK(runs[1].container);
  CHECK(runs[1].iteration == 2);
  CHECK(runs[1].peak_gib == 80.0);
}

TEST_CASE("a bad row of runs names file, line and what was read so far", "[explanations]") {
  const std::string good = "m,native,1,20251108_195154,74.23,40.93,120.8,38,60\n";
  CHECK(message_of("").starts_with("runs.csv:0: no runs"));
  CHECK(message_of(kHeader) == "runs.csv:1: no runs");
  CHECK(message_of("a,b\n").starts_with("runs.csv:1: header is 'a,b', expected model_id,"));
  CHECK(message_of(kHeader + good + "m,native,1\n") ==
        "runs.csv:3: row is 'm,native,1', expected 9 comma-separated fields (1 rows read)");
  const auto bad = [&](const std::string& row) { return message_of(kHeader + row); };
  CHECK(bad("m,docker,1,20251108_195154,1,1,1,1,1").find("native or container") !=
        std::string::npos);
  CHECK(bad("m,native,1.5,20251108_195154,1,1,1,1,1").find("a whole number") != std::string::npos);
  CHECK(bad("m,native,1,2025-11-08,1,1,1,1,1").find("yyyymmdd_hhmmss") != std::string::npos);
  CHECK(bad("m,native,1,20251108_195154,nan,1,1,1,1").find("peak_memory_gib is 'nan'") !=
        std::string::npos);
  CHECK(bad("m,native,1,20251108_195154,1,-2,1,1,1").find("kv_cache_gib is '-2'") !=
        std::string::npos);
  CHECK(bad("m,native,1,20251108_195154,1,1,1x,1,1").find("output_tokens_per_s") !=
        std::string::npos);
}

TEST_CASE("steady runs begin after the last large fall, never with the first run",
          "[explanations]") {
  const auto container = [](int hour, double peak) {
    return SparkRun{"m", true, 1, fmt::format("20251109_{:02}0000", hour), peak, 0, 0};
  };
  std::vector<SparkRun> runs{SparkRun{"m", false, 1, "20251108_000000", 70, 0, 0}};
  // In the order of time: 100, 97 (falls 3), 96.5, 95 (falls 1.5), 95.8.
  for (const auto& [hour, peak] : {std::pair{3, 96.5}, {1, 100.0}, {2, 97.0}, {5, 95.8}, {4, 95.0}})
    runs.push_back(container(hour, peak));
  ModelRuns row = summarise_runs(runs).at(0);
  CHECK(row.steady_from == 2);
  CHECK(row.steady.overhead_gib.runs == 4);
  CHECK(row.first.overhead_gib.mean == 30.0);
  CHECK(row.steady.overhead_gib.mean == Approx((27 + 26.5 + 25 + 25.8) / 4));
  CHECK(row.steady.overhead_gib.min == 25.0);
  CHECK(row.overheads_gib.size() == 5);
  runs.push_back(container(6, 90));  // falls 5.8: only this one has settled
  row = summarise_runs(runs).at(0);
  CHECK(row.steady_from == 6);
  CHECK(row.steady.overhead_gib.runs == 1);
  runs.resize(3);  // native, 96.5 and the earlier 100
  runs.erase(runs.begin() + 1);
  CHECK(summarise_runs(runs).at(0).steady_from == 0);
}

TEST_CASE("the KV pool of all 63 published runs follows from the peak", "[explanations]") {
  const std::vector<SparkRun> runs = published();
  if (runs.empty()) return;
  CHECK(runs.size() == 63);
  for (const SparkRun& run : runs) {
    CAPTURE(run.model, run.timestamp, kv_residual_gib(run));
    // FACTS 000: to the rounding of the log.
    CHECK(kv_residual_gib(run) <= 0.0101);
    CHECK(kv_residual_gib(run) >= -0.0101);
  }
}

TEST_CASE("published runs: means, first starts and steady states", "[explanations]") {
  const std::vector<SparkRun> runs = published();
  if (runs.empty()) return;
  const std::vector<ModelRuns> rows = summarise_runs(runs);
  REQUIRE(rows.size() == 3);
  struct Expected {  // FACTS 000; steady KV of Qwen 29.8 there
    const char* model;
    double native_kv, kv, overhead;
  };
  const std::array<Expected, 3> expected{
      {{"Qwen/Qwen2.5-72B-Instruct", 44.71, 26.72, 19.99},
       {"deepseek-ai/DeepSeek-R1-Distill-Qwen-7B", 44.31, 16.57, 30.83},
       {"openai/gpt-oss-120b", 43.19, 23.65, 21.71}}};
  for (std::size_t i = 0; i < rows.size(); ++i) {
    CHECK(rows[i].model == expected[i].model);
    CHECK(rows[i].native_kv_gib.mean == Approx(expected[i].native_kv).margin(0.005));
    CHECK(rows[i].all.kv_gib.mean == Approx(expected[i].kv).margin(0.005));
    CHECK(rows[i].all.overhead_gib.mean == Approx(expected[i].overhead).margin(0.005));
    // KV lost = 0.9 x overhead: 17.99, 27.74, 19.54.
    CHECK(rows[i].native_kv_gib.mean - rows[i].all.kv_gib.mean ==
          Approx(0.9 * expected[i].overhead).margin(0.01));
    CHECK(rows[i].first.overhead_gib.mean == rows[i].all.overhead_gib.max);
  }
  CHECK(rows[0].steady_from == 5);
  CHECK(rows[0].steady.overhead_gib.mean == Approx(16.6).margin(0.05));
  CHECK(rows[0].steady.kv_gib.mean == Approx(29.8).margin(0.05));
  CHECK(to_string(rows[0].steady.overhead_gib) == "16.60 (15.18 to 17.53, 6 runs)");
  CHECK(to_string(rows[0].first.overhead_gib) == "32.90 (1 run)");
}

TEST_CASE("the measured rows of the catalog are those of the runs", "[explanations]") {
  const std::vector<SparkRun> runs = published();
  if (runs.empty()) return;
  const std::vector<ModelRuns> rows = summarise_runs(runs);
  const std::array<const char*, 3> ids{"docker-measured-qwen2.5-72b", "docker-measured-deepseek-7b",
                                       "docker-measured-gpt-oss-120b"};
  for (std::size_t i = 0; i < ids.size(); ++i) {
    const Environment row = environment(ids[i]);
    const auto same = [](const ByteRange& range, const Spread& spread) {
      CHECK(gib_from_bytes(range.low) == Approx(spread.min).margin(0.0051));
      CHECK(gib_from_bytes(range.typical) == Approx(spread.mean).margin(0.0051));
      CHECK(gib_from_bytes(range.high) == Approx(spread.max).margin(0.0051));
    };
    REQUIRE((row.first_start_overhead && row.steady_overhead));
    same(*row.first_start_overhead, rows[i].first.overhead_gib);
    same(*row.steady_overhead, rows[i].steady.overhead_gib);
    const ExplanationScore own = scores(ids[i], rows)[2 * i + 1];
    CHECK(own.label == "fitted on these runs");
    CHECK(*own.error_gib == Approx(0).margin(0.0051));
    CHECK(row.measured_model == rows[i].model);
  }
}

TEST_CASE("an overhead measured with one model misses another by as much as they differ",
          "[explanations]") {
  const std::vector<SparkRun> runs = published();
  if (runs.empty()) return;
  const ExplanationScore qwen = scores("docker-measured-deepseek-7b", summarise_runs(runs))[1];
  CHECK(*qwen.error_gib == Approx(30.13 - 16.60).margin(0.01));
  CHECK(qwen.label == "scored: measured with deepseek-ai/DeepSeek-R1-Distill-Qwen-7B");
}

TEST_CASE("page cache misses by model size, which the measured overheads do not follow",
          "[explanations]") {
  const std::vector<SparkRun> runs = published();
  if (runs.empty()) return;
  const std::vector<ModelRuns> rows = summarise_runs(runs);
  const std::vector<ExplanationScore> cache = scores("docker-page-cache", rows);
  REQUIRE(cache.size() == 6);
  // DeepSeek: 15.23 GB = 14.185 GiB of checkpoint against 30.13 GiB.
  CHECK(cache[3].predicted_gib == Approx(14.185).margin(0.001));
  CHECK(*cache[3].error_gib == Approx(14.185 - 30.13).margin(0.005));
  CHECK(
      cache[3].needed ==
      "page cache would need 30.13 GiB of cached files, but the checkpoint has 14.19: too little");
  // Qwen: 135.4 GiB of checkpoint in what is left, 119.707 - 70.03 - 2.5 reserve = 47.18 GiB.
  CHECK(cache[1].predicted_gib == Approx(47.177).margin(0.001));
  CHECK(*cache[1].error_gib == Approx(47.177 - 16.598).margin(0.005));
  CHECK(cache[1].label == "scored");
}

TEST_CASE("double counting needs another share for every model", "[explanations]") {
  const std::vector<SparkRun> runs = published();
  if (runs.empty()) return;
  const std::vector<ModelRuns> rows = summarise_runs(runs);
  // All runs: 30.83 / 70.47, 21.71 / 71.72, 19.99 / 70.03; steady Qwen 16.6 / 70.03.
  CHECK(*needed_share(rows[1], RunSet::all) == Approx(0.4375).margin(0.0005));
  CHECK(*needed_share(rows[2], RunSet::all) == Approx(0.3027).margin(0.0005));
  CHECK(*needed_share(rows[0], RunSet::all) == Approx(0.2854).margin(0.0005));
  CHECK(*needed_share(rows[0], RunSet::steady) == Approx(0.237).margin(0.0005));
  const std::string verdict = double_counting_verdict(rows, RunSet::steady);
  CHECK(verdict.find("no single share explains all models") != std::string::npos);
  CHECK(verdict.find("0.24 (Qwen/Qwen2.5-72B-Instruct)") != std::string::npos);
  // 0.34 x 70.47 = 23.96 against 30.13.
  const ExplanationScore deepseek = scores("docker-cgroup-double-count", rows)[3];
  CHECK(deepseek.predicted_gib == Approx(23.96).margin(0.005));
  CHECK(*deepseek.error_gib == Approx(23.96 - 30.13).margin(0.01));
}

TEST_CASE("one share is accepted where it lies within every model's spread", "[explanations]") {
  const std::vector<SparkRun> runs{{"a", false, 1, "1", 60, 0, 0},
                                   {"a", true, 1, "1", 72, 0, 0},
                                   {"b", false, 1, "1", 80, 0, 0},
                                   {"b", true, 1, "1", 96, 0, 0}};
  // 12 / 60 = 16 / 80 = 0.2.
  const std::string verdict = double_counting_verdict(summarise_runs(runs), RunSet::first);
  CHECK(verdict.find("one share lies within") != std::string::npos);
  CHECK(verdict.find("0.20, misses by up to 0.00 GiB") != std::string::npos);
}

TEST_CASE("a compiler heap explains no settled run, a shm limit none at all", "[explanations]") {
  const std::vector<SparkRun> runs = published();
  if (runs.empty()) return;
  const std::vector<ModelRuns> rows = summarise_runs(runs);
  const std::vector<ExplanationScore> heap = scores("docker-jit-heap", rows);
  CHECK(heap[0].predicted_gib == 8.0);
  CHECK(heap[0].label == "unscored: the heap was not recorded");
  CHECK(heap[1].predicted_gib == 0.0);
  CHECK(heap[1].label == "scored");
  CHECK(heap[0].needed.find("32.90 GiB at the first start (8.00 are assumed) and still 16.60") !=
        std::string::npos);
  CHECK(heap[0].needed.find("32.90, 27.08, 22.25, 18.07, 15.18") != std::string::npos);
  const ExplanationScore shm = scores("docker-shm-60g", rows)[0];
  CHECK(shm.predicted_gib == 0.0);
  CHECK(*shm.error_gib == Approx(-32.9).margin(0.005));
  CHECK(shm.needed.find("files in /dev/shm could take 60.00") != std::string::npos);
}

TEST_CASE("what no run or no size scores is labelled so", "[explanations]") {
  const std::vector<SparkRun> runs{{"a", false, 1, "1", 60, 0, 0}, {"a", true, 1, "1", 72, 0, 0}};
  const std::vector<ExplanationScore> unknown = scores("docker-page-cache", summarise_runs(runs));
  REQUIRE(unknown.size() == 2);
  CHECK(unknown[0].label == "unscored: size of the checkpoint not given");
  CHECK_FALSE(unknown[0].error_gib);
  CHECK(unknown[1].label == "unscored: no container run of this set");
  CHECK_FALSE(unknown[1].measured_gib);
}

TEST_CASE("weights that cannot be where they are said to be are noticed", "[explanations]") {
  // 72,706,203,648 x 2 = 145.41 GB = 135.43 GiB.
  CHECK(*weights_note("72B", kServed[0].checkpoint_bytes, kSparkDeviceGib, 70.03) ==
        "72B: 145.41 GB of weights (135.43 GiB) do not fit in 119.71 GiB; with a peak of 70.03 GiB "
        "they must have been quantised or not loaded");
  CHECK_FALSE(weights_note("7B", kServed[1].checkpoint_bytes, kSparkDeviceGib, 70.47));
  CHECK(weights_note("x", ByteCount{80} << 30, kSparkDeviceGib, 70)->find("exceed the peak") !=
        std::string::npos);
}

TEST_CASE("rates that bandwidth does not allow are noticed", "[explanations]") {
  // 14.14 GB per token: 273 / 14.14 = 19.3 tokens/s; 120 / 19.3 = 6.2.
  const std::string note = *bandwidth_note(kServed[1], 273e9, 120);
  CHECK(note.find("1697 GB/s from a memory with 273") != std::string::npos);
  CHECK(note.find("at most 19.3 tokens/s, so at least 7 sequences") != std::string::npos);
  // 142.9 GB: 1.9 tokens/s, 62.8 sequences.
  CHECK(bandwidth_note(kServed[0], 273e9, 120)->find("at least 63 sequences") != std::string::npos);
  CHECK_FALSE(bandwidth_note(kServed[1], 3350e9, 120));
  const std::array<double, 3> equal{119.4, 119.8, 120.3};
  // 142.9 GB against 5.00 GB of GPT-OSS.
  CHECK(equal_rates_note(kServed, equal)->find("reads 28.6 times the weights") !=
        std::string::npos);
  const std::array<double, 3> different{2, 19, 55};
  CHECK_FALSE(equal_rates_note(kServed, different));
}

}  // namespace headroom::explanations_test
