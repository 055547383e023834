#include "sim/server/http_server.hpp"

#include <fmt/format.h>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/steady_timer.hpp>

#include <algorithm>
#include <chrono>
#include <optional>
#include <unordered_set>
#include <utility>
#include <vector>

#include "sim/kernel/errors.hpp"
#include "sim/server/http_connection.hpp"
#include "sim/server/tls_files.hpp"

namespace headroom {
namespace {

namespace asio = boost::asio;
using Tcp = asio::ip::tcp;
using Error = boost::beast::error_code;
using Clock = std::chrono::steady_clock;

constexpr int kMostAtOnce = 64;  // pieces of news between two looks at the clock
constexpr std::chrono::milliseconds kAcceptPause{100};  // when no descriptor is left

asio::ip::address address_of(const std::string& host) {
  if (host == "localhost") return asio::ip::address_v4::loopback();
  Error error;
  asio::ip::address address = asio::ip::make_address(host, error);
  if (!error) return address;
  throw ConfigError(Complaint{.origin = "--host",
                              .value = host,
                              .problem = "expected an address of this machine: 127.0.0.1, ::1, or "
                                         "0.0.0.0 for all networks"});
}

}  // namespace

class HttpServer::Implementation final : private ConnectionOwner {
 public:
  Implementation(const HttpServerOptions& options, Begin begin);
  ~Implementation() override { close_all(); }
  Implementation(const Implementation&) = delete;
  Implementation& operator=(const Implementation&) = delete;

  [[nodiscard]] std::uint16_t port() const { return acceptor_.local_endpoint().port(); }
  [[nodiscard]] TimeNs now_ns() const {
    return std::chrono::duration_cast<std::chrono::nanoseconds>(Clock::now() - begin_).count();
  }
  void wait_until(TimeNs until_ns);
  [[nodiscard]] std::size_t connections() const { return connections_.size(); }
  void stop_accepting();
  void close_all();

 private:
  [[nodiscard]] std::unique_ptr<HttpWork> work_of(HttpAsk ask, HttpReply& reply) override {
    return work_of_(std::move(ask), reply);
  }
  [[nodiscard]] std::uint64_t most_body_bytes() const override { return options_.most_body_bytes; }
  [[nodiscard]] bool takes_more() const override { return !stops_; }
  void forget(const std::shared_ptr<HttpConnection>& closed) override {
    connections_.erase(closed);
  }

  void accept();
  void take(Tcp::socket socket);

  HttpServerOptions options_;
  Begin work_of_;
  std::optional<asio::ssl::context> tls_;
  asio::io_context io_{1};
  Tcp::acceptor acceptor_{io_};
  asio::steady_timer alarm_{io_};
  asio::steady_timer accept_pause_{io_};
  TimeNs alarm_ns_ = -1;  // as set
  bool is_news_ = false;  // what was handled last
  bool stops_ = false;
  std::unordered_set<std::shared_ptr<HttpConnection>> connections_;
  Clock::time_point begin_ = Clock::now();
};

HttpServer::Implementation::Implementation(const HttpServerOptions& options, Begin begin)
    : options_(options), work_of_(std::move(begin)) {
  if (!options_.certificate_file.empty()) {
    tls_ = server_tls(options_.certificate_file, options_.key_file);
  }
  const Tcp::endpoint endpoint(address_of(options.host), options.port);
  Error error;
  acceptor_.open(endpoint.protocol(), error);
  if (!error) acceptor_.set_option(Tcp::acceptor::reuse_address(true), error);
  if (!error) acceptor_.bind(endpoint, error);
  if (!error) acceptor_.listen(asio::socket_base::max_listen_connections, error);
  if (error) {
    throw ConfigError(
        Complaint{.kind = ErrorKind::unreadable,
                  .origin = error == asio::error::address_in_use ? "--port" : "--host",
                  .value = fmt::format("{}:{}", options.host, options.port),
                  .problem = "cannot listen there: " + error.message()});
  }
  accept();
}

// Whatever still refers to a connection goes with the context.
void HttpServer::Implementation::close_all() {
  for (const auto& connection : std::exchange(connections_, {})) connection->abandon();
}

void HttpServer::Implementation::accept() {
  acceptor_.async_accept([this](const Error& error, Tcp::socket socket) {
    if (stops_ || error == asio::error::operation_aborted) return;
    if (!error) {
      take(std::move(socket));
      return accept();
    }
    accept_pause_.expires_after(kAcceptPause);
    accept_pause_.async_wait([this](const Error& ended) {
      if (!ended) accept();
    });
  });
}

void HttpServer::Implementation::take(Tcp::socket socket) {
  Error ignored;
  socket.non_blocking(true, ignored);
  socket.set_option(Tcp::no_delay(true), ignored);
  if (connections_.size() >= options_.most_connections) {
    constexpr std::string_view kBusy =
        "HTTP/1.1 503 Service Unavailable\r\nContent-Length: 0\r\nConnection: close\r\n\r\n";
    if (!tls_) socket.write_some(asio::buffer(kBusy.data(), kBusy.size()), ignored);
    return;
  }
  ConnectionOwner& owner = *this;
  const auto connection =
      std::make_shared<HttpConnection>(owner, std::move(socket), tls_ ? &*tls_ : nullptr);
  connections_.insert(connection);
  connection->start();
}

void HttpServer::Implementation::stop_accepting() {
  stops_ = true;
  Error ignored;
  acceptor_.close(ignored);
  const std::vector<std::shared_ptr<HttpConnection>> all(connections_.begin(), connections_.end());
  for (const auto& connection : all) {
    if (connection->is_idle()) connection->close();
  }
}

// The alarm that an earlier one replaces is no news.
void HttpServer::Implementation::wait_until(TimeNs until_ns) {
  constexpr TimeNs kLongestWait = TimeNs{1} << 60;
  if (std::exchange(alarm_ns_, until_ns) != until_ns) {
    alarm_.expires_at(begin_ + std::chrono::nanoseconds(std::min(until_ns, kLongestWait)));
    alarm_.async_wait([this](const Error& error) {
      is_news_ = !error;
      if (!error) alarm_ns_ = -1;
    });
  }
  do {
    is_news_ = true;
    io_.run_one();
  } while (!is_news_);
  // The rest of what is there, unless the alarm is due: clients do not hold up the clock.
  for (int i = 1; i < kMostAtOnce && now_ns() < until_ns && io_.poll_one() > 0; ++i) {
  }
}

HttpServer::HttpServer(const HttpServerOptions& options, Begin begin)
    : implementation_(std::make_unique<Implementation>(options, std::move(begin))) {}
HttpServer::~HttpServer() = default;
std::uint16_t HttpServer::port() const { return implementation_->port(); }
TimeNs HttpServer::now_ns() const { return implementation_->now_ns(); }
void HttpServer::wait_until(TimeNs until_ns) { implementation_->wait_until(until_ns); }
std::size_t HttpServer::connections() const { return implementation_->connections(); }
void HttpServer::stop_accepting() { implementation_->stop_accepting(); }
void HttpServer::close_all() { implementation_->close_all(); }

}  // namespace headroom
