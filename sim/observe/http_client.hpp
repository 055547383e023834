#pragma once
// HTTP/1.1 to one server: many requests at once, all on the caller's thread. Boost.Beast is behind
// it, in http_client.cpp alone.
//
// Bounds: a header of 16 KiB, a response of 256 MiB, and the time that each call names. Redirects
// are not followed, and no proxy is used.

#include <atomic>
#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "sim/kernel/time.hpp"
#include "sim/observe/server_url.hpp"

namespace headroom {

inline constexpr int kHttpOk = 200;

struct HttpEnd {
  int status = 0;             // 0: no response
  std::string body = {};      // its first 64 KiB, where the status is not 200
  std::string problem = {};   // what ended the exchange early; empty: the response is complete
  bool timed_out = false;     // after the call's timeout
  bool is_cancelled = false;  // by cancel_all
};

struct HttpCall {
  std::string path;       // below the path of the URL
  std::string body = {};  // JSON, which is posted; empty: the path is read
  TimeNs timeout_ns = 0;  // from its start to the last byte
  // Pieces of a response with status 200, when they came; false breaks the exchange off. May be
  // empty.
  std::function<bool(std::string_view bytes, TimeNs now_ns)> on_bytes = {};
  // Once, at the end; may start further calls.
  std::function<void(const HttpEnd& end, TimeNs now_ns)> on_end = {};
};

class HttpClient {
 public:
  // `key` goes into the Authorization header; empty: none. ConfigError: the host has no address; an
  // address beyond loopback without `remote`; a key for another machine without TLS.
  // `stop` may be null: when it becomes true, calls that are waited for end.
  HttpClient(const ServerUrl& server, bool remote, const std::string& key,
             const std::atomic<bool>* stop = nullptr);
  ~HttpClient();
  HttpClient(const HttpClient&) = delete;
  HttpClient& operator=(const HttpClient&) = delete;

  // Since this object was made.
  [[nodiscard]] TimeNs now_ns() const;
  // Sends at once. Idle connections are used again; one that the server has closed meanwhile is
  // replaced, at the cost of the call's own time.
  void start(HttpCall call);
  // Handles one piece of news, if any comes before `until_ns`.
  void wait_until(TimeNs until_ns);
  // Until `done` holds, or `stop` does: then all calls end.
  void wait_for(const std::function<bool()>& done);
  [[nodiscard]] bool is_stopped() const;
  [[nodiscard]] std::size_t in_flight() const;
  // Ends all calls now.
  void cancel_all();

 private:
  class Implementation;
  const std::atomic<bool>* stop_;
  std::unique_ptr<Implementation> implementation_;
};

// One call from its start to its end; `body` of the end is the response, also with status 200, up
// to 16 MiB of it.
[[nodiscard]] HttpEnd fetch(HttpClient& client, HttpCall call);

}  // namespace headroom
