#pragma once
// HTTP/1.1 for many clients at once, on the caller's thread, with a clock that wakes it.
// Boost.Beast is behind it, in http_server.cpp and http_connection.cpp alone.
//
// Bounds: a header of 16 KiB, a body and a number of connections as the options say; a client has
// 60 s from one answer until its next request is complete; one that does not read what it is sent
// for 30 s, or leaves 4 MiB of it unread, is cut off.

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "sim/kernel/time.hpp"

namespace headroom {

struct HttpAsk {
  std::string method;         // "GET"
  std::string path;           // without its query
  std::string query;          // behind the "?", as sent
  std::string authorization;  // of the header; empty: none
  std::string body;
};

// Where the answer to one request goes. Used on the server's thread, as long as `is_gone` is false.
class HttpReply {
 public:
  virtual ~HttpReply() = default;
  // The whole answer. `extra`: further lines of the header, each with its end.
  virtual void send(int status, std::string_view type, std::string_view body,
                    std::string_view extra = {}) = 0;
  // Or an answer in pieces: its header, pieces when they come, and its end. `breaks_off`: the
  // client sees that the answer is not complete. Header and pieces go with the next flush() or
  // end_stream(), so that what belongs together costs one system call.
  virtual void begin_stream(std::string_view type) = 0;
  virtual void write(std::string_view piece) = 0;
  virtual void flush() = 0;
  virtual void end_stream(bool breaks_off = false) = 0;
};

// Who works on a request. Destroyed when the answer is complete or the client has gone.
class HttpWork {
 public:
  virtual ~HttpWork() = default;
};

struct HttpServerOptions {
  std::string host = "127.0.0.1";  // an address, or "localhost"
  std::uint16_t port = 0;          // 0: any
  std::size_t most_connections = 8192;
  std::uint64_t most_body_bytes = std::uint64_t{32} << 20;
  std::string certificate_file = {};  // for TLS (tls_files.hpp); empty: plain HTTP
  std::string key_file = {};
};

class HttpServer {
 public:
  // `begin` answers at once, or returns who will. ConfigError: no such address, the port is taken,
  // or the files for TLS are not usable. `reply` lives as long as what is returned.
  using Begin = std::function<std::unique_ptr<HttpWork>(HttpAsk ask, HttpReply& reply)>;
  HttpServer(const HttpServerOptions& options, Begin begin);
  ~HttpServer();
  HttpServer(const HttpServer&) = delete;
  HttpServer& operator=(const HttpServer&) = delete;

  [[nodiscard]] std::uint16_t port() const;
  // Nanoseconds since this object was made.
  [[nodiscard]] TimeNs now_ns() const;
  // Handles what comes until `until_ns`, or until it has handled something.
  void wait_until(TimeNs until_ns);
  [[nodiscard]] std::size_t connections() const;
  // Takes no new connections, and closes those that wait for a request.
  void stop_accepting();
  // Cuts every client off, in the middle of its answer.
  void close_all();

 private:
  class Implementation;
  std::unique_ptr<Implementation> implementation_;
};

}  // namespace headroom
