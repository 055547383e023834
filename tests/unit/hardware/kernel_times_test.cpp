#include "hardware/cost/kernel_times.hpp"

#include <fmt/format.h>

#include <array>
#include <catch2/catch.hpp>
#include <string>
#include <vector>

#include "sim/kernel/errors.hpp"
#include "tests/support/temp_folder.hpp"

namespace headroom::kernel_times_test {
namespace {

using Axes = std::vector<std::vector<double>>;

constexpr const char* kDense = "layer,tokens,time_us\nqkv_proj,1,10\nqkv_proj,100,20\n";
constexpr const char* kHead = "layer,sequences,time_us\nlm_head,1,10\nlm_head,100,20\n";
constexpr const char* kAttentionHeader = "prefill_chunk,kv_prefill,n_decode,kv_decode,time_us\n";
constexpr const char* kDecodes = "0,0,1,16,1\n0,0,1,32,1\n0,0,8,16,1\n0,0,8,32,1\n";
constexpr const char* kChunks = "16,0,0,0,1\n16,8,0,0,1\n32,0,0,0,1\n32,8,0,0,1\n";
constexpr const char* kExpertsHeader = "ep,tokens,activated_experts,time_us\n";

std::string both() {
  std::string text;
  for (const int chunk : {16, 32}) {
    for (const int cached : {0, 8}) {
      for (const int rows : {1, 8}) {
        for (const int context : {16, 32}) {
          text += fmt::format("{},{},{},{},2\n", chunk, cached, rows, context);
        }
      }
    }
  }
  return text;
}

// `text` in place of one file of a profile that is good.
KernelTimes read_with(const std::string& file = "dense.csv", const std::string& text = kDense) {
  const TempFolder folder;
  folder.write("dense.csv", kDense);
  folder.write("per_sequence.csv", kHead);
  folder.write("attention.csv", std::string(kAttentionHeader) + kDecodes + kChunks + both());
  folder.write(file, text);
  return read_kernel_times(folder.path());
}

KernelTimes read_attention_of(const std::string& rows) {
  return read_with("attention.csv", kAttentionHeader + rows);
}

KernelTimes read_experts_of(const std::string& rows) {
  return read_with("moe.csv", kExpertsHeader + rows);
}

}  // namespace

TEST_CASE("beyond its last point a time grows as over the upper half, and never falls") {
  TimeCurve curve;
  curve.add(10, 100);
  curve.add(20, 200);
  CHECK(curve.us(5) == 100);
  CHECK(curve.us(15) == 150);
  CHECK(curve.us(30) == 300);
  curve.add(30, 190);
  CHECK(curve.us(25) == 195);
  CHECK(curve.us(30) == 190);
  // 15 is half; the last point up to there is at 10: 90 us in 20.
  CHECK(curve.us(50) == 190 + 20 * 4.5);
  curve.add(40, 180);  // less than at 20, its half
  CHECK(curve.us(400) == 180);
}

TEST_CASE("a grid goes on beyond its edge, and never below it") {
  TimeGrid grid{{{1, 2}, {1, 2}}, {10, 20, 30, 40}};
  const auto at = [&](double first, double second) {
    return grid.at(std::array{place_on(grid.axes[0], first), place_on(grid.axes[1], second)});
  };
  CHECK(at(1.5, 1.5) == 25);
  CHECK(at(3, 1) == 50);  // 30 + 20
  CHECK(at(3, 3) == 70);  // 40 + 20 + 10
  // One noisy corner: 16 x 10 - 20 x 10 - 20 x 10 + 25 x 9 = -15 five cells away.
  grid.us = {10, 10, 10, 9};
  CHECK(at(6, 6) == 9);
  CHECK(at(6, 1) == 10);
  CHECK(at(6, 1.5) == 9.5);
}

TEST_CASE("a finer grid is left out where a coarser one is full") {
  // Eight sequences lack the same share of rows as each of the two lengths between.
  const KernelTimes times =
      read_attention_of("0,0,1,16,1\n0,0,1,20,1\n0,0,1,24,1\n0,0,1,32,1\n0,0,8,16,1\n0,0,8,32,1\n" +
                        std::string(kChunks) + both());
  CHECK(times.decode.axes == Axes{{1, 8}, {16, 32}});
  CHECK(times.mixed.us.size() == 16);
}

TEST_CASE("rows that are no grid are refused") {
  const std::string chunks = kChunks;
  CHECK_THROWS_WITH(read_attention_of(""),
                    Catch::Contains("attention.csv: no rows for decoding sequences alone"));
  CHECK_THROWS_WITH(read_attention_of("0,0,1,16,1\n"),
                    Catch::Contains("decoding sequences alone: the rows do not form a grid"));
  CHECK_THROWS_WITH(read_attention_of("0,0,1,16,1\n0,0,8,32,1\n"),
                    Catch::Contains("decoding sequences alone: the rows do not form a grid"));
  // One chunk length, and two rows that share neither cached tokens nor sequences.
  CHECK_THROWS_WITH(
      read_attention_of(kDecodes + chunks + "16,0,1,16,2\n16,8,8,16,2\n"),
      Catch::Contains("a chunk with decoding sequences: the rows do not form a grid"));
  CHECK_THROWS_WITH(read_attention_of("0,5,0,7,1\n"),
                    Catch::Contains("attention.csv:2: neither a chunk nor"));
  CHECK_THROWS_WITH(read_experts_of("1,1,8,5\n1,2,8,5\n"),
                    Catch::Contains("moe.csv: experts: the"));
}

TEST_CASE("corners of experts that few tokens cannot reach cost what the last reached do") {
  const KernelTimes times = read_experts_of("1,1,8,5\n1,4,8,6\n1,4,16,9\n1,4,32,20\n2,1,8,1\n");
  CHECK(times.experts.axes == Axes{{1, 4}, {8, 16, 32}});
  CHECK(times.experts.us == std::vector<double>{5, 5, 5, 6, 9, 20});
  CHECK(read_experts_of("").experts.axes.empty());
  // A measured point above one that is not: no such corner.
  CHECK_THROWS_WITH(read_experts_of("1,1,8,5\n1,4,16,9\n"),
                    Catch::Contains("moe.csv: 4 tokens: a row for 16 experts but none for 8"));
  CHECK_THROWS_WITH(read_experts_of("1,1,8,5\n1,2,16,7\n1,4,8,6\n1,4,32,20\n"),
                    Catch::Contains("moe.csv: 2 tokens: a row for 16 experts but none for 8"));
}

TEST_CASE("a point that is there twice is refused with its line") {
  CHECK_THROWS_WITH(read_with("dense.csv", std::string(kDense) + "qkv_proj,100,20\n"),
                    Catch::Contains("dense.csv:4: qkv_proj 100 twice"));
  CHECK_THROWS_WITH(read_with("per_sequence.csv", std::string(kHead) + "lm_head,1,9\n"),
                    Catch::Contains("per_sequence.csv:4: lm_head 1 twice"));
  CHECK_THROWS_WITH(read_attention_of(std::string(kDecodes) + "0,0,8,16,3\n"),
                    Catch::Contains("attention.csv:6: a combination twice"));
  CHECK_THROWS_WITH(read_experts_of("1,1,8,5\n2,1,8,5\n1,4,8,6\n1,1,8,7\n"),
                    Catch::Contains("moe.csv:5: 1 tokens with 8 experts twice"));
}

TEST_CASE("a time that no kernel takes is refused with its line") {
  for (const std::string time : {"0", "-3", "-0", "1e-9", "1e10", "1e400", "nan", "inf", "", "x"}) {
    CAPTURE(time);
    CHECK_THROWS_WITH(read_with("dense.csv", kDense + fmt::format("o_proj,1,{}\n", time)),
                      Catch::Contains("dense.csv:4: time_us: '" + time + "'"));
    CHECK_THROWS_WITH(read_with("per_sequence.csv", kHead + fmt::format("sampler,1,{}\n", time)),
                      Catch::Contains("per_sequence.csv:4: time_us: '" + time + "'"));
    CHECK_THROWS_WITH(read_attention_of(kDecodes + fmt::format("0,0,9,9,{}\n", time)),
                      Catch::Contains("attention.csv:6: time_us: '" + time + "'"));
    // Of shards that are not used, too.
    CHECK_THROWS_WITH(read_experts_of(fmt::format("1,1,8,5\n2,1,4,{}\n", time)),
                      Catch::Contains("moe.csv:3: time_us: '" + time + "'"));
  }
}

TEST_CASE("places of no measurement are refused with their line") {
  for (const std::string tokens : {"0", "-1", "1.5", "1e9", "nan", ""}) {
    CAPTURE(tokens);
    CHECK_THROWS_WITH(read_with("dense.csv", kDense + fmt::format("o_proj,{},1\n", tokens)),
                      Catch::Contains("dense.csv:4: tokens: '" + tokens + "'"));
    CHECK_THROWS_WITH(read_experts_of(fmt::format("1,{},8,5\n", tokens)),
                      Catch::Contains("moe.csv:2: tokens: '" + tokens + "'"));
  }
  CHECK_THROWS_WITH(read_attention_of("0,0,1e9,16,1\n"),
                    Catch::Contains("attention.csv:2: n_decode: '1e9'"));
}

TEST_CASE("a file without what it is read for is refused") {
  for (const std::string file : {"dense.csv", "per_sequence.csv", "attention.csv", "moe.csv"}) {
    CHECK_THROWS_WITH(read_with(file, ""), Catch::Contains(file + ":1: no header"));
    CHECK_THROWS_WITH(read_with(file, "time_us\n"), Catch::Contains(file + ":1: column"));
  }
  CHECK_THROWS_WITH(read_with("dense.csv", "layer,tokens,time_us\nqkv_proj,1,3\n"),
                    Catch::Contains("dense.csv: qkv_proj: only one row; two or more"));
  CHECK_THROWS_WITH(read_with("dense.csv", std::string(kDense) + "qkv_proj,3\n"),
                    Catch::Contains("dense.csv:4: 2 cells, but the header has 3"));
  const TempFolder folder;
  CHECK_THROWS_WITH(read_kernel_times(folder.path()), Catch::Contains("cannot read"));
  const std::string too_long(5000, 'x');
  CHECK_THROWS_AS(read_kernel_times(kernel_times_folder(too_long, 1)), ConfigError);
  CHECK_THROWS_AS(read_kernel_times_meta(too_long), ConfigError);
}

}  // namespace headroom::kernel_times_test
