#include "workloads/traces/time_unit.hpp"

#include <fmt/format.h>

namespace headroom {
namespace {

// Real traces have a few requests/s, clusters some thousand. Rows at one single time are a batch.
constexpr std::int64_t kFewestRows = 5;
constexpr double kHighestRate = 100'000;  // requests/s
constexpr double kLowestRate = 1.0 / (30 * 86'400);

}  // namespace

std::string TimeUnitCheck::doubt(std::string_view column) const {
  if (column.empty() || rows_ < kFewestRows || last_ns_ == first_ns_) return {};
  const auto span_ns = static_cast<double>(last_ns_ - first_ns_);
  const double rate = static_cast<double>(rows_ - 1) / span_ns * kNsPerSecondReal;
  if (rate <= kHighestRate) return {};
  return fmt::format(
      "{} holds nanoseconds, but its {} rows lie within {} ns ({:.2g} requests/s): the numbers "
      "look like seconds or milliseconds; multiply them by 10^9 or 10^6",
      column, rows_, last_ns_ - first_ns_, rate);
}

std::string TimeUnitCheck::odd_span() const {
  if (rows_ < kFewestRows || last_ns_ == first_ns_) return {};
  const double span_s = static_cast<double>(last_ns_ - first_ns_) / kNsPerSecondReal;
  const double rate = static_cast<double>(rows_ - 1) / span_s;
  if (rate <= kHighestRate && rate >= kLowestRate) return {};
  return fmt::format(
      "; its {} rows lie within {:.3g} s ({:.2g} requests/s), which makes no sense: say the unit "
      "of time, as in --columns time=NAME:ms",
      rows_, span_s, rate);
}

}  // namespace headroom
