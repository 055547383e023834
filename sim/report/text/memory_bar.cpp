#include "sim/report/text/memory_bar.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>

namespace headroom {
namespace {

constexpr std::size_t kMemoryBar = 40;

}  // namespace

std::string memory_bar_line(std::string_view name, double gib, double whole, bool is_share) {
  const double part = std::clamp(gib / whole, 0.0, 1.0);
  const auto filled = static_cast<std::size_t>(part * kMemoryBar + 0.5);
  const std::string share = is_share ? fmt::format("{:>7.1f} %", 100 * gib / whole) : "";
  return fmt::format("{:<14}{:<{}}{:>9} GiB{}\n", name,
                     std::string(filled, '#') + std::string(kMemoryBar - filled, '.'), kMemoryBar,
                     fmt::format("{:.2f}", gib), share);
}

std::string memory_total_line(std::string_view name, double gib) {
  return fmt::format("{:<14}{:<{}}{:>9} GiB\n", name, "", kMemoryBar, fmt::format("{:.2f}", gib));
}

}  // namespace headroom
