#include "sim/report/text/failure_report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>

#include "sim/engines/engine.hpp"
#include "sim/engines/launch.hpp"
#include "sim/kernel/nearest_name.hpp"
#include "sim/report/text/audit_report.hpp"
#include "sim/report/text/capacity_report.hpp"
#include "sim/report/text/memory_bar.hpp"
#include "sim/report/text/terminal.hpp"
#include "sim/report/text/wrapped_text.hpp"

namespace headroom {
namespace {

using Figure = MemoryFigure;

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

// Without the device's total the bars compare what is known, which is not all.
std::string known_bars(const MemoryFailure& failure, std::vector<MemoryPart> parts) {
  const bool is_pool = failure.figure(Figure::kv_wanted).has_value();
  const auto& wanted = failure.figure(is_pool ? Figure::kv_wanted : Figure::wanted);
  if (wanted && *wanted > 0) parts.push_back({is_pool ? "KV wanted" : "wanted", *wanted});
  if (parts.empty()) return "";
  const double most = std::ranges::max_element(parts, {}, &MemoryPart::gib)->gib;
  std::string out = "\n";
  for (const MemoryPart& part : parts) out += memory_bar_line(part.name, part.gib, most, false);
  return out + audit_line("not known",
                          "the device's memory, and so the rest of it: the text does "
                          "not say it (--device DEVICE does)");
}

std::string bar_lines(const MemoryFailure& failure) {
  const std::vector<MemoryPart> parts = memory_parts(failure);
  const auto& total = failure.figure(Figure::total);
  if (!total || *total <= 0) return known_bars(failure, parts);
  std::string out = "\n" + memory_total_line("device", *total);
  for (const MemoryPart& part : parts) out += memory_bar_line(part.name, part.gib, *total, true);
  return out;
}

std::string device_text(const std::vector<std::string>& devices) {
  const std::vector<std::string> shown(
      devices.begin(),
      devices.begin() + static_cast<std::ptrdiff_t>(std::min(devices.size(), kShownDevices)));
  return fmt::format("by its memory {}{}", comma_list(shown),
                     devices.size() > shown.size() ? " or another one" : "");
}

// "compute buffer of CUDA0, 10,112 MiB; the bars are of CUDA0, one of 2 (NVIDIA GeForce RTX 4090)".
std::string buffer_text(const MemoryFailure& failure) {
  const std::string_view kind = failure.stage == StartupStage::weights         ? "weights"
                                : failure.stage == StartupStage::kv_allocation ? "KV cache"
                                                                               : "compute buffer";
  std::string text = fmt::format("{} of {}", kind, failure.device);
  if (const auto& wanted = failure.figure(Figure::wanted)) {
    text += fmt::format(", {} MiB", human_count(static_cast<std::int64_t>(*wanted * 1024 + 0.5)));
  }
  if (failure.devices > 1) {
    text += fmt::format("; the bars are of {}, one of {} devices", failure.device, failure.devices);
  }
  return failure.board.empty() ? text : text + fmt::format(" ({})", failure.board);
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
  if (!failure.device.empty()) out += audit_line("refused", buffer_text(failure));
  if (const std::string shortage = shortage_text(failure); !shortage.empty()) {
    out += audit_line("short", shortage);
  }
  if (const auto& longest = failure.figure(Figure::longest)) {
    out += audit_line("longest", fmt::format("{} tokens fit by the engine's own estimate",
                                             human_count(static_cast<std::int64_t>(*longest))));
  }
  if (!devices.empty() && failure.board.empty()) {
    out += audit_line("device", device_text(devices));
  }
  out += bar_lines(failure) + "\n";
  for (std::size_t i = 0; i < failure.changes.size(); ++i) {
    out += audit_line(i == 0 ? "change" : "", failure.changes[i]);
  }
  return out;
}

}  // namespace headroom
