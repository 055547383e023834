#pragma once
// Where a server listens, as its user writes it.

#include <string>

namespace headroom {

struct ServerUrl {
  bool tls = false;
  std::string host;
  std::string port;
  std::string path;  // what all paths begin with: empty, or "/..." without a slash at its end

  // "127.0.0.1:8000", "[::1]:8000"
  [[nodiscard]] std::string authority() const;
  // As the user may write it: "http://127.0.0.1:8000".
  [[nodiscard]] std::string text() const;
};

// "http://host[:port][/path]" or "https://..."; a "/v1" at its end, as clients of OpenAI's API give
// it, is taken off. ConfigError: anything else, also a user name or a query, which may hold a
// secret.
[[nodiscard]] ServerUrl parse_server_url(const std::string& url);

}  // namespace headroom
