#pragma once
// A study written out: its points in order, and the scenario of each run.

#include <cstdint>
#include <string>
#include <vector>

#include "hardware/catalog.hpp"
#include "sim/scenario/scenario.hpp"
#include "sim/study/sweep/study_file.hpp"

namespace headroom {

// A share of the points, for many machines: number `index` of `count`, from 1.
struct StudyShard {
  std::int64_t index = 1;
  std::int64_t count = 1;
};
// "2/8"; ConfigError otherwise.
[[nodiscard]] StudyShard parse_shard(const std::string& text);

struct StudyParameter {
  std::string path;
  std::string json;  // the value as JSON text
};

// Combinations of all values in the order of the file, the last group fastest, without those that
// the conditions leave out. Points are numbered from 0; run = point * replications + replication.
// Where a study only searches for values, its points have no runs of their own.
class StudyPlan {
 public:
  // ConfigError: no point is left, or there are too many.
  explicit StudyPlan(Study study);

  [[nodiscard]] const Study& study() const { return study_; }
  [[nodiscard]] std::int64_t points() const { return static_cast<std::int64_t>(points_.size()); }
  [[nodiscard]] std::int64_t left_out() const { return combinations_ - points(); }
  [[nodiscard]] std::int64_t runs() const {
    return study_.runs_points() ? points() * study_.replications : 0;
  }

  // What is varied, with the values of a point.
  [[nodiscard]] std::vector<StudyParameter> parameters(std::int64_t point) const;
  // ConfigError: this combination is no scenario.
  [[nodiscard]] Scenario scenario(std::int64_t run) const;
  // Of a probe: the point with a value of the searched option. Replications may go beyond the
  // study's, with further seeds.
  [[nodiscard]] Scenario probe(std::int64_t point, const ValueSearch& search, double value,
                               std::int64_t replication) const;
  // Points of one shard, in order: every count-th; and their runs.
  [[nodiscard]] std::vector<std::int64_t> points_of(const StudyShard& shard) const;
  [[nodiscard]] std::vector<std::int64_t> runs_of(const StudyShard& shard) const;

  // Reads and resolves the scenario of every point that is run, and of both ends of every search,
  // as far as that needs no trace. ConfigError, and its text ends with the point's values.
  void check(const Catalog& catalog) const;

 private:
  [[nodiscard]] std::vector<std::size_t> choice_of(std::int64_t combination) const;
  [[nodiscard]] bool is_kept(const std::vector<std::size_t>& choice) const;
  [[nodiscard]] JsonDocument document(std::int64_t point) const;
  [[nodiscard]] Scenario scenario_of(const JsonDocument& document, std::int64_t replication) const;
  void check_point(std::int64_t point, const Catalog& catalog) const;

  Study study_;
  std::int64_t combinations_ = 1;
  std::vector<std::int64_t> points_;  // numbers of the combinations that are kept
};

inline constexpr std::int64_t kMaxCombinations = 10'000'000;

}  // namespace headroom
