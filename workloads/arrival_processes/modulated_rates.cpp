#include "workloads/arrival_processes/modulated_rates.hpp"

#include <algorithm>

#include "sim/kernel/time.hpp"
#include "workloads/arrival_processes/option_range.hpp"

namespace headroom {
namespace {

constexpr double kLongestPeriodNs = 0x1p62;  // the reach of arrivals: a longer one ends no earlier
constexpr std::size_t kMaxStates = 1000;
constexpr double kRowTolerance = 1e-9;

const OnOffOptions& checked(double mean_rate_per_s, const OnOffOptions& options) {
  check_above_0("the rate", mean_rate_per_s, kMaxProfileRate, " requests/s");
  check_above_0("on_s", options.on_s, kMaxProfileSeconds, " s");
  check_between("off_s", options.off_s, 0.0, kMaxProfileSeconds, " s");
  return options;
}

void check_states(const MmppOptions& options) {
  const std::size_t states = options.rates_per_s.size();
  if (states < 2 || states > kMaxStates) {
    throw ConfigError(
        fmt::format("arrivals: process mmpp has {} rates; allowed: 2 .. {}", states, kMaxStates));
  }
  if (options.sojourns_s.size() != states) {
    throw ConfigError(fmt::format("arrivals: process mmpp has {} sojourns for {} rates",
                                  options.sojourns_s.size(), states));
  }
  for (const double rate : options.rates_per_s) {
    check_between("the rate of a state", rate, 0.0, kMaxProfileRate, " requests/s");
  }
  for (const double sojourn : options.sojourns_s) {
    check_above_0("the sojourn of a state", sojourn, kMaxProfileSeconds, " s");
  }
}

std::vector<double> equal_transitions(std::size_t states) {
  std::vector<double> transitions(states * states, 1.0 / static_cast<double>(states - 1));
  for (std::size_t i = 0; i < states; ++i) transitions[i * states + i] = 0.0;
  return transitions;
}

std::vector<double> checked_transitions(const MmppOptions& options) {
  const std::size_t states = options.rates_per_s.size();
  if (options.transitions.empty()) return equal_transitions(states);
  if (options.transitions.size() != states * states) {
    throw ConfigError(fmt::format("arrivals: {} transitions for {} states; allowed: none or {}",
                                  options.transitions.size(), states, states * states));
  }
  for (std::size_t row = 0; row < states; ++row) {
    double sum = 0.0;
    for (std::size_t column = 0; column < states; ++column) {
      const double probability = options.transitions[row * states + column];
      check_between("a transition's probability", probability, 0.0, row == column ? 0.0 : 1.0, "");
      sum += probability;
    }
    if (sum - 1.0 > kRowTolerance || sum - 1.0 < -kRowTolerance) {
      throw ConfigError(
          fmt::format("arrivals: the transitions from state {} sum to {}; allowed: 1", row, sum));
    }
  }
  return options.transitions;
}

// The states that can be reached from `start`, itself included.
std::vector<std::size_t> reached_from(std::size_t start, const std::vector<double>& transitions,
                                      std::size_t states) {
  std::vector<std::size_t> reached{start};
  std::vector<bool> seen(states, false);
  seen[start] = true;
  for (std::size_t i = 0; i < reached.size(); ++i) {
    for (std::size_t next = 0; next < states; ++next) {
      if (seen[next] || transitions[reached[i] * states + next] == 0.0) continue;
      seen[next] = true;
      reached.push_back(next);
    }
  }
  return reached;
}

// States from which no request ever comes would be walked through without end. One search backwards
// from the states with a rate finds them.
void check_requests_come(const std::vector<double>& rates, const std::vector<double>& transitions) {
  const std::size_t states = rates.size();
  std::vector<std::size_t> coming;
  std::vector<bool> comes(states, false);
  for (std::size_t i = 0; i < states; ++i) {
    if (rates[i] == 0.0) continue;
    comes[i] = true;
    coming.push_back(i);
  }
  if (coming.empty()) throw ConfigError("arrivals: the rates of all states are 0");
  for (std::size_t i = 0; i < coming.size(); ++i) {
    for (std::size_t before = 0; before < states; ++before) {
      if (comes[before] || transitions[before * states + coming[i]] == 0.0) continue;
      comes[before] = true;
      coming.push_back(before);
    }
  }
  for (const std::size_t state : reached_from(0, transitions, states)) {
    if (comes[state]) continue;
    throw ConfigError(
        fmt::format("arrivals: state {} never reaches a state with a rate above 0", state));
  }
}

}  // namespace

OnOffRate::OnOffRate(double mean_rate_per_s, const OnOffOptions& options, std::uint64_t seed,
                     std::string_view prefix)
    : stream_(seed, fmt::format("{}arrivals/states", prefix)),
      periods_(checked(mean_rate_per_s, options).periods),
      on_ns_(options.on_s * kNsPerSecondReal),
      off_ns_(options.off_s * kNsPerSecondReal),
      on_rate_per_s_(mean_rate_per_s * ((options.on_s + options.off_s) / options.on_s)) {
  check_above_0("the rate in on periods", on_rate_per_s_, kMaxProfileRate, " requests/s");
}

RatePiece OnOffRate::next() {
  is_on_ = !is_on_;
  double duration_ns = is_on_ ? on_ns_ : off_ns_;
  if (periods_ == PeriodLaw::exponential) duration_ns *= stream_.exponential(1.0);
  return RatePiece::constant(std::min(duration_ns, kLongestPeriodNs),
                             is_on_ ? on_rate_per_s_ : 0.0);
}

MarkovRate::MarkovRate(const MmppOptions& options, std::uint64_t seed, std::string_view prefix)
    : stream_(seed, fmt::format("{}arrivals/states", prefix)) {
  check_states(options);
  rates_per_s_ = options.rates_per_s;
  cumulative_ = checked_transitions(options);
  check_requests_come(rates_per_s_, cumulative_);
  const std::size_t states = rates_per_s_.size();
  for (std::size_t i = 0; i < cumulative_.size(); ++i) {
    if (i % states != 0) cumulative_[i] += cumulative_[i - 1];
  }
  for (const double sojourn : options.sojourns_s) {
    sojourns_ns_.push_back(sojourn * kNsPerSecondReal);
  }
}

RatePiece MarkovRate::next() {
  const double duration_ns = sojourns_ns_[state_] * stream_.exponential(1.0);
  const double rate = rates_per_s_[state_];
  const double probability = stream_.uniform();
  state_ = follower(probability);
  return RatePiece::constant(std::min(duration_ns, kLongestPeriodNs), rate);
}

std::size_t MarkovRate::follower(double probability) const {
  const std::size_t states = rates_per_s_.size();
  const auto row = cumulative_.begin() + static_cast<std::ptrdiff_t>(state_ * states);
  const auto end = row + static_cast<std::ptrdiff_t>(states);
  // Scaled to the row's sum, which may miss 1 by a rounding: a state of probability 0 is never
  // chosen.
  const auto found = std::upper_bound(row, end, probability * *(end - 1));
  return static_cast<std::size_t>(std::min(found, end - 1) - row);
}

}  // namespace headroom
