#include "workloads/popularity.hpp"

#include <algorithm>
#include <cstddef>

#include "sim/kernel/check.hpp"
#include "sim/kernel/det_math.hpp"
#include "workloads/small_argument.hpp"

namespace headroom {
namespace {

constexpr std::int64_t kTableItems = 4096;

}  // namespace

Popularity::Popularity(std::int64_t count, double exponent) : count_(count), exponent_(exponent) {
  HEADROOM_CHECK(count >= 1 && count <= kMaxPopularItems && exponent >= 0.0 && exponent <= 20.0,
                 "a popularity law outside its range");
  const std::int64_t listed = std::min(count, kTableItems);
  cumulative_.reserve(static_cast<std::size_t>(listed));
  for (std::int64_t item = 1; item <= listed; ++item) {
    sum_ += det::pow(static_cast<double>(item), -exponent);
    cumulative_.push_back(sum_);
  }
  if (listed == count) return;
  first_ = static_cast<double>(listed) + 0.5;
  first_weight_ = det::pow(first_, 1.0 - exponent);
  sum_ += tail_up_to(static_cast<double>(count) + 0.5);
}

// first^(1-s) * ((item / first)^(1-s) - 1) / (1-s), ln(item / first) for s = 1.
double Popularity::tail_up_to(double item) const {
  const double log_ratio = det::log(item / first_);
  const double rest = 1.0 - exponent_;
  return rest == 0.0 ? log_ratio : first_weight_ * exp_minus_1(rest * log_ratio) / rest;
}

double Popularity::item_at(double tail) const {
  const double rest = 1.0 - exponent_;
  if (rest == 0.0) return first_ * det::exp(tail);
  // Above -1 but for roundings, at which the item is the last one.
  const double grown = std::max(rest * tail / first_weight_, -1.0);
  return first_ * det::exp(log_1_plus(grown) / rest);
}

std::int64_t Popularity::operator()(double probability) const {
  const double place = probability * sum_;
  const auto found = std::upper_bound(cumulative_.begin(), cumulative_.end(), place);
  const std::int64_t before = found - cumulative_.begin();
  if (found != cumulative_.end()) return before + 1;
  const auto last = static_cast<double>(count_);
  const double item = std::min(item_at(place - cumulative_.back()) + 0.5, last);
  return std::clamp(static_cast<std::int64_t>(item), std::min(before + 1, count_), count_);
}

}  // namespace headroom
