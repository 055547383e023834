#include "sim/app/traffic_flags.hpp"

#include <fmt/format.h>

#include <cmath>
#include <string_view>
#include <utility>

#include "sim/app/system_source.hpp"
#include "sim/kernel/errors.hpp"

namespace headroom {
namespace {

constexpr std::int64_t kUsualPrompt = 1024;
constexpr std::int64_t kUsualOutput = 256;

}  // namespace

void check_traffic(const TrafficFlags& flags) {
  const auto refuse = [](std::string_view flag, std::string_view problem, ErrorKind kind,
                         std::string value = {}) {
    throw ConfigError(Complaint{.kind = kind,
                                .origin = std::string(flag),
                                .value = std::move(value),
                                .problem = std::string(problem)});
  };
  if (flags.rate && flags.users) refuse("--rate", "give --rate or --users", ErrorKind::conflict);
  if (flags.rate && !(*flags.rate > 0 && std::isfinite(*flags.rate))) {
    refuse("--rate", "expected a number above 0", ErrorKind::value, fmt::to_string(*flags.rate));
  }
  if (flags.users && *flags.users < 1) {
    refuse("--users", "expected at least 1", ErrorKind::value, fmt::to_string(*flags.users));
  }
  if (flags.trace && (flags.users || !flags.prompt.empty() || !flags.output.empty())) {
    refuse("--trace", "a trace has its own lengths and times: leave out --users, --in and --out",
           ErrorKind::conflict);
  }
}

std::int64_t prompt_tokens(const TrafficFlags& flags) {
  return tokens_of("--in", flags.prompt, kUsualPrompt);
}

std::int64_t output_tokens(const TrafficFlags& flags) {
  return tokens_of("--out", flags.output, kUsualOutput);
}

std::string usual_lengths(const TrafficFlags& flags) {
  return fmt::format("requests of {} tokens in and {} out (--in, --out)", prompt_tokens(flags),
                     output_tokens(flags));
}

Json declared_lengths() { return {{"rule", "times_output"}}; }

}  // namespace headroom
