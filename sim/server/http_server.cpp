#include "sim/server/http_server.hpp"

#include <fmt/format.h>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/write.hpp>
#include <boost/beast/core.hpp>
#include <boost/beast/http.hpp>

#include <array>
#include <chrono>
#include <optional>
#include <unordered_set>
#include <utility>
#include <vector>

#include "sim/kernel/errors.hpp"
#include "sim/server/api_answer.hpp"
#include "sim/server/http_status.hpp"

namespace headroom {
namespace {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = boost::beast::http;
using Tcp = asio::ip::tcp;
using Error = beast::error_code;
using Clock = std::chrono::steady_clock;

constexpr std::uint32_t kMostHeaderBytes = 16 << 10;
constexpr std::size_t kMostUnreadBytes = std::size_t{4} << 20;
constexpr int kMostAtOnce = 64;                   // pieces of news between two looks at the clock
constexpr std::chrono::seconds kRequestTime{60};  // from the answer before to the whole request
constexpr std::chrono::seconds kWriteTime{30};
constexpr std::chrono::seconds kLingerTime{2};
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

int status_of(const Error& error) {
  if (error == http::error::body_limit) return kStatusTooLarge;
  if (error == http::error::header_limit) return kStatusHeaderTooLarge;
  return kStatusBadRequest;
}

}  // namespace

class HttpServer::Implementation {
 public:
  Implementation(const HttpServerOptions& options, Begin begin);
  ~Implementation();

  [[nodiscard]] std::uint16_t port() const { return acceptor_.local_endpoint().port(); }
  [[nodiscard]] TimeNs now_ns() const {
    return std::chrono::duration_cast<std::chrono::nanoseconds>(Clock::now() - begin_).count();
  }
  void wait_until(TimeNs until_ns);
  [[nodiscard]] std::size_t connections() const { return connections_.size(); }
  void stop_accepting();
  void close_all();

 private:
  class Connection;
  void accept();
  void take(Tcp::socket socket);

