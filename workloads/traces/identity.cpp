#include "workloads/traces/identity.hpp"

#include <charconv>

#include "sim/serving/request.hpp"
#include "workloads/traces/json_line.hpp"

namespace headroom {

std::optional<std::uint64_t> parse_unsigned(std::string_view text) {
  std::uint64_t value = 0;
  const char* end = text.data() + text.size();
  const auto [at, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc() || at != end) return std::nullopt;
  return value;
}

std::uint64_t identity_of(std::string_view text) {
  const bool usual = text == "0" || !text.starts_with('0');
  const std::optional<std::uint64_t> number = parse_unsigned(text);
  return usual && number && *number != kNoSession ? *number : text_id(text);
}

std::uint64_t session_of(std::string_view text) {
  return text.empty() ? kNoSession : identity_of(text);
}

}  // namespace headroom
