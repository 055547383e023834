#include "workloads/traces/line_reader.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "sim/kernel/errors.hpp"

namespace headroom {
namespace {

constexpr std::size_t kBlockBytes = std::size_t{1} << 18;  // stays in the second-level cache
constexpr std::size_t kMaxLineBytes = std::size_t{1} << 24;
constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";

std::int64_t modification_ns(const struct stat& status) {
  return std::int64_t{status.st_mtim.tv_sec} * 1'000'000'000 + status.st_mtim.tv_nsec;
}

}  // namespace

InputFile::InputFile(const std::string& path)
    : path_(path), descriptor_(::open(path.c_str(), O_RDONLY | O_CLOEXEC)) {
  if (descriptor_ < 0) {
    throw DataError(fmt::format("{}: cannot be opened ({})", path, std::strerror(errno)));
  }
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
  while (true) {
    const ssize_t got = ::read(descriptor_, into, bytes);
    if (got >= 0) return static_cast<std::size_t>(got);
    if (errno == EINTR) continue;
    throw DataError(fmt::format("{}: cannot be read ({})", path_, std::strerror(errno)));
  }
}

LineReader::LineReader(const std::string& path)
    : file_(path), file_state_(file_.state()), buffer_(kBlockBytes + 1) {
  buffer_[0] = '\0';
  at_ = end_ = buffer_.data();
  // A byte order mark is shorter than any read, but a pipe may deliver its bytes one by one.
  while (!at_end_ && static_cast<std::size_t>(end_ - at_) < kByteOrderMark.size()) {
    static_cast<void>(refill());
  }
  const std::string_view start(at_, static_cast<std::size_t>(end_ - at_));
  if (start.starts_with(kByteOrderMark)) at_ += kByteOrderMark.size();
}

std::string LineReader::place() const { return fmt::format("{}:{}", path(), line_number_); }

// Moves the unread bytes to the front and reads more behind them; false when nothing is left.
bool LineReader::refill() {
  const auto kept = static_cast<std::size_t>(end_ - at_);
  std::memmove(buffer_.data(), at_, kept);
  if (kept + 1 == buffer_.size()) {
    if (kept >= kMaxLineBytes) {
      throw DataError(
          fmt::format("{}:{}: line longer than {} bytes", path(), line_number_ + 1, kMaxLineBytes));
    }
    buffer_.resize(2 * kept + 1);
  }
  const std::size_t got = file_.read(buffer_.data() + kept, buffer_.size() - 1 - kept);
  if (!file_state_.is_regular) hash_.update(std::string_view(buffer_.data() + kept, got));
  at_end_ = got == 0;
  at_ = buffer_.data();
  end_ = at_ + kept + got;
  buffer_[kept + got] = '\0';
  return end_ != at_;
}

std::string file_sha256(const std::string& path, std::int64_t bytes, std::int64_t modified_ns) {
  InputFile file(path);
  Sha256 hash;
  std::int64_t bytes_read = 0;
  std::vector<char> buffer(kBlockBytes);
  while (const std::size_t got = file.read(buffer.data(), buffer.size())) {
    hash.update(std::string_view(buffer.data(), got));
    bytes_read += static_cast<std::int64_t>(got);
  }
  if (bytes_read != bytes || file.state().modified_ns != modified_ns) {
    throw DataError(fmt::format("{}: changed while it was read", path));
  }
  return hash.hex();
}

}  // namespace headroom
