#include "sim/report/text/failure_report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>

#include "sim/engines/engine.hpp"
#include "sim/engines/launch.hpp"
#include "sim/kernel/nearest_name.hpp"
#include "sim/report/text/audit_report.hpp"
#include "sim/report/text/capacity_report.hpp"
#include "sim/report/text/terminal.hpp"
#include "sim/report/text/wrapped_text.hpp"

namespace headroom {
namespace {

using Figure = MemoryFigure;

constexpr std::size_t kFailureBar = 40;
constexpr std::size_t kShownDevices = 4;

// "needs 16.00 GiB for 131,072 tokens, 5.45 GiB are left: 10.55 GiB short".
std::string shortage_text(const MemoryFailure& failure) {
  const auto& length = failure.figure(Figure::length);
  const bool is_pool = failure.figure(Figure::kv_wanted).has_value();
  const auto& wanted = failure.figure(is_pool ? Figure::kv_wanted : Figure::wanted);
  const auto& left = failure.figure(is_pool ? Figure::kv : Figure::free);
  if (!wanted) {
    return length ? fmt::format("{} tokens wanted", human_count(static_cast<std::int64_t>(*length)))
                  : "";
  }
  std::string text = fmt::format("{:.2f} GiB wanted", *wanted);
  if (length) {
    text += fmt::format(" for {} tokens", human_count(static_cast<std::int64_t>(*length)));
  }
  if (!left) return text;
  text += fmt::format(", {:.2f} GiB left", *left);
  return *wanted > *left ? text + fmt::format(": {:.2f} GiB short", *wanted - *left) : text;
}

std::string bar_lines(const MemoryFailure& failure) {
  const std::vector<MemoryPart> parts = memory_parts(failure);
  if (parts.empty()) return "";
  const double total = *failure.figure(Figure::total);
  std::string out = fmt::format("\n{:<14}{:<{}}{:>9} GiB\n", "device", "", kFailureBar,
                                fmt::format("{:.2f}", total));
  for (const MemoryPart& part : parts) {
    const auto filled =
        std::min(kFailureBar, static_cast<std::size_t>(part.gib / total * kFailureBar + 0.5));
    out += fmt::format("{:<14}{:<{}}{:>9} GiB{:>7.1f} %\n", part.name,
                       std::string(filled, '#') + std::string(kFailureBar - filled, '.'),
                       kFailureBar, fmt::format("{:.2f}", part.gib), 100 * part.gib / total);
  }
  return out;
}

std::string device_text(const std::vector<std::string>& devices) {
  const std::vector<std::string> shown(
      devices.begin(),
      devices.begin() + static_cast<std::ptrdiff_t>(std::min(devices.size(), kShownDevices)));
  return fmt::format("by its memory {}{}", comma_list(shown),
                     devices.size() > shown.size() ? " or another one" : "");
}

}  // namespace

std::string memory_failure_text(const MemoryFailure& failure, const std::string& name,
                                const std::vector<std::string>& devices) {
  std::string out = wrapped("", "OUT OF MEMORY: " + failure.meaning, 0, kAuditWidth);
  const std::string who =
      failure.engine == nullptr ? "" : std::string(failure.engine->launch->title);
  out += audit_line("log", fmt::format("{}, line {}{}{}: {}", name, failure.line,
                                       who.empty() ? "" : ", ", who, failure.text));
  if (!failure.victim.empty()) out += audit_line("killed", failure.victim);
  if (const std::string shortage = shortage_text(failure); !shortage.empty()) {
    out += audit_line("short", shortage);
  }
  if (const auto& longest = failure.figure(Figure::longest)) {
    out += audit_line("longest", fmt::format("{} tokens fit by the engine's own estimate",
                                             human_count(static_cast<std::int64_t>(*longest))));
  }
  if (!devices.empty()) out += audit_line("device", device_text(devices));
  out += bar_lines(failure) + "\n";
  for (std::size_t i = 0; i < failure.changes.size(); ++i) {
    out += audit_line(i == 0 ? "change" : "", failure.changes[i]);
  }
  return out;
}

}  // namespace headroom
