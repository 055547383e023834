#include "workloads/traces/line_reader.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "sim/kernel/errors.hpp"

namespace headroom {
namespace {

constexpr std::size_t kStartBytes = std::size_t{1} << 16;
constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";

}  // namespace

LineReader::LineReader(const std::string& path, std::size_t max_line_bytes)
    : file_(path),
      max_line_bytes_(max_line_bytes),
      file_state_(file_.state()),
      buffer_(kReadBytes + 1) {
  buffer_[0] = '\0';
  at_ = end_ = buffer_.data();
  // A byte order mark is shorter than any read, but a pipe may deliver its bytes one by one.
  while (!at_end_ && static_cast<std::size_t>(end_ - at_) < kByteOrderMark.size()) {
    static_cast<void>(refill());
  }
  const std::string_view start(at_, static_cast<std::size_t>(end_ - at_));
  if (start.starts_with(kByteOrderMark)) at_ += kByteOrderMark.size();
}

FileStart LineReader::start() {
  while (true) {
    while (at_ != end_ && (*at_ == '\n' || *at_ == '\r')) line_number_ += *at_++ == '\n' ? 1 : 0;
    if (at_end_ || static_cast<std::size_t>(end_ - at_) >= kStartBytes) break;
    static_cast<void>(refill());
  }
  const std::string_view bytes(at_, static_cast<std::size_t>(end_ - at_));
  std::string_view line = bytes.substr(0, bytes.find('\n'));
  if (line.ends_with('\r')) line.remove_suffix(1);
  return {.first_line = line, .bytes = bytes};
}

std::string_view LineReader::next_block() {
  if (at_ == end_ && (at_end_ || !refill())) return {};
  const std::string_view block(at_, static_cast<std::size_t>(end_ - at_));
  at_ = end_;
  line_number_ += std::count(block.begin(), block.end(), '\n');
  return block;
}

std::string LineReader::place() const { return fmt::format("{}:{}", path(), line_number_); }

// Reads on until a line ends within what is unread; nullptr: the file ends first. What was searched
// already is not searched again, however small the pieces are in which a pipe delivers a line.
const char* LineReader::read_to_newline() {
  while (!at_end_) {
    const auto searched = static_cast<std::size_t>(end_ - at_);
    static_cast<void>(refill());
    const auto size = static_cast<std::size_t>(end_ - at_);
    const void* newline = std::memchr(at_ + searched, '\n', size - searched);
    if (newline != nullptr) return static_cast<const char*>(newline);
  }
  return nullptr;
}

// Moves the unread bytes to the front and reads more behind them; false when nothing is left.
bool LineReader::refill() {
  const auto kept = static_cast<std::size_t>(end_ - at_);
  if (at_ != buffer_.data()) std::memmove(buffer_.data(), at_, kept);
  if (kept + 1 == buffer_.size()) {
    if (kept >= max_line_bytes_) {
      throw DataError(fmt::format("{}:{}: line longer than {} bytes", path(), line_number_ + 1,
                                  max_line_bytes_));
    }
    buffer_.resize(2 * kept + 1);
  }
  at_ = buffer_.data();
  const std::size_t got = file_.read(buffer_.data() + kept, buffer_.size() - 1 - kept);
  if (!file_state_.is_regular) hash_.update(std::string_view(buffer_.data() + kept, got));
  at_end_ = got == 0;
  end_ = at_ + kept + got;
  buffer_[kept + got] = '\0';
  return end_ != at_;
}

}  // namespace headroom
