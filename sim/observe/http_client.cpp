#include "sim/observe/http_client.hpp"

#include <fmt/format.h>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/ssl.hpp>
#include <boost/beast/core.hpp>
#include <boost/beast/http.hpp>
#include <boost/beast/ssl.hpp>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <list>
#include <optional>
#include <utility>
#include <vector>

#include "sim/kernel/errors.hpp"

namespace headroom {
namespace {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = boost::beast::http;
using Tcp = asio::ip::tcp;
using Error = beast::error_code;
using Clock = std::chrono::steady_clock;
using TlsStream = beast::ssl_stream<beast::tcp_stream>;
using Handler = void(Error);

constexpr std::size_t kMostBytesRead = std::size_t{64} << 10;  // at a time
constexpr std::uint32_t kMostHeaderBytes = 16 << 10;
constexpr std::uint64_t kMostResponseBytes = std::uint64_t{256} << 20;
constexpr std::size_t kMostFetchedBytes = std::size_t{16} << 20;
constexpr std::size_t kMostKeptBytes = std::size_t{64} << 10;

// Where distributions keep the certificates that they trust, in the order in which Go looks
// (crypto/x509/root_linux.go).
constexpr std::array kCertificateFiles = {
    "/etc/ssl/certs/ca-certificates.crt",                 // Debian, Arch, Alpine, distroless
    "/etc/pki/tls/certs/ca-bundle.crt",                   // Fedora
    "/etc/ssl/ca-bundle.pem",                             // openSUSE
    "/etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem",  // RHEL
    "/etc/ssl/cert.pem",
};

// A static program and a wheel bring an OpenSSL along that knows the folders of the distribution it
// was built for. Where those do not exist and nothing else is asked for, this looks elsewhere.
void trust_certificates_of_machine(asio::ssl::context& tls) {
  tls.set_default_verify_paths();
  if (std::getenv(X509_get_default_cert_file_env()) != nullptr ||
      std::getenv(X509_get_default_cert_dir_env()) != nullptr) {
    return;
  }
  const auto exists = [](const char* path) {
    std::error_code error;
    return std::filesystem::exists(path, error);
  };
  if (exists(X509_get_default_cert_file()) || exists(X509_get_default_cert_dir())) return;
  const auto* const file = std::ranges::find_if(kCertificateFiles, exists);
  if (file != kCertificateFiles.end()) tls.load_verify_file(*file);
}

std::string text_of(const Error& error) {
  if (error == http::error::end_of_stream || error == http::error::partial_message ||
      error == asio::error::eof || error == asio::ssl::error::stream_truncated) {
    return "the server closed the connection before the answer was complete";
  }
  if (error == asio::error::connection_reset || error == asio::error::broken_pipe) {
    return "the server broke the connection off";
  }
  if (error == http::error::body_limit) {
    return fmt::format("the answer is longer than {} MiB", kMostResponseBytes >> 20);
  }
  if (error == http::error::header_limit) {
    return fmt::format("the header of the answer is longer than {} KiB", kMostHeaderBytes >> 10);
  }
  if (error.category() == asio::error::get_ssl_category()) {
    return "TLS: " + error.message();
  }
  if (error.category() == http::make_error_code(http::error::bad_version).category()) {
    return "not an HTTP answer: " + error.message();
  }
  return error.message();
}

// A connection, with TLS or without.
class Connection {
 public:
  Connection(asio::io_context& io, asio::ssl::context* tls) {
    if (tls != nullptr) {
      secure_.emplace(io, *tls);
    } else {
      plain_.emplace(io);
    }
  }
  template <typename Use>
  void with_stream(Use use) {
    if (secure_) {
      use(*secure_);
    } else {
      use(*plain_);
    }
  }
  [[nodiscard]] beast::tcp_stream& tcp() { return secure_ ? secure_->next_layer() : *plain_; }
  [[nodiscard]] TlsStream* secure() { return secure_ ? &*secure_ : nullptr; }

 private:
  std::optional<beast::tcp_stream> plain_;
  std::optional<TlsStream> secure_;
};

}  // namespace

class HttpClient::Implementation {
 public:
  Implementation(ServerUrl server, bool remote, const std::string& key);
  ~Implementation() { cancel_all(); }

  [[nodiscard]] TimeNs now_ns() const {
    return std::chrono::duration_cast<std::chrono::nanoseconds>(Clock::now() - begin_).count();
  }
  void start(HttpCall call);
  void wait_until(TimeNs until_ns) {
    io_.run_one_until(begin_ + std::chrono::nanoseconds(std::min(until_ns, kLongestWait)));
  }
  [[nodiscard]] std::size_t in_flight() const { return exchanges_.size(); }
  void cancel_all();

 private:
  class Exchange;
  static constexpr TimeNs kLongestWait = TimeNs{1} << 60;

  void resolve(bool remote, bool has_key);
  [[nodiscard]] std::unique_ptr<Connection> idle_connection();