  HttpServerOptions options_;
  Begin work_of_;
  asio::io_context io_{1};
  Tcp::acceptor acceptor_{io_};
  asio::steady_timer alarm_{io_};
  asio::steady_timer accept_pause_{io_};
  TimeNs alarm_ns_ = -1;  // as set
  bool is_news_ = false;  // what was handled last
  bool stops_ = false;
  std::unordered_set<std::shared_ptr<Connection>> connections_;
  Clock::time_point begin_ = Clock::now();
};

// One client. It is read from until a request is complete, then written to until its answer is.
class HttpServer::Implementation::Connection final
    : public HttpReply,
      public std::enable_shared_from_this<Connection> {
 public:
  Connection(Implementation& server, Tcp::socket socket)
      : server_(server), stream_(std::move(socket)) {}

  void read() {
    state_ = State::reads;
    parser_.emplace();
    parser_->header_limit(kMostHeaderBytes);
    parser_->body_limit(server_.options_.most_body_bytes);
    stream_.expires_after(kRequestTime);
    http::async_read_header(
        stream_, buffer_, *parser_,
        [self = shared_from_this()](const Error& error, std::size_t) { self->on_header(error); });
  }

  // Waits for a request, or reads one: nobody works on anything.
  [[nodiscard]] bool is_idle() const { return state_ == State::reads; }
  void close() {
    if (state_ == State::closed) return;
    state_ = State::closed;
    Error ignored;
    stream_.socket().close(ignored);
    // Whoever works on the answer may be the one who has found out.
    asio::post(server_.io_, [self = shared_from_this()] {
      self->work_.reset();
      self->server_.connections_.erase(self);
    });
  }
  // Of a server that goes: nothing is called back any more.
  void abandon() {
    state_ = State::closed;
    work_.reset();
    Error ignored;
    stream_.socket().close(ignored);
  }

  void send(int status, std::string_view type, std::string_view body,
            std::string_view extra) override {
    if (state_ != State::answers) return;
    const auto reason = http::obsolete_reason(http::int_to_status(static_cast<unsigned>(status)));
    put(fmt::format("HTTP/1.1 {} {}\r\nContent-Type: {}\r\nContent-Length: {}\r\n{}{}\r\n{}",
                    status, std::string_view(reason.data(), reason.size()), type, body.size(),
                    extra, keeps_alive_ ? "" : "Connection: close\r\n", body));
    complete();
  }

  void begin_stream(std::string_view type) override {
    if (state_ != State::answers) return;
    put(fmt::format("HTTP/1.1 200 OK\r\nContent-Type: {}\r\nCache-Control: no-cache\r\n{}{}\r\n",
                    type, is_chunked_ ? "Transfer-Encoding: chunked\r\n" : "",
                    keeps_alive_ ? "" : "Connection: close\r\n"));
  }

  void write(std::string_view piece) override {
    if (state_ != State::answers) return;
    if (is_chunked_) {
      put(fmt::format("{:x}\r\n{}\r\n", piece.size(), piece));
    } else {
      put(piece);
    }
  }

  void end_stream(bool breaks_off) override {
    if (state_ != State::answers) return;
    if (breaks_off) {
      keeps_alive_ = false;
    } else if (is_chunked_) {
      put("0\r\n\r\n");
    }
    complete();
  }

 private:
  enum class State : std::uint8_t { reads, answers, lingers, closed };

  // --- a request comes ---

  void on_header(const Error& error) {
    if (error) return refuse(error);
    const auto& header = parser_->get();
    if (beast::iequals(header[http::field::expect], "100-continue")) {
      put("HTTP/1.1 100 Continue\r\n\r\n");
      if (state_ == State::closed) return;
    }
    http::async_read(stream_, buffer_, *parser_,
                     [self = shared_from_this()](const Error& failed, std::size_t) {
                       self->on_request(failed);
                     });
  }

  void on_request(const Error& error) {
    if (error) return refuse(error);
    auto& request = parser_->get();
    keeps_alive_ = request.keep_alive();
    is_chunked_ = request.version() >= 11;
    if (!is_chunked_) keeps_alive_ = false;
    stream_.expires_never();
    state_ = State::answers;
    const std::string target(request.target());
    HttpAsk ask{.method = std::string(request.method_string()),
                .path = target.substr(0, target.find('?')),
                .authorization = std::string(request[http::field::authorization]),
                .body = std::move(request.body())};
    parser_.reset();
    work_ = server_.work_of_(std::move(ask), *this);
    if (state_ == State::answers && !is_complete_) watch();
  }

  // What came is no request, or too long.
  void refuse(const Error& error) {
    const bool is_ours =
        error.category() == http::make_error_code(http::error::bad_version).category();
    if (state_ == State::closed) return;
    if (!is_ours || error == http::error::end_of_stream || error == http::error::partial_message) {
      return close();
    }
    keeps_alive_ = false;
    state_ = State::answers;
    parser_.reset();
    const int status = status_of(error);
    const std::string problem =
        status == kStatusTooLarge
            ? fmt::format("the body is longer than {} bytes", server_.options_.most_body_bytes)
            : "not a valid HTTP request: " + error.message();
    send(status, "application/json", error_json(status, problem), {});
  }

  // While an answer is made, only the end of the connection is of interest. Whoever sends the next
  // request early is not watched any more.
  void watch() {
    stream_.socket().async_wait(
        Tcp::socket::wait_read, [self = shared_from_this(), turn = turn_](const Error& error) {
          if (error || self->turn_ != turn || self->state_ != State::answers) return;
          Error failed;
          if (self->stream_.socket().available(failed) == 0 || failed) self->close();
        });
  }

  // --- its answer goes ---

  // Most of it fits into the socket at once.
  void put(std::string_view bytes) {
    if (state_ == State::closed) return;
    if (!writes_) {
      Error error;
      const std::size_t sent =
          stream_.socket().write_some(asio::buffer(bytes.data(), bytes.size()), error);
      if (error && error != asio::error::would_block) return close();
      bytes.remove_prefix(error ? 0 : sent);
      if (bytes.empty()) return;
    }
    if (!waiting_.empty() && waiting_.size() + bytes.size() > kMostUnreadBytes) return close();
    waiting_ += bytes;
    if (!writes_) write_waiting();
  }

  void write_waiting() {
    writes_ = true;
    in_flight_ = std::exchange(waiting_, {});
    stream_.expires_after(kWriteTime);
    asio::async_write(
        stream_, asio::buffer(in_flight_),
        [self = shared_from_this()](const Error& error, std::size_t) { self->on_written(error); });
  }

  void on_written(const Error& error) {
    writes_ = false;
    if (state_ == State::closed) return;
    if (error) return close();
    stream_.expires_never();
    if (!waiting_.empty()) return write_waiting();
    if (is_complete_) go_on();
  }

  void complete() {
    if (state_ == State::closed) return;
    is_complete_ = true;
    if (!writes_) asio::post(server_.io_, [self = shared_from_this()] { self->go_on(); });
  }

  // All is written.
  void go_on() {
    if (state_ != State::answers || !is_complete_ || writes_) return;
    is_complete_ = false;
    ++turn_;
    work_.reset();
    Error ignored;
    stream_.socket().cancel(ignored);  // the watch
    if (keeps_alive_ && !server_.stops_) return read();
    linger();
  }

  // A client that still sends would lose the answer if the connection were closed at once.
  void linger() {
    state_ = State::lingers;
    Error ignored;
    stream_.socket().shutdown(Tcp::socket::shutdown_send, ignored);
    stream_.expires_after(kLingerTime);
    discard();
  }
  void discard() {
    stream_.async_read_some(asio::buffer(discarded_),
                            [self = shared_from_this()](const Error& error, std::size_t) {
                              if (error) return self->close();
                              self->discard();
                            });
  }

  Implementation& server_;
  beast::tcp_stream stream_;
  beast::flat_buffer buffer_;
  std::optional<http::request_parser<http::string_body>> parser_;
  std::unique_ptr<HttpWork> work_;
  State state_ = State::reads;
  std::uint64_t turn_ = 0;  // requests answered
  bool keeps_alive_ = true;
  bool is_chunked_ = true;
  bool is_complete_ = false;
  bool writes_ = false;
  std::string waiting_;
  std::string in_flight_;
  std::array<char, 4096> discarded_{};
};

HttpServer::Implementation::Implementation(const HttpServerOptions& options, Begin begin)
    : options_(options), work_of_(std::move(begin)) {
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

HttpServer::Implementation::~Implementation() { close_all(); }

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
    socket.write_some(asio::buffer(kBusy.data(), kBusy.size()), ignored);
    return;
  }
  const auto connection = std::make_shared<Connection>(*this, std::move(socket));
  connections_.insert(connection);
  connection->read();
}

void HttpServer::Implementation::stop_accepting() {
  stops_ = true;
  Error ignored;
  acceptor_.close(ignored);
  const std::vector<std::shared_ptr<Connection>> all(connections_.begin(), connections_.end());
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
