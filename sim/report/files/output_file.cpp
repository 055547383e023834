#include "sim/report/files/output_file.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "sim/kernel/errors.hpp"

namespace headroom {
namespace {

constexpr std::size_t kBufferBytes = std::size_t{1} << 18;

}  // namespace

OutputFile::OutputFile(const std::string& path, const std::string& shown_as)
    : name_(shown_as.empty() ? path : shown_as),
      file_(::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666)) {
  if (file_ < 0) fail();
  buffer_.resize(kBufferBytes);
  at_ = buffer_.data();
  end_ = at_ + buffer_.size();
}

OutputFile::~OutputFile() {
  if (file_ >= 0) ::close(file_);
}

void OutputFile::append(std::string_view text) {
  std::memcpy(at_, text.data(), text.size());
  at_ += text.size();
}

void OutputFile::write_through(std::string_view text) {
  flush();
  if (text.size() > space()) {
    write_all(text.data(), text.size());
  } else {
    append(text);
  }
}

void OutputFile::write_all(const char* data, std::size_t size) {
  while (size > 0) {
    const ssize_t written = ::write(file_, data, size);
    if (written < 0) {
      if (errno == EINTR) continue;
      fail();
    }
    data += written;
    size -= static_cast<std::size_t>(written);
  }
}

void OutputFile::flush() {
  write_all(buffer_.data(), static_cast<std::size_t>(at_ - buffer_.data()));
  at_ = buffer_.data();
}

void OutputFile::close() {
  flush();
  const int file = file_;
  file_ = -1;
  if (::close(file) != 0) fail();
}

void OutputFile::fail() const {
  throw ConfigError(Complaint{.kind = ErrorKind::unreadable,
                              .origin = name_,
                              .problem = fmt::format("cannot write: {}", std::strerror(errno))});
}

}  // namespace headroom
