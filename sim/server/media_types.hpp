#pragma once
// What the server's answers are.

#include <string_view>

namespace headroom {

inline constexpr std::string_view kJsonType = "application/json";
inline constexpr std::string_view kEventsType = "text/event-stream; charset=utf-8";
inline constexpr std::string_view kMetricsType = "text/plain; version=0.0.4; charset=utf-8";
inline constexpr std::string_view kPageType = "text/html; charset=utf-8";

}  // namespace headroom
