#include "sim/observe/server_url.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>
#include <tuple>
#include <utility>

#include "sim/intake/values.hpp"
#include "sim/kernel/errors.hpp"

namespace headroom {
namespace {

constexpr std::int64_t kLargestPort = 65535;

[[noreturn]] void refuse_url(const std::string& url, std::string problem) {
  throw ConfigError(Complaint{.origin = "URL", .value = url, .problem = std::move(problem)});
}

// What may stand in a request line and in a Host header.
bool is_plain(std::string_view text) {
  return std::ranges::all_of(text, [](char c) { return c > ' ' && c < '\x7f'; });
}

void read_port(const std::string& url, std::string_view digits, ServerUrl& server) {
  const auto port = whole_number(std::string(digits));
  if (!port || *port < 1 || *port > kLargestPort) {
    refuse_url(url, fmt::format("expected a port of 1 to {}", kLargestPort));
  }
  server.port = std::to_string(*port);
}

// "host", "host:port", "[::1]:port"
void read_authority(const std::string& url, std::string_view authority, ServerUrl& server) {
  std::size_t host_end = authority.find(':');
  if (authority.starts_with('[')) {
    const std::size_t close = authority.find(']');
    if (close == std::string_view::npos) refuse_url(url, "expected ] behind the address");
    server.host = authority.substr(1, close - 1);
    host_end = close + 1 < authority.size() ? close + 1 : std::string_view::npos;
  } else {
    server.host = authority.substr(0, host_end);
  }
  if (server.host.empty()) refuse_url(url, "expected a host, as in http://127.0.0.1:8000");
  if (host_end == std::string_view::npos) return;
  if (authority[host_end] != ':') refuse_url(url, "expected a port behind the address");
  read_port(url, authority.substr(host_end + 1), server);
}

}  // namespace

std::string ServerUrl::authority() const {
  const bool is_v6 = host.find(':') != std::string::npos;
  return fmt::format("{}:{}", is_v6 ? "[" + host + "]" : host, port);
}

std::string ServerUrl::text() const {
  return fmt::format("http{}://{}{}", tls ? "s" : "", authority(), path);
}

ServerUrl parse_server_url(const std::string& url) {
  ServerUrl server;
  std::string_view rest = url;
  for (const auto& [scheme, tls, port] :
       {std::tuple("http://", false, "80"), std::tuple("https://", true, "443")}) {
    if (!rest.starts_with(scheme)) continue;
    rest.remove_prefix(std::string_view(scheme).size());
    server.tls = tls;
    server.port = port;
    break;
  }
  if (server.port.empty()) refuse_url(url, "expected http:// or https://");
  if (!is_plain(url)) refuse_url(url, "expected no blanks and no characters beyond ASCII");
  const std::size_t slash = std::min(rest.find('/'), rest.size());
  std::string_view path = rest.substr(slash);
  if (rest.find_first_of("?#") != std::string_view::npos) {
    refuse_url(url, "expected no query and no fragment");
  }
  if (rest.substr(0, slash).find('@') != std::string_view::npos) {
    // Without the value, which may hold a password.
    throw ConfigError(
        "URL: expected no user name; a key goes into the environment (--api-key-env)");
  }
  read_authority(url, rest.substr(0, slash), server);
  while (path.ends_with('/')) path.remove_suffix(1);
  if (path == "/v1" || path.ends_with("/v1")) path.remove_suffix(3);
  server.path = path;
  return server;
}

}  // namespace headroom
