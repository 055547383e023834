// Many streams of `headroom serve` at once, read with as little work as can be: says when the first
// and the last token of each answer came. tests/live/serve_load.py runs it.
//   headroom_serve_streams PORT STREAMS SECONDS
// Each stream sends its next request when it has its answer, for so many seconds. Prints a line for
// each answer: number, first and last token (ns of the monotonic clock), tokens, tokens asked for.
//
// After each look at the sockets it rests for kRestNs, so that tokens that come close together wake
// it once: else every one of them would cost the server an interrupt of the other processor.

#include <arpa/inet.h>
#include <fmt/format.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <charconv>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <string>
#include <string_view>
#include <vector>

namespace {

constexpr std::uint32_t kShortest =
    100;  // tokens of an answer; the longest has three times as many
constexpr long kRestNs = 300'000;

[[noreturn]] void fail(const char* what) {
  std::perror(what);
  std::exit(1);
}

std::int64_t now_ns() { return std::chrono::steady_clock::now().time_since_epoch().count(); }

std::string request_of(std::uint32_t tokens) {
  const std::string body = fmt::format(
      R"({{"prompt":[7,8,9,7,8,9,7,8],"max_tokens":{},"ignore_eos":true,"stream":true}})", tokens);
  return fmt::format("POST /v1/completions HTTP/1.1\r\nHost: x\r\nContent-Length: {}\r\n\r\n{}",
                     body.size(), body);
}

struct Stream {
  int socket = -1;
  std::uint32_t asked = 0;
  std::uint32_t wanted = 0;
  std::uint32_t tokens = 0;
  std::uint64_t number = 0;
  std::int64_t first_ns = 0;

  void ask(std::uint32_t seed) {
    wanted = kShortest + (seed * 7919 + asked++ * 104'729) % (2 * kShortest);
    tokens = 0;
    const std::string request = request_of(wanted);
    if (send(socket, request.data(), request.size(), 0) != std::ssize(request)) fail("send");
  }
  // Whether its answer is complete.
  bool take(std::string_view bytes, std::int64_t now) {
    constexpr std::string_view kToken = R"("text")";
    if (tokens == 0) {
      const std::size_t id = bytes.find("cmpl-");
      if (id != std::string_view::npos) {
        first_ns = now;
        std::from_chars(bytes.data() + id + 5, bytes.data() + id + 21, number, 16);
      }
    }
    for (std::size_t at = bytes.find(kToken); at != std::string_view::npos;
         at = bytes.find(kToken, at + kToken.size())) {
      ++tokens;
    }
    return bytes.find("[DONE]") != std::string_view::npos;
  }
};

int connected(std::uint16_t port) {
  const int socket = ::socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  if (socket < 0 || connect(socket, reinterpret_cast<sockaddr*>(&address), sizeof address) != 0) {
    fail("connect");
  }
  const int on = 1;
  setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  return socket;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 4) return 2;
  const auto port = static_cast<std::uint16_t>(std::atoi(argv[1]));
  std::vector<Stream> streams(static_cast<std::size_t>(std::atoi(argv[2])));
  const int events = epoll_create1(0);
  for (std::uint32_t i = 0; i < streams.size(); ++i) {
    streams[i].socket = connected(port);
    epoll_event wanted{.events = EPOLLIN, .data = {.u32 = i}};
    if (epoll_ctl(events, EPOLL_CTL_ADD, streams[i].socket, &wanted) != 0) fail("epoll_ctl");
  }
  const std::int64_t end_ns = now_ns() + std::atoll(argv[3]) * 1'000'000'000;
  for (std::uint32_t i = 0; i < streams.size(); ++i) streams[i].ask(i);
  std::vector<epoll_event> ready(512);
  std::vector<char> buffer(1 << 16);
  for (std::size_t open = streams.size(); open > 0;) {
    const int count = epoll_wait(events, ready.data(), static_cast<int>(ready.size()), 1000);
    for (int i = 0; i < count; ++i) {
      const std::uint32_t number = ready[static_cast<std::size_t>(i)].data.u32;
      Stream& stream = streams[number];
      const auto size = recv(stream.socket, buffer.data(), buffer.size(), 0);
      const std::int64_t now = now_ns();
      if (size <= 0) fail("recv");
      if (!stream.take({buffer.data(), static_cast<std::size_t>(size)}, now)) continue;
      std::printf("%llu %lld %lld %u %u\n", static_cast<unsigned long long>(stream.number),
                  static_cast<long long>(stream.first_ns), static_cast<long long>(now),
                  stream.tokens, stream.wanted);
      if (now < end_ns) {
        stream.ask(number);
      } else {
        close(stream.socket);
        --open;
      }
    }
    const timespec rest{.tv_sec = 0, .tv_nsec = kRestNs};
    if (count < std::ssize(ready)) nanosleep(&rest, nullptr);
  }
}