  ServerUrl server_;
  std::string authorization_;
  asio::io_context io_{1};
  asio::executor_work_guard<asio::io_context::executor_type> work_{io_.get_executor()};
  std::optional<asio::ssl::context> tls_;
  std::vector<Tcp::endpoint> endpoints_;
  std::vector<std::unique_ptr<Connection>> idle_;
  std::list<std::shared_ptr<Exchange>> exchanges_;
  bool cancelling_ = false;
  Clock::time_point begin_ = Clock::now();
};

// One call: connect, write, read the header, read the body.
class HttpClient::Implementation::Exchange : public std::enable_shared_from_this<Exchange> {
 public:
  Exchange(Implementation& client, HttpCall call) : client_(client), call_(std::move(call)) {
    request_.method(call_.body.empty() ? http::verb::get : http::verb::post);
    request_.target(client_.server_.path + call_.path);
    request_.version(11);
    request_.set(http::field::host, client_.server_.authority());
    request_.set(http::field::user_agent, "headroom");
    request_.set(http::field::accept, "*/*");
    if (!client_.authorization_.empty()) {
      request_.set(http::field::authorization, client_.authorization_);
    }
    if (!call_.body.empty()) request_.set(http::field::content_type, "application/json");
    request_.body() = std::move(call_.body);
    request_.prepare_payload();
    deadline_ = Clock::now() + std::chrono::nanoseconds(call_.timeout_ns);
  }

  void begin() {
    connection_ = client_.idle_connection();
    is_reused_ = connection_ != nullptr;
    if (is_reused_) {
      connection_->tcp().expires_at(deadline_);
      write();
    } else {
      connect();
    }
  }
  void cancel() {
    Error ignored;
    connection_->tcp().socket().close(ignored);
  }
  std::list<std::shared_ptr<Exchange>>::iterator place;

 private:
  // The next step, if this one went well.
  template <typename Next>
  auto then(Next next) {
    return [self = this->shared_from_this(), next](const Error& error, auto&&...) {
      if (error) {
        self->fail(error);
      } else {
        next(*self);
      }
    };
  }

  void connect() {
    is_reused_ = false;
    connection_ =
        std::make_unique<Connection>(client_.io_, client_.tls_ ? &*client_.tls_ : nullptr);
    connection_->tcp().expires_at(deadline_);
    connection_->tcp().async_connect(client_.endpoints_,
                                     then([](Exchange& own) { own.connected(); }));
  }

  void connected() {
    Error ignored;
    connection_->tcp().socket().set_option(Tcp::no_delay(true), ignored);
    TlsStream* secure = connection_->secure();
    if (secure == nullptr) return write();
    const std::string& host = client_.server_.host;
    Error not_an_address;
    (void)asio::ip::make_address(host, not_an_address);
    // Names alone: an address has no place in the handshake (RFC 6066, 3).
    if (not_an_address) SSL_set_tlsext_host_name(secure->native_handle(), host.c_str());
    secure->set_verify_callback(asio::ssl::host_name_verification(host));
    secure->async_handshake(asio::ssl::stream_base::client,
                            then([](Exchange& own) { own.write(); }));
  }

  void write() {
    connection_->with_stream([this](auto& stream) {
      http::async_write(stream, request_, then([](Exchange& own) { own.read_header(); }));
    });
  }

  void read_header() {
    parser_.emplace();
    parser_->header_limit(kMostHeaderBytes);
    parser_->body_limit(kMostResponseBytes);
    connection_->with_stream([this](auto& stream) {
      http::async_read_header(stream, buffer_, *parser_, then([](Exchange& own) {
                                own.end_.status = static_cast<int>(own.parser_->get().result_int());
                                // What has come is handed on at once: an eager parser would wait
                                // until the piece is full.
                                own.parser_->eager(false);
                                own.read_body();
                              }));
    });
  }

  void read_body() {
    if (parser_->is_done()) return finish();
    parser_->get().body().data = piece_.data();
    parser_->get().body().size = piece_.size();
    parser_->get().body().more = true;
    connection_->with_stream([this](auto& stream) {
      http::async_read_some(stream, buffer_, *parser_,
                            [self = this->shared_from_this()](Error error, std::size_t) {
                              self->on_body(error == http::error::need_buffer ? Error{} : error);
                            });
    });
  }

  void on_body(const Error& error) {
    const std::size_t size = piece_.size() - parser_->get().body().size;
    const std::string_view bytes(piece_.data(), size);
    if (!bytes.empty() && !client_.cancelling_ && !take(bytes)) return break_off();
    if (error) {
      fail(error);
    } else {
      read_body();
    }
  }

  // False: no more is wanted.
  bool take(std::string_view bytes) {
    if (end_.status == kHttpOk) return !call_.on_bytes || call_.on_bytes(bytes, client_.now_ns());
    end_.body += bytes.substr(0, kMostKeptBytes - std::min(kMostKeptBytes, end_.body.size()));
    return true;
  }

  void break_off() {
    end_.problem = "the answer was not read to its end";
    leave();
  }

  // A server may close a connection that was idle at the moment it is used again.
  [[nodiscard]] bool was_closed_while_idle(const Error& error) const {
    return is_reused_ && end_.status == 0 && error != beast::error::timeout && !client_.cancelling_;
  }

