#pragma once
// The HTTP statuses that the server answers with.

namespace headroom {

inline constexpr int kStatusOk = 200;
inline constexpr int kStatusMoved = 301;
inline constexpr int kStatusBadRequest = 400;
inline constexpr int kStatusUnauthorized = 401;
inline constexpr int kStatusNotFound = 404;
inline constexpr int kStatusWrongMethod = 405;
inline constexpr int kStatusTooLarge = 413;
inline constexpr int kStatusTooManyRequests = 429;
inline constexpr int kStatusHeaderTooLarge = 431;
inline constexpr int kStatusServerError = 500;
inline constexpr int kStatusUnavailable = 503;

}  // namespace headroom
