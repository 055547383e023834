#include "workloads/traces/input_file.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <vector>

#include "sim/kernel/check.hpp"
#include "sim/kernel/digest.hpp"
#include "sim/kernel/errors.hpp"
#include "sim/kernel/file_roles.hpp"

namespace headroom {
namespace {

constexpr std::string_view kGzipMagic = "\x1f\x8b";
constexpr int kGzipOnly = 16 + MAX_WBITS;  // zlib.h: decode only the gzip format

std::int64_t modification_ns(const struct stat& status) {
  return std::int64_t{status.st_mtim.tv_sec} * 1'000'000'000 + status.st_mtim.tv_nsec;
}

}  // namespace

// One or more gzip members, one after the other.
class InputFile::Inflater {
 public:
  explicit Inflater(InputFile& file) : file_(file), raw_(kReadBytes) {
    HEADROOM_CHECK(inflateInit2(&stream_, kGzipOnly) == Z_OK, "zlib cannot be set up");
  }
  ~Inflater() { inflateEnd(&stream_); }
  Inflater(const Inflater&) = delete;
  Inflater& operator=(const Inflater&) = delete;

  std::size_t read(char* into, std::size_t bytes) {
    stream_.next_out = reinterpret_cast<Bytef*>(into);
    stream_.avail_out = static_cast<uInt>(bytes);
    while (stream_.avail_out == bytes) {
      if (stream_.avail_in == 0 && !refill()) break;
      const int status = inflate(&stream_, Z_NO_FLUSH);
      inside_member_ = status == Z_OK || status == Z_BUF_ERROR;
      if (status == Z_STREAM_END) {
        inflateReset(&stream_);
      } else if (!inside_member_) {
        refuse(stream_.msg == nullptr ? "wrong format" : stream_.msg);
      }
    }
    return bytes - stream_.avail_out;
  }

 private:
  bool refill() {
    const std::size_t got = file_.read_start_or_raw(raw_.data(), raw_.size());
    if (got == 0 && inside_member_) refuse("it ends too early");
    stream_.next_in = reinterpret_cast<Bytef*>(raw_.data());
    stream_.avail_in = static_cast<uInt>(got);
    return got != 0;
  }
  [[noreturn]] void refuse(std::string_view why) const {
    throw DataError(fmt::format("{}: damaged gzip file ({})", file_.path(), why));
  }

  InputFile& file_;
  std::vector<char> raw_;
  z_stream stream_{};
  bool inside_member_ = true;  // an empty file is no gzip file
};

InputFile::InputFile(const std::string& path) : path_(path) {
  note_input(path);
  descriptor_ = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (descriptor_ < 0) {
    throw DataError(fmt::format("{}: cannot be opened ({})", path, std::strerror(errno)));
  }
  try {
    static_cast<void>(state());  // a directory is refused before anything is read
    // A pipe may deliver the two bytes one by one.
    while (start_.size() < kGzipMagic.size()) {
      char byte = 0;
      if (read_raw(&byte, 1) == 0) break;
      start_ += byte;
    }
  } catch (...) {
    ::close(descriptor_);
    throw;
  }
  if (start_ == kGzipMagic) inflater_ = std::make_unique<Inflater>(*this);
}

InputFile::~InputFile() { ::close(descriptor_); }

InputFile::State InputFile::state() const {
  struct stat status {};
  if (::fstat(descriptor_, &status) != 0) {
    throw DataError(fmt::format("{}: cannot be examined ({})", path_, std::strerror(errno)));
  }
  if (S_ISDIR(status.st_mode)) {
    throw DataError(fmt::format("{}: is a directory, not a file", path_));
  }
  if (!S_ISREG(status.st_mode)) return {};
  return {.is_regular = true, .bytes = status.st_size, .modified_ns = modification_ns(status)};
}

std::size_t InputFile::read(char* into, std::size_t bytes) {
  return inflater_ ? inflater_->read(into, bytes) : read_start_or_raw(into, bytes);
}

std::size_t InputFile::read_start_or_raw(char* into, std::size_t bytes) {
  const std::size_t count = std::min(bytes, start_.size());
  if (count == 0) return read_raw(into, bytes);
  std::memcpy(into, start_.data(), count);
  start_.erase(0, count);
  return count;
}

std::size_t InputFile::read_raw(char* into, std::size_t bytes) {
  while (true) {
    const ssize_t got = ::read(descriptor_, into, bytes);
    if (got >= 0) return static_cast<std::size_t>(got);
    if (errno == EINTR) continue;
    throw DataError(fmt::format("{}: cannot be read ({})", path_, std::strerror(errno)));
  }
}

std::string content_sha256(const std::string& path, const InputFile::State& state) {
  InputFile file(path);
  Sha256 hash;
  std::vector<char> buffer(kReadBytes);
  const InputFile::State before = file.state();
  while (const std::size_t got = file.read(buffer.data(), buffer.size())) {
    hash.update(std::string_view(buffer.data(), got));
  }
  if (before != state || file.state() != state) {
    throw DataError(fmt::format("{}: changed while it was read", path));
  }
  return hash.hex();
}

}  // namespace headroom
