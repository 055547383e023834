#include "hardware/kernels/kernel_surface.hpp"

#include <algorithm>
#include <array>
#include <catch2/catch.hpp>
#include <cmath>
#include <string>
#include <vector>

#include "hardware/kernels/kernel_tables.hpp"
#include "sim/kernel/errors.hpp"

namespace headroom::kernel_surface_test {
namespace {

// Two characters of 89 from '%' on: 0.1 us * exp(level / 400), as scripts/kernel_surfaces.py.
std::string code(double us) {
  const auto level = static_cast<int>(std::lround(std::log(us / 0.1) * 400));
  return {static_cast<char>(37 + level / 89), static_cast<char>(37 + level % 89)};
}

// 1 us for everything: ratios are times.
double one(const DevicePeaks&, KernelKey, KernelPoint) { return 1; }
// 1 us per unit of the last axis.
double by_last(const DevicePeaks&, KernelKey, KernelPoint point) { return point.back(); }

constexpr std::array<double, 2> kWeights{1, -5};

KernelSurface surface(const std::string& text, IdealTime ideal) {
  return {text, "kernels/x.txt", 7, ideal, DevicePeaks{}, kWeights};
}

std::string grid(const std::string& lines) {
  return "class decode x 1.0\naxis rows 1 2\naxis context 100 200 400\n" + lines;
}

KernelTime ask(const KernelSurface& surface, std::int64_t heads, std::int64_t format, double rows,
               double context) {
  const std::array<std::int64_t, 2> key{heads, format};
  return surface.time({}, key, std::array<double, 2>{rows, context});
}

// Rounded to the code: half a step of 1/400.
Approx near(double us) { return Approx(us).epsilon(0.0013); }

const std::string kFull = grid("grid 8 bf16\n" + code(10) + code(20) + code(40) + "\n" + code(30) +
                               code(60) + code(120) + "\n");

}  // namespace

TEST_CASE("measured points come back as they are") {
  const KernelSurface times = surface(kFull, one);
  CHECK(ask(times, 8, 0, 1, 100).us == near(10));
  CHECK(ask(times, 8, 0, 2, 400).us == near(120));
  CHECK(ask(times, 8, 0, 2, 400).fit == Fit::measured);
  CHECK(times.measured_points() == 6);
}

TEST_CASE("between points the ratio follows the logarithm of every axis") {
  const KernelSurface times = surface(kFull, one);
  // Halfway between 100 and 200 in the logarithm, the geometric mean of 10 and 20.
  const KernelTime time = ask(times, 8, 0, 1, std::sqrt(100.0 * 200.0));
  CHECK(time.us == near(std::sqrt(200.0)));
  CHECK(time.fit == Fit::interpolated);
  // Of both axes: sqrt(sqrt(10 * 20) * sqrt(30 * 60)).
  CHECK(ask(times, 8, 0, std::sqrt(2.0), std::sqrt(20000.0)).us == near(std::sqrt(600.0)));
}

TEST_CASE("beyond the grid times follow the ideal time") {
  const KernelSurface times = surface(kFull, by_last);
  // 120 us at 400, so 0.3 us per token also at 4,000; and 0.1 at 10, as at 100.
  CHECK(ask(times, 8, 0, 2, 4000).us == near(1200));
  CHECK(ask(times, 8, 0, 1, 10).us == near(1));
  CHECK(ask(times, 8, 0, 2, 4000).fit == Fit::extrapolated);
}

TEST_CASE("holes are filled from their line, lines from their neighbours") {
  const KernelSurface times =
      surface(grid("grid 8 bf16\n" + code(10) + "~~" + code(40) + "\n" + code(30) +
                   "\n"
                   "grid 4 bf16\n\n" +
                   code(5) + code(6) + code(7) + "\n"),
              one);
  CHECK(ask(times, 8, 0, 1, 200).us == near(20));
  CHECK(ask(times, 8, 0, 1, 200).fit == Fit::interpolated);
  CHECK(ask(times, 8, 0, 2, 400).us == near(30));
  CHECK(ask(times, 8, 0, 2, 400).fit == Fit::extrapolated);
  CHECK(ask(times, 4, 0, 1, 200).us == near(6));
}

TEST_CASE("a missing shape has the ratio of the nearest one and is extrapolated") {
  const KernelSurface times =
      surface(grid("grid 8 bf16\n" + code(10) + "\n\ngrid 64 bf16\n" + code(80) +
                   "\n\n"
                   "grid 8 fp8\n" +
                   code(5) + "\n\n"),
              one);
  // 16 is nearer to 8 than to 64, in the logarithm; another format costs more than both.
  CHECK(ask(times, 16, 0, 1, 100).us == near(10));
  CHECK(ask(times, 30, 0, 1, 100).us == near(80));
  CHECK(ask(times, 64, 1, 1, 100).us == near(5));
  CHECK(ask(times, 16, 0, 1, 100).fit == Fit::extrapolated);
  const std::array<std::int64_t, 2> present{64, 0};
  CHECK(times.has(present));
  CHECK(times.has_line(present, std::array<double, 1>{1}));
  CHECK_FALSE(times.has_line(present, std::array<double, 1>{2}));
}

TEST_CASE("damage to a surface is reported with its line") {
  const auto damaged = [](const std::string& text) {
    try {
      surface(text, one);
    } catch (const DataError& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  // The class line is line 7, its axes 8 and 9, the grid 10.
  const std::string two = code(1) + code(2);
  CHECK(damaged(grid("grid 8 bf17\n" + two + "\n\n")) ==
        "kernels/x.txt:10: unknown word \"bf17\" in a key; read 0 grids of this section before");
  CHECK_THAT(damaged(grid("grid 8 bf16\n" + two + two + "\n\n")),
             Catch::StartsWith("kernels/x.txt:11: a line of the wrong length"));
  CHECK_THAT(damaged(grid("grid 8 bf16\n" + two + "x\n\n")),
             Catch::StartsWith("kernels/x.txt:11: a line of the wrong length"));
  CHECK_THAT(damaged(grid("grid 8 bf16\n" + two + "\n")),
             Catch::StartsWith("kernels/x.txt:11: the file ends within a grid"));
  CHECK_THAT(damaged(grid("grid 8 bf16\n" + two + "\n \x01\n")),
             Catch::StartsWith("kernels/x.txt:12: a character that is no code"));
  CHECK_THAT(damaged(grid("grid 8\n" + two + "\n\n")),
             Catch::StartsWith("kernels/x.txt:10: a key of the wrong length"));
  CHECK_THAT(damaged(grid("grid 8 bf16\n\n\n")),
             Catch::StartsWith("kernels/x.txt:12: a grid without a point"));
  CHECK_THAT(damaged("class x y 1\naxis rows 2 1\n"),
             Catch::StartsWith("kernels/x.txt:8: an axis must ascend"));
  CHECK_THAT(damaged("class x y 1\nwhat\n"),
             Catch::StartsWith("kernels/x.txt:8: expected an axis or a grid"));
  CHECK_THAT(damaged("class x y 1\naxis rows 1\n"),
             Catch::StartsWith("kernels/x.txt:8: no grid in this section"));
}

const std::string kFacts =
    "headroom-kernels 1\ndevice x\narchitecture hopper\nsm 90\ngb_per_s 3350\n"
    "tflops_bf16 989.4\nlink_gb_per_s 450\n";

// The playground loads the others when they are asked for.
TEST_CASE("a section of which there is the first line alone is not loaded") {
  const std::string text = kFacts + "class nccl all nccl-2\nclass linear all vllm-0.24.0\n";
  const KernelTables tables(EmbeddedFile{"x.txt", text});
  for (const KernelClass kind : {KernelClass::nccl, KernelClass::linear}) {
    try {
      static_cast<void>(tables.surface(kind));
      FAIL("a section without rows was read");
    } catch (const ConfigError& error) {
      CHECK(error.complaint().kind == ErrorKind::unreadable);
      CHECK(error.complaint().origin == "kernels/x.txt");
      CHECK(error.complaint().value == std::string(name_of(kind)) + " all");
    }
  }
  CHECK(tables.surface(KernelClass::experts, KernelEngine::vllm) == nullptr);
}

TEST_CASE("the facts of a kernel file are checked") {
  const std::string& facts = kFacts;
  const std::string section =
      "class nccl all nccl-2\naxis gpus 2\naxis elements 256\n"
      "grid all_reduce\n" +
      code(8) + "\n";
  const auto problem = [](const std::string& text) {
    try {
      KernelTables(EmbeddedFile{"x.txt", text});
    } catch (const DataError& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  const std::string good = facts + section;
  const KernelTables tables(EmbeddedFile{"x.txt", good});
  CHECK(tables.device() == "x");
  CHECK(tables.peaks().bytes == Approx(3.35e6));  // per microsecond
  CHECK(tables.peaks().flops_fp8 == tables.peaks().flops_16_bit);
  CHECK(tables.sections() == std::vector<std::string>{"nccl: all nccl-2"});
  CHECK(tables.surface(KernelClass::nccl)->measured_points() == 1);
  CHECK(tables.surface(KernelClass::linear) == nullptr);
  CHECK_THAT(problem(facts), Catch::StartsWith("kernels/x.txt:1: no section of kernel times"));
  CHECK_THAT(problem("headroom-kernels 2\n" + section),
             Catch::StartsWith("kernels/x.txt:1: headroom-kernels 1 is the only known version"));
  CHECK_THAT(problem(facts + "gb_per_s -1\n" + section),
             Catch::StartsWith("kernels/x.txt:8: expected a number above 0"));
  CHECK_THAT(problem(facts + "speed 1\n" + section),
             Catch::StartsWith("kernels/x.txt:8: unknown fact speed"));
}

}  // namespace headroom::kernel_surface_test
