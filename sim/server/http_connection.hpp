#pragma once
// One client of HttpServer. It is read from until a request is complete, then written to until its
// answer is. Includes Boost.Beast: for http_server.cpp and http_connection.cpp alone.

#include <array>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/ssl/context.hpp>
#include <boost/asio/ssl/stream.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/core/tcp_stream.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/string_body.hpp>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "sim/server/http_server.hpp"

namespace headroom {

class HttpConnection;

// What all connections share.
class ConnectionOwner {
 public:
  virtual ~ConnectionOwner() = default;
  [[nodiscard]] virtual std::unique_ptr<HttpWork> work_of(HttpAsk ask, HttpReply& reply) = 0;
  [[nodiscard]] virtual std::uint64_t most_body_bytes() const = 0;
  [[nodiscard]] virtual bool takes_more() const = 0;  // requests of clients that are there
  virtual void forget(const std::shared_ptr<HttpConnection>& closed) = 0;
};

class HttpConnection final : public HttpReply, public std::enable_shared_from_this<HttpConnection> {
 public:
  using Error = boost::beast::error_code;
  using Socket = boost::asio::ip::tcp::socket;

  // `tls`: nullptr for plain HTTP. Both outlive this object.
  HttpConnection(ConnectionOwner& owner, Socket socket, boost::asio::ssl::context* tls);

  void start();
  // Waits for a request, or reads one: nobody works on anything.
  [[nodiscard]] bool is_idle() const { return state_ == State::reads; }
  void close();
  // Of a server that goes: nothing is called back any more.
  void abandon();

  void send(int status, std::string_view type, std::string_view body,
            std::string_view extra) override;
  void begin_stream(std::string_view type) override;
  void write(std::string_view piece) override;
  void flush() override;
  void end_stream(bool breaks_off) override;

 private:
  enum class State : std::uint8_t { reads, answers, lingers, closed };

  template <class Use>
  void on_stream(const Use& use) {
    if (tls_) {
      use(*tls_);
    } else {
      use(stream_);
    }
  }

  void read();
  void on_header(const Error& error);
  void on_request(const Error& error);
  void refuse(const Error& error);
  void watch();
  void watch_tls();
  void on_early(const Error& error, std::size_t bytes);

  void put(std::string_view bytes);
  void write_waiting();
  void on_written(const Error& error);
  void complete();
  void go_on();
  void read_next();
  void linger();
  void discard();

  ConnectionOwner& owner_;
  boost::beast::tcp_stream stream_;
  std::optional<boost::asio::ssl::stream<boost::beast::tcp_stream&>> tls_;
  boost::beast::flat_buffer buffer_;
  std::optional<boost::beast::http::request_parser<boost::beast::http::string_body>> parser_;
  std::unique_ptr<HttpWork> work_;
  State state_ = State::reads;
  std::uint64_t turn_ = 0;  // requests answered
  bool keeps_alive_ = true;
  bool is_chunked_ = true;
  bool is_complete_ = false;
  bool breaks_off_ = false;
  bool is_watched_ = false;  // by a read, with TLS
  bool reads_next_ = false;  // when that read has ended
  bool writes_ = false;
  std::string waiting_;  // to be sent
  std::string in_flight_;
  std::array<char, 4096> discarded_{};
};

}  // namespace headroom