  void fail(const Error& error) {
    if (was_closed_while_idle(error)) {
      buffer_.clear();
      return connect();
    }
    end_.timed_out = error == beast::error::timeout;
    end_.is_cancelled = client_.cancelling_;
    end_.problem = end_.timed_out ? fmt::format("no complete answer within {:g} s",
                                                static_cast<double>(call_.timeout_ns) * 1e-9)
                                  : text_of(error);
    leave();
  }

  void finish() {
    if (parser_->get().keep_alive() && !client_.cancelling_) {
      connection_->tcp().expires_never();
      client_.idle_.push_back(std::move(connection_));
    }
    leave();
  }

  void leave() {
    const auto self = this->shared_from_this();
    client_.exchanges_.erase(place);
    if (call_.on_end) call_.on_end(end_, client_.now_ns());
  }

  Implementation& client_;
  HttpCall call_;
  http::request<http::string_body> request_;
  Clock::time_point deadline_;
  std::unique_ptr<Connection> connection_;
  bool is_reused_ = false;
  beast::flat_buffer buffer_;
  std::optional<http::response_parser<http::buffer_body>> parser_;
  std::array<char, kMostBytesRead> piece_{};
  HttpEnd end_;
};

HttpClient::Implementation::Implementation(ServerUrl server, bool remote, const std::string& key)
    : server_(std::move(server)) {
  if (!key.empty()) authorization_ = "Bearer " + key;
  resolve(remote, !key.empty());
  if (!server_.tls) return;
  tls_.emplace(asio::ssl::context::tls_client);
  trust_certificates_of_machine(*tls_);
  tls_->set_verify_mode(asio::ssl::verify_peer);
}

void HttpClient::Implementation::resolve(bool remote, bool has_key) {
  Error error;
  const auto found = Tcp::resolver(io_).resolve(server_.host, server_.port, error);
  if (error) {
    throw ConfigError(Complaint{.kind = ErrorKind::unreadable,
                                .origin = "URL",
                                .value = server_.host,
                                .problem = "no address: " + error.message()});
  }
  bool all_loopback = true;
  for (const auto& entry : found) {
    endpoints_.push_back(entry.endpoint());
    all_loopback &= entry.endpoint().address().is_loopback();
  }
  if (all_loopback) return;
  if (!remote) {
    throw ConfigError(
        Complaint{.origin = "URL",
                  .value = server_.host,
                  .problem = "not this machine: add --remote if the server may be loaded, and is "
                             "yours to load"});
  }
  if (has_key && !server_.tls) {
    throw ConfigError(Complaint{.origin = "--api-key-env",
                                .problem = "the key would cross the network in the open: use "
                                           "https://"});
  }
}

std::unique_ptr<Connection> HttpClient::Implementation::idle_connection() {
  if (idle_.empty()) return nullptr;
  std::unique_ptr<Connection> connection = std::move(idle_.back());
  idle_.pop_back();
  return connection;
}

void HttpClient::Implementation::start(HttpCall call) {
  const auto exchange = std::make_shared<Exchange>(*this, std::move(call));
  exchange->place = exchanges_.insert(exchanges_.end(), exchange);
  exchange->begin();
}

void HttpClient::Implementation::cancel_all() {
  cancelling_ = true;
  const auto all = exchanges_;
  for (const std::shared_ptr<Exchange>& exchange : all) exchange->cancel();
  while (!exchanges_.empty()) io_.run_one();
  cancelling_ = false;
}

HttpClient::HttpClient(const ServerUrl& server, bool remote, const std::string& key,
                       const std::atomic<bool>* stop)
    : stop_(stop), implementation_(std::make_unique<Implementation>(server, remote, key)) {}
HttpClient::~HttpClient() = default;

TimeNs HttpClient::now_ns() const { return implementation_->now_ns(); }
void HttpClient::start(HttpCall call) { implementation_->start(std::move(call)); }
void HttpClient::wait_until(TimeNs until_ns) { implementation_->wait_until(until_ns); }
bool HttpClient::is_stopped() const { return stop_ != nullptr && *stop_; }
void HttpClient::wait_for(const std::function<bool()>& done) {
  constexpr TimeNs kLookAtStop = 100 * kNsPerMs;
  while (!done()) {
    wait_until(now_ns() + kLookAtStop);
    if (is_stopped()) cancel_all();
  }
}
std::size_t HttpClient::in_flight() const { return implementation_->in_flight(); }
void HttpClient::cancel_all() { implementation_->cancel_all(); }

HttpEnd fetch(HttpClient& client, HttpCall call) {
  std::string body;
  std::optional<HttpEnd> ended;
  call.on_bytes = [&body](std::string_view bytes, TimeNs) {
    body += bytes;
    return body.size() < kMostFetchedBytes;
  };
  call.on_end = [&ended](const HttpEnd& end, TimeNs) { ended = end; };
  client.start(std::move(call));
  client.wait_for([&ended] { return ended.has_value(); });
  if (ended->body.empty()) ended->body = std::move(body);
  return *ended;
}

}  // namespace headroom
