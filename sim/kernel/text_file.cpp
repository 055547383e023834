#include "sim/kernel/text_file.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>
#include <vector>

#include "sim/kernel/errors.hpp"
#include "sim/kernel/file_roles.hpp"

namespace headroom {
namespace {

constexpr std::size_t kOneRead = std::size_t{1} << 16;

class Descriptor {
 public:
  explicit Descriptor(const char* path) : number_(::open(path, O_RDONLY | O_CLOEXEC)) {}
  ~Descriptor() {
    if (number_ >= 0) ::close(number_);
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  [[nodiscard]] int number() const { return number_; }

 private:
  int number_;
};

// Why a file of this kind is not read; empty when it is.
std::string_view refused_kind(mode_t mode) {
  if (S_ISREG(mode) || S_ISFIFO(mode)) return {};
  if (S_ISDIR(mode)) return "Is a directory";
  return "a device or socket: expected a file or a pipe";
}

// Bytes of a character by its first byte; 0 for a byte that begins none.
std::size_t utf8_length(unsigned char first) {
  if (first < 0x80) return 1;
  if (first >= 0xC2 && first <= 0xDF) return 2;
  if (first >= 0xE0 && first <= 0xEF) return 3;
  if (first >= 0xF0 && first <= 0xF4) return 4;
  return 0;
}

// The second byte's range excludes what has a shorter form, surrogates, and what is beyond
// U+10FFFF (The Unicode Standard, table 3-7).
bool is_second_byte(unsigned char first, unsigned char second) {
  const int low = first == 0xE0 ? 0xA0 : first == 0xF0 ? 0x90 : 0x80;
  const int high = first == 0xED ? 0x9F : first == 0xF4 ? 0x8F : 0xBF;
  return second >= low && second <= high;
}

void check_utf8(std::string_view text, const std::string& name) {
  const std::size_t end = utf8_end(text);
  if (end == text.size()) return;
  const auto begin = text.begin();
  const auto line = 1 + std::count(begin, begin + static_cast<std::ptrdiff_t>(end), '\n');
  throw ConfigError(fmt::format("{}:{}: byte 0x{:02x} is not UTF-8: expected text in UTF-8", name,
                                line, static_cast<unsigned char>(text[end])));
}

}  // namespace

std::size_t utf8_end(std::string_view text) {
  const auto byte = [&](std::size_t at) { return static_cast<unsigned char>(text[at]); };
  std::size_t at = 0;
  while (at < text.size()) {
    const std::size_t length = utf8_length(byte(at));
    if (length == 0 || length > text.size() - at) return at;
    if (length > 1 && !is_second_byte(byte(at), byte(at + 1))) return at;
    for (std::size_t i = 2; i < length; ++i) {
      if ((byte(at + i) & 0xC0) != 0x80) return at;
    }
    at += length;
  }
  return at;
}

std::string read_text_file(const std::filesystem::path& path, std::size_t most_bytes) {
  const std::string name = path.string();
  const auto refuse = [&](std::string_view why) {
    return ConfigError(Complaint{.kind = ErrorKind::unreadable,
                                 .origin = name,
                                 .problem = fmt::format("cannot read: {}", why)});
  };
  note_input(name);
  const Descriptor file(name.c_str());
  struct stat status {};
  if (file.number() < 0 || ::fstat(file.number(), &status) != 0) {
    throw refuse(std::strerror(errno));
  }
  if (const std::string_view why = refused_kind(status.st_mode); !why.empty()) throw refuse(why);
  std::string text;
  std::vector<char> buffer(kOneRead);
  while (true) {
    const ssize_t got = ::read(file.number(), buffer.data(), buffer.size());
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) throw refuse(std::strerror(errno));
    if (got == 0) break;
    text.append(buffer.data(), static_cast<std::size_t>(got));
    if (text.size() > most_bytes) {
      throw refuse(fmt::format("larger than {} MiB", most_bytes >> 20));
    }
  }
  if (text.starts_with("version https://git-lfs")) {
    throw refuse("a git-lfs pointer, not the file itself (run `git lfs pull`)");
  }
  check_utf8(text, name);
  return text;
}

std::istringstream open_text_file(const std::filesystem::path& path) {
  return std::istringstream(read_text_file(path, kMostDataBytes));
}

}  // namespace headroom
