#pragma once
// Runs of scenarios, held against assertions on their figures.

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "hardware/catalog.hpp"
#include "sim/resolve/run.hpp"
#include "sim/study/assert/assertion.hpp"

namespace headroom {

// tight: holds for the simulated figure, but not for all that its known error would make of it.
enum class AssertionVerdict : std::uint8_t { holds, tight, broken };
[[nodiscard]] std::string_view name_of(AssertionVerdict verdict);

struct CheckedAssertion {
  Assertion assertion;
  AssertionVerdict verdict = AssertionVerdict::broken;
  std::optional<double> value;  // simulated; nothing: the run has none
  // Where measured runs of similar systems lay, relative to simulated ones, or without any what
  // constants of other devices give; equal to `value`: not known, or a count that is exact.
  double low = 0;
  double high = 0;
  std::string why;  // a run that has no such figure
};

struct CheckedScenario {
  std::string name;
  std::string file;  // as it was given
  std::string digest;
  std::int64_t measured_runs = 0;  // of similar systems, behind `low` and `high` of latencies
  std::vector<CheckedAssertion> assertions;

  [[nodiscard]] std::size_t count(AssertionVerdict verdict) const;
};

struct AssertOptions {
  std::size_t threads = 1;
  const std::atomic<bool>* interrupted = nullptr;
};

// A latency of a run that is not stationary or finished nothing is missing: it would say how long
// the run was. An assertion on a figure that is missing is broken.
[[nodiscard]] std::vector<CheckedAssertion> check_assertions(
    const RunResult& run, const std::vector<Assertion>& assertions);

struct AssertedScenario {
  std::string file;
  Scenario scenario;
};
// One run of each, in order, whatever the number of threads. ConfigError, DataError: a scenario or
// its files are wrong. After an interruption the answer is not complete.
[[nodiscard]] std::vector<CheckedScenario> assert_runs(
    const std::vector<AssertedScenario>& scenarios, const std::vector<Assertion>& assertions,
    const Catalog& catalog, const AssertOptions& options);

}  // namespace headroom
