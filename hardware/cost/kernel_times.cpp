#include "hardware/cost/kernel_times.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <limits>
#include <optional>
#include <set>
#include <system_error>
#include <utility>

#include "sim/kernel/check.hpp"
#include "sim/kernel/errors.hpp"
#include "sim/kernel/fact_rows.hpp"
#include "sim/kernel/text_file.hpp"

namespace headroom {
namespace {

namespace fs = std::filesystem;

constexpr std::int64_t kMostCount = 100'000'000;  // tokens, sequences
constexpr double kShortestUs = 1e-3;              // no kernel is faster; far above a tick
constexpr double kLongestUs = 1e9;

// "gpu: 'NVIDIA L4' \r" -> NVIDIA L4
std::string meta_value(std::string_view line) {
  constexpr std::string_view kAround = " \t\r'\"";
  line.remove_prefix(line.find(':') + 1);
  const std::size_t first = line.find_first_not_of(kAround);
  if (first == std::string_view::npos) return "";
  return std::string(line.substr(first, line.find_last_not_of(kAround) + 1 - first));
}

std::vector<FactRow> rows_of(const fs::path& file, const std::vector<std::string>& columns) {
  std::istringstream in = open_text_file(file);
  return read_facts(in, file.string(), columns);
}

double time_of(const FactRow& row) { return number_in(row, "time_us", kShortestUs, kLongestUs); }

[[noreturn]] void refuse_second(const FactRow& row, const std::string& what) {
  throw DataError(fmt::format("{}:{}: {} twice", row.file, row.line, what));
}

std::map<std::string, TimeCurve, std::less<>> read_curves(const fs::path& file,
                                                          const std::string& axis) {
  std::map<std::string, std::map<std::int64_t, double>> points;
  for (const FactRow& row : rows_of(file, {"layer", axis, "time_us"})) {
    const std::int64_t at = count_in(row, axis, 1, kMostCount);
    if (!points[row.text("layer")].emplace(at, time_of(row)).second) {
      refuse_second(row, fmt::format("{} {}", row.text("layer"), at));
    }
  }
  std::map<std::string, TimeCurve, std::less<>> curves;
  for (const auto& [layer, measured] : points) {
    if (measured.size() < 2) {
      throw DataError(fmt::format(
          "{}: {}: only one row; two or more are needed to see how its time grows with {}",
          file.string(), layer, axis));
    }
    for (const auto& [at, us] : measured) curves[layer].add(static_cast<double>(at), us);
  }
  return curves;
}

using Key = std::vector<std::int64_t>;
using Points = std::map<Key, double>;

// The values of each axis.
std::vector<std::set<std::int64_t>> axes_of(const Points& points) {
  std::vector<std::set<std::int64_t>> axes(points.begin()->first.size());
  for (const auto& [key, us] : points) {
    for (std::size_t i = 0; i < key.size(); ++i) axes[i].insert(key[i]);
  }
  return axes;
}

// A profile may contain several grids of different density: values of an axis that lack some
// combination are dropped, the emptiest first, until the grid is full. An axis keeps at least two
// values; false: the rest still has gaps.
bool keep_full_grid(Points& points) {
  for (;;) {
    const auto axes = axes_of(points);
    double full = 1;
    for (const auto& axis : axes) full *= static_cast<double>(axis.size());
    if (static_cast<double>(points.size()) == full) return true;
    double emptiest = 2;
    std::size_t of_axis = 0;
    std::int64_t value = 0;
    for (std::size_t i = 0; i < axes.size(); ++i) {
      if (axes[i].size() <= 2) continue;
      std::map<std::int64_t, std::size_t> rows;
      for (const auto& [key, us] : points) ++rows[key[i]];
      for (const auto& [at, count] : rows) {
        const double filled = static_cast<double>(count * axes[i].size()) / full;
        if (filled < emptiest) {
          emptiest = filled;
          of_axis = i;
          value = at;
        }
      }
    }
    if (emptiest > 1) return false;
    std::erase_if(points, [&](const auto& point) { return point.first[of_axis] == value; });
  }
}

TimeGrid grid_of(Points points, const std::string& file, std::string_view what) {
  if (points.empty()) throw DataError(fmt::format("{}: no rows for {}", file, what));
  const bool full = keep_full_grid(points);
  TimeGrid grid;
  for (const auto& axis : axes_of(points)) {
    if (!full || axis.size() < 2) {
      throw DataError(fmt::format(
          "{}: {}: the rows do not form a grid of at least two points per axis", file, what));
    }
    grid.axes.emplace_back(axis.begin(), axis.end());
  }
  for (const auto& [key, us] : points) grid.us.push_back(us);
  return grid;
}

void read_attention(const fs::path& file, KernelTimes& times) {
  constexpr std::array kAxes{"prefill_chunk", "kv_prefill", "n_decode", "kv_decode"};
  Points decode;
  Points prefill;
  Points mixed;
  for (const FactRow& row :
       rows_of(file, {"prefill_chunk", "kv_prefill", "n_decode", "kv_decode", "time_us"})) {
    Key at;
    for (const char* axis : kAxes) at.push_back(count_in(row, axis, 0, kMostCount));
    const double us = time_of(row);
    if (at[0] == 0 && at[2] == 0) {
      throw DataError(
          fmt::format("{}:{}: neither a chunk nor a decoding sequence", row.file, row.line));
    }
    const bool added = at[0] == 0   ? decode.emplace(Key{at[2], at[3]}, us).second
                       : at[2] == 0 ? prefill.emplace(Key{at[0], at[1]}, us).second
                                    : mixed.emplace(at, us).second;
    if (!added) refuse_second(row, "a combination");
  }
  times.decode = grid_of(std::move(decode), file.string(), "decoding sequences alone");
  times.prefill = grid_of(std::move(prefill), file.string(), "a chunk alone");
  times.mixed = grid_of(std::move(mixed), file.string(), "a chunk with decoding sequences");
}

// A few tokens cannot reach many experts: such corners are as slow as the most they reach.
void fill_unreached(Points& points, const std::string& file) {
  const auto axes = axes_of(points);
  for (const std::int64_t tokens : axes[0]) {
    double most = 0;
    std::int64_t missing = 0;  // the fewest experts without a row
    for (const std::int64_t experts : axes[1]) {
      const auto [point, added] = points.try_emplace(Key{tokens, experts}, most);
      if (added && missing == 0) missing = experts;
      if (!added && missing > 0) {
        throw DataError(fmt::format("{}: {} tokens: a row for {} experts but none for {}", file,
                                    tokens, experts, missing));
      }
      most = point->second;
    }
  }
}

// Rows of expert parallelism (ep > 1) are of shards that a run does not have.
void read_experts(const fs::path& file, KernelTimes& times) {
  Points points;
  for (const FactRow& row : rows_of(file, {"ep", "tokens", "activated_experts", "time_us"})) {
    const std::int64_t shards = count_in(row, "ep", 1, kMostCount);
    const Key at{count_in(row, "tokens", 1, kMostCount),
                 count_in(row, "activated_experts", 1, kMostCount)};
    const double us = time_of(row);
    if (shards == 1 && !points.emplace(at, us).second) {
      refuse_second(row, fmt::format("{} tokens with {} experts", at[0], at[1]));
    }
  }
  if (points.empty()) return;
  fill_unreached(points, file.string());
  times.experts = grid_of(std::move(points), file.string(), "experts");
}

}  // namespace

void TimeCurve::add(double at, double us) {
  HEADROOM_CHECK(at_.empty() || at > at_.back(), "a time curve's points must ascend");
  at_.push_back(at);
  us_.push_back(us);
}

double TimeCurve::us(double at) const {
  const AxisPlace place = place_on(at_, at);
  if (at_.size() == 1) return us_.front();
  if (place.share <= 1) return us_[place.low] + (us_[place.low + 1] - us_[place.low]) * place.share;
  const std::size_t half = place_on(at_, at_.back() / 2).low;
  const double slope = (us_.back() - us_[half]) / (at_.back() - at_[half]);
  return us_.back() + std::max(slope, 0.0) * (at - at_.back());
}

AxisPlace place_on(const std::vector<double>& axis, double at) {
  HEADROOM_CHECK(!axis.empty(), "an axis has points");
  if (axis.size() == 1 || at <= axis.front()) return {};
  const auto above = std::upper_bound(axis.begin() + 1, axis.end() - 1, at);
  const auto low = static_cast<std::size_t>(above - axis.begin()) - 1;
  return {low, (at - axis[low]) / (axis[low + 1] - axis[low])};
}

double TimeGrid::at(std::span<const AxisPlace> places) const {
  HEADROOM_CHECK(places.size() == axes.size(), "one place per axis");
  const auto within = [&](double most_share) {
    double sum = 0;
    for (std::size_t corner = 0; corner < (std::size_t{1} << axes.size()); ++corner) {
      double weight = 1;
      std::size_t index = 0;
      for (std::size_t i = 0; i < axes.size(); ++i) {
        const bool high = (corner >> i & 1) != 0;
        const double share = std::min(places[i].share, most_share);
        weight *= high ? share : 1 - share;
        index = index * axes[i].size() + places[i].low + (high ? 1 : 0);
      }
      if (weight != 0) sum += weight * us[index];
    }
    return sum;
  };
  const auto beyond = [](const AxisPlace& place) { return place.share > 1; };
  if (std::ranges::none_of(places, beyond)) return within(1);
  return std::max(within(std::numeric_limits<double>::max()), within(1));
}

KernelTimes read_kernel_times(const fs::path& folder) {
  KernelTimes times;
  times.folder = folder.string();
  times.dense = read_curves(folder / "dense.csv", "tokens");
  times.per_sequence = read_curves(folder / "per_sequence.csv", "sequences");
  read_attention(folder / "attention.csv", times);
  std::error_code no_such_file;
  if (fs::exists(folder / "moe.csv", no_such_file)) read_experts(folder / "moe.csv", times);
  return times;
}

KernelTimesMeta read_kernel_times_meta(const fs::path& folder) {
  std::error_code unreadable;
  fs::path file = folder / "meta.yaml";
  if (!fs::exists(file, unreadable)) file = folder.parent_path() / "meta.yaml";
  if (!fs::exists(file, unreadable)) {
    throw ConfigError(
        Complaint{.origin = folder.string(),
                  .problem = "no meta.yaml, here or in a folder above; it must name the model and "
                             "GPU of the kernel times (lines `model: ...` and `gpu: ...`)"});
  }
  std::istringstream in = open_text_file(file);
  KernelTimesMeta meta;
  for (std::string line; std::getline(in, line);) {
    if (line.starts_with("model:")) meta.model = meta_value(line);
    if (line.starts_with("gpu:")) meta.gpu = meta_value(line);
  }
  const auto need = [&](std::string_view key, const std::string& value) {
    if (!value.empty() && std::ranges::all_of(value, [](char c) { return c >= ' ' && c <= '~'; })) {
      return;
    }
    throw ConfigError(
        Complaint{.origin = file.string(),
                  .problem = fmt::format("{}: {}; allowed: a name, `{}: ...`", key,
                                         value.empty() ? "missing" : "not printable text", key)});
  };
  need("model", meta.model);
  need("gpu", meta.gpu);
  return meta;
}

fs::path kernel_times_folder(const fs::path& root, std::int64_t tensor_parallel_size) {
  fs::path sharded = root / fmt::format("tp{}", tensor_parallel_size);
  std::error_code unreadable;  // a name that no file can have: said of the file that is opened
  if (fs::is_directory(sharded, unreadable) || !fs::exists(root / "dense.csv", unreadable)) {
    return sharded;
  }
  return root;
}

}  // namespace headroom
