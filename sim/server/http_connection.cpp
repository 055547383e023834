#include "sim/server/http_connection.hpp"

#include <fmt/format.h>
#include <boost/asio/post.hpp>
#include <boost/asio/write.hpp>
#include <boost/beast/core.hpp>
#include <boost/beast/http.hpp>

#include <chrono>
#include <iterator>
#include <utility>

#include "sim/server/api_answer.hpp"
#include "sim/server/http_status.hpp"

namespace headroom {
namespace {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = boost::beast::http;
using Tcp = asio::ip::tcp;

constexpr std::uint32_t kMostHeaderBytes = 16 << 10;
constexpr std::size_t kMostUnreadBytes = std::size_t{4} << 20;
constexpr std::size_t kMostKeptBytes = std::size_t{64} << 10;  // of an empty buffer
constexpr std::size_t kMostEarlyBytes = 4096;
constexpr std::chrono::seconds kRequestTime{60};  // from the answer before to the whole request
constexpr std::chrono::seconds kWriteTime{30};
constexpr std::chrono::seconds kLingerTime{2};

int status_of(const HttpConnection::Error& error) {
  if (error == http::error::body_limit) return kStatusTooLarge;
  if (error == http::error::header_limit) return kStatusHeaderTooLarge;
  return kStatusBadRequest;
}

}  // namespace

HttpConnection::HttpConnection(ConnectionOwner& owner, Socket socket, asio::ssl::context* tls)
    : owner_(owner), stream_(std::move(socket)) {
  if (tls != nullptr) tls_.emplace(stream_, *tls);
}

void HttpConnection::start() {
  if (!tls_) return read();
  stream_.expires_after(kRequestTime);
  tls_->async_handshake(asio::ssl::stream_base::server,
                        [self = shared_from_this()](const Error& error) {
                          if (self->state_ == State::closed) return;
                          if (error) return self->close();
                          self->read();
                        });
}

void HttpConnection::close() {
  if (state_ == State::closed) return;
  state_ = State::closed;
  Error ignored;
  stream_.socket().close(ignored);
  // Whoever works on the answer may be the one who has found out.
  asio::post(stream_.get_executor(), [self = shared_from_this()] {
    self->work_.reset();
    self->owner_.forget(self);
  });
}

void HttpConnection::abandon() {
  state_ = State::closed;
  work_.reset();
  Error ignored;
  stream_.socket().close(ignored);
}

// --- a request comes ----------------------------------------------------------------------------

void HttpConnection::read() {
  state_ = State::reads;
  parser_.emplace();
  parser_->header_limit(kMostHeaderBytes);
  parser_->body_limit(owner_.most_body_bytes());
  stream_.expires_after(kRequestTime);
  on_stream([this](auto& stream) {
    http::async_read_header(
        stream, buffer_, *parser_,
        [self = shared_from_this()](const Error& error, std::size_t) { self->on_header(error); });
  });
}

void HttpConnection::on_header(const Error& error) {
  if (error) return refuse(error);
  const auto& header = parser_->get();
  if (beast::iequals(header[http::field::expect], "100-continue")) {
    put("HTTP/1.1 100 Continue\r\n\r\n");
    flush();
    if (state_ == State::closed) return;
  }
  on_stream([this](auto& stream) {
    http::async_read(stream, buffer_, *parser_,
                     [self = shared_from_this()](const Error& failed, std::size_t) {
                       self->on_request(failed);
                     });
  });
}

void HttpConnection::on_request(const Error& error) {
  if (error) return refuse(error);
  auto& request = parser_->get();
  keeps_alive_ = request.keep_alive();
  is_chunked_ = request.version() >= 11;
  if (!is_chunked_) keeps_alive_ = false;
  stream_.expires_never();
  state_ = State::answers;
  const std::string target(request.target());
  const std::size_t query = target.find('?');
  HttpAsk ask{.method = std::string(request.method_string()),
              .path = target.substr(0, query),
              .query = query == std::string::npos ? "" : target.substr(query + 1),
              .authorization = std::string(request[http::field::authorization]),
              .body = std::move(request.body())};
  parser_.reset();
  work_ = owner_.work_of(std::move(ask), *this);
  if (state_ == State::answers && !is_complete_) watch();
}

// What came is no request, or too long.
void HttpConnection::refuse(const Error& error) {
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
          ? fmt::format("the body is longer than {} bytes", owner_.most_body_bytes())
          : "not a valid HTTP request: " + error.message();
  send(status, "application/json", error_json(status, problem), {});
}

// While an answer is made, only the end of the connection is of interest. Whoever sends the next
// request early is not watched any more.
void HttpConnection::watch() {
  if (tls_) return watch_tls();
  stream_.socket().async_wait(Tcp::socket::wait_read,
                              [self = shared_from_this(), turn = turn_](const Error& error) {
                                if (error || self->turn_ != turn || self->state_ != State::answers)
                                  return;
                                Error failed;
                                if (self->stream_.socket().available(failed) == 0 || failed)
                                  self->close();
                              });
}

// An end that is encrypted can only be seen by reading; what comes instead is the next request.
void HttpConnection::watch_tls() {
  is_watched_ = true;
  tls_->async_read_some(buffer_.prepare(kMostEarlyBytes),
                        [self = shared_from_this()](const Error& error, std::size_t bytes) {
                          self->on_early(error, bytes);
                        });
}

void HttpConnection::on_early(const Error& error, std::size_t bytes) {
  is_watched_ = false;
  if (state_ == State::closed) return;
  buffer_.commit(bytes);
  const bool was_stopped = error == asio::error::operation_aborted && reads_next_;
  if (error && !was_stopped) return close();
  if (std::exchange(reads_next_, false)) read_next();
}

// --- its answer goes ----------------------------------------------------------------------------

void HttpConnection::send(int status, std::string_view type, std::string_view body,
                          std::string_view extra) {
  if (state_ != State::answers) return;
  const auto reason = http::obsolete_reason(http::int_to_status(static_cast<unsigned>(status)));
  put(fmt::format("HTTP/1.1 {} {}\r\nContent-Type: {}\r\nContent-Length: {}\r\n{}{}\r\n{}", status,
                  std::string_view(reason.data(), reason.size()), type, body.size(), extra,
                  keeps_alive_ ? "" : "Connection: close\r\n", body));
  complete();
}

void HttpConnection::begin_stream(std::string_view type) {
  if (state_ != State::answers) return;
  put(fmt::format("HTTP/1.1 200 OK\r\nContent-Type: {}\r\nCache-Control: no-cache\r\n{}{}\r\n",
                  type, is_chunked_ ? "Transfer-Encoding: chunked\r\n" : "",
                  keeps_alive_ ? "" : "Connection: close\r\n"));
}

void HttpConnection::write(std::string_view piece) {
  if (state_ != State::answers) return;
  if (!is_chunked_) return put(piece);
  fmt::format_to(std::back_inserter(waiting_), "{:x}\r\n", piece.size());
  waiting_ += piece;
  put("\r\n");
}

void HttpConnection::end_stream(bool breaks_off) {
  if (state_ != State::answers) return;
  breaks_off_ = breaks_off;
  if (breaks_off) {
    keeps_alive_ = false;
  } else if (is_chunked_) {
    put("0\r\n\r\n");
  }
  complete();
}

void HttpConnection::put(std::string_view bytes) {
  if (state_ == State::closed) return;
  waiting_ += bytes;
  if (writes_ && waiting_.size() > kMostUnreadBytes && waiting_.size() > bytes.size()) close();
}

// Most of it fits into the socket at once.
void HttpConnection::flush() {
  if (state_ == State::closed || writes_ || waiting_.empty()) return;
  if (!tls_) {
    Error error;
    const std::size_t sent = stream_.socket().write_some(asio::buffer(waiting_), error);
    if (error && error != asio::error::would_block) return close();
    waiting_.erase(0, error ? 0 : sent);
    if (waiting_.capacity() > kMostKeptBytes && waiting_.empty()) waiting_ = {};
    if (waiting_.empty()) return;
  }
  write_waiting();
}

void HttpConnection::write_waiting() {
  writes_ = true;
  in_flight_.swap(waiting_);
  waiting_.clear();
  stream_.expires_after(kWriteTime);
  on_stream([this](auto& stream) {
    asio::async_write(
        stream, asio::buffer(in_flight_),
        [self = shared_from_this()](const Error& error, std::size_t) { self->on_written(error); });
  });
}

void HttpConnection::on_written(const Error& error) {
  writes_ = false;
  if (state_ == State::closed) return;
  if (error) return close();
  if (in_flight_.capacity() > kMostKeptBytes) in_flight_ = {};
  stream_.expires_never();
  if (!waiting_.empty()) return write_waiting();
  if (is_complete_) go_on();
}

void HttpConnection::complete() {
  flush();
  if (state_ == State::closed) return;
  is_complete_ = true;
  if (!writes_) {
    asio::post(stream_.get_executor(), [self = shared_from_this()] { self->go_on(); });
  }
}

// All is written.
void HttpConnection::go_on() {
  if (state_ != State::answers || !is_complete_ || writes_) return;
  is_complete_ = false;
  ++turn_;
  work_.reset();
  reads_next_ = is_watched_;
  Error ignored;
  stream_.socket().cancel(ignored);  // the watch
  if (!reads_next_) read_next();
}

void HttpConnection::read_next() {
  if (keeps_alive_ && owner_.takes_more()) return read();
  linger();
}

// A client that still sends would lose the answer if the connection were closed at once.
void HttpConnection::linger() {
  state_ = State::lingers;
  stream_.expires_after(kLingerTime);
  if (tls_ && !breaks_off_) {
    // Its close_notify says that the answer is complete.
    return tls_->async_shutdown([self = shared_from_this()](const Error&) { self->close(); });
  }
  Error ignored;
  stream_.socket().shutdown(Tcp::socket::shutdown_send, ignored);
  discard();
}

void HttpConnection::discard() {
  stream_.async_read_some(asio::buffer(discarded_),
                          [self = shared_from_this()](const Error& error, std::size_t) {
                            if (error) return self->close();
                            self->discard();
                          });
}

}  // namespace headroom
