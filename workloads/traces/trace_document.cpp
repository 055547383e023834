#include "workloads/traces/trace_document.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <istream>
#include <nlohmann/json.hpp>
#include <streambuf>

#include "sim/kernel/errors.hpp"
#include "workloads/traces/decimal.hpp"
#include "workloads/traces/shown.hpp"
#include "workloads/traces/trace_record.hpp"

namespace headroom {

namespace {

using Kind = JsonNode::Kind;

}  // namespace

// Python writes numbers that JSON does not have, such as the request rate Infinity of SGLang's
// benchmark. They become texts here: nothing takes them for a number.
class TraceDocument::PythonNumbers {
 public:
  // `piece`, a part of the file, with quotes around such words; a word at its end comes with the
  // next piece. Valid until the next call.
  std::string_view quoted(std::string_view piece) {
    copy_.clear();
    std::size_t copied = 0;
    for (std::size_t i = 0; i < piece.size(); ++i) {
      const char c = piece[i];
      if (in_text_) {
        in_text_ = escaped_ || c != '"';
        escaped_ = !escaped_ && c == '\\';
        continue;
      }
      const bool is_letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
      const bool in_word = word_.empty() ? c == 'I' || c == 'N' : is_letter;
      if (in_word && word_.empty()) copy_.append(piece, copied, i - copied);
      if (in_word) {
        word_ += c;
        copied = i + 1;
      } else if (!word_.empty()) {
        end_word();
      }
      in_text_ = c == '"';
    }
    if (copied == 0 && copy_.empty()) return piece;
    return copy_.append(piece, copied);
  }

 private:
  void end_word() {
    const bool is_number = word_ == "Infinity" || word_ == "NaN";
    copy_ += is_number ? '"' + word_ + '"' : word_;
    word_.clear();
  }

  bool in_text_ = false;
  bool escaped_ = false;
  std::string word_;
  std::string copy_;
};

// The bytes of the file, handed out line by line: so the line of every byte is known.
class TraceDocument::Input final : public std::streambuf {
 public:
  explicit Input(LineReader& lines) : lines_(lines), line_(lines.line_number()) {}

  [[nodiscard]] std::string place() const {
    return fmt::format("{}:{}", lines_.path(), std::max<std::int64_t>(line_, 1));
  }

 protected:
  int_type underflow() override {
    std::string_view piece;
    while (piece.empty()) {
      if (block_.empty()) block_ = lines_.next_block();
      if (block_.empty()) return traits_type::eof();
      if (starts_line_) ++line_;
      const std::size_t newline = block_.find('\n');
      starts_line_ = newline != std::string_view::npos;
      const std::size_t size = starts_line_ ? newline + 1 : block_.size();
      piece = numbers_.quoted(block_.substr(0, size));
      block_.remove_prefix(size);
    }
    // A stream buffer's area is not const, but nothing writes to it.
    char* begin = const_cast<char*>(piece.data());
    setg(begin, begin, begin + piece.size());
    return traits_type::to_int_type(*begin);
  }

 private:
  LineReader& lines_;
  std::int64_t line_;
  bool starts_line_ = true;
  std::string_view block_;  // not handed out yet
  PythonNumbers numbers_;
};

// Turns the events of nlohmann's parser into paths and values.
class TraceDocument::Events final : public nlohmann::json_sax<nlohmann::json> {
 public:
  Events(TraceDocument& document, Handler& handler) : document_(document), handler_(handler) {}
  [[nodiscard]] const std::string& error() const { return error_; }

  bool null() override { return value(Kind::null, {}); }
  bool boolean(bool given) override { return value(Kind::boolean, given ? "true" : "false"); }
  bool number_integer(std::int64_t given) override {
    return value(Kind::number, fmt::format_int(given).c_str());
  }
  bool number_unsigned(std::uint64_t given) override {
    return value(Kind::number, fmt::format_int(given).c_str());
  }
  bool number_float(double /*given*/, const std::string& text) override {
    return value(Kind::number, text);
  }
  bool string(std::string& text) override { return value(Kind::text, text); }
  bool binary(nlohmann::json::binary_t& /*bytes*/) override { return false; }
  bool start_object(std::size_t /*size*/) override { return open(Kind::object); }
  bool start_array(std::size_t /*size*/) override { return open(Kind::array); }
  bool end_object() override { return close(Kind::object); }
  bool end_array() override { return close(Kind::array); }
  bool key(std::string& name) override {
    document_.path_.resize(document_.frames_.back().path_size);
    if (!document_.path_.empty()) document_.path_ += '/';
    // No key can pass for a path of several or for an element.
    std::ranges::replace_if(
        name, [](char c) { return c == '/' || c == '#'; }, '~');
    document_.path_ += name;
    return true;
  }
  bool parse_error(std::size_t position, const std::string& token,
                   const nlohmann::json::exception& error) override {
    document_.enter_child();
    error_ = json_error(position, error.what(), token, document_.shown_path());
    return false;
  }

 private:
  bool value(Kind kind, std::string_view text) {
    document_.enter_child();
    document_.kind_ = kind;
    document_.text_ = text;
    handler_.value(document_);
    return true;
  }
  bool open(Kind kind) {
    constexpr std::size_t kDeepest = 64;  // no trace nests deeper; bounds the memory
    if (document_.frames_.size() == kDeepest) {
      error_ = "nested too deeply";
      return false;
    }
    document_.enter_child();
    document_.kind_ = kind;
    document_.text_ = {};
    handler_.open(document_);
    Frame frame{.is_array = kind == Kind::array, .path_size = document_.path_.size()};
    if (frame.is_array) document_.path_ += document_.path_.empty() ? "#" : "/#";
    frame.child_size = document_.path_.size();
    document_.frames_.push_back(frame);
    return true;
  }
  bool close(Kind kind) {
    document_.path_.resize(document_.frames_.back().path_size);
    document_.frames_.pop_back();
    document_.kind_ = kind;
    document_.text_ = {};
    handler_.close(document_);
    return true;
  }

  TraceDocument& document_;
  Handler& handler_;
  std::string error_;
};

TraceDocument::TraceDocument(LineReader& lines) : input_(std::make_unique<Input>(lines)) {}
TraceDocument::~TraceDocument() = default;

bool TraceDocument::read(Handler& handler) {
  constexpr std::string_view kBlank = " \t\r\n";
  using Traits = std::streambuf::traits_type;
  int next = input_->sgetc();
  while (!Traits::eq_int_type(next, Traits::eof()) &&
         kBlank.find(Traits::to_char_type(next)) != std::string_view::npos) {
    next = input_->snextc();
  }
  if (Traits::eq_int_type(next, Traits::eof())) return false;
  if (next != '{' && next != '[') {
    throw DataError(fmt::format("{}: expected a JSON object or array", place()));
  }
  path_.clear();
  frames_.clear();
  Events events(*this, handler);
  std::istream stream(input_.get());
  constexpr bool kToTheEnd = false;  // more values may follow
  if (!nlohmann::json::sax_parse(stream, &events, nlohmann::json::input_format_t::json,
                                 kToTheEnd)) {
    throw DataError(
        fmt::format("{}: malformed JSON {} ({} rows read)", place(), events.error(), rows_read_));
  }
  return true;
}

void TraceDocument::enter_child() {
  if (frames_.empty() || !frames_.back().is_array) return;
  ++frames_.back().index;
  path_.resize(frames_.back().child_size);
}

std::size_t TraceDocument::index() const {
  const auto innermost = std::ranges::find_if(frames_.rbegin(), frames_.rend(),
                                              [](const Frame& frame) { return frame.is_array; });
  return static_cast<std::size_t>(innermost->index);
}

std::int32_t TraceDocument::count() const {
  if (kind_ == Kind::null) return 0;
  if (kind_ == Kind::number || kind_ == Kind::text) {
    if (const std::optional<std::int32_t> count = parse_count(text_)) return *count;
  }
  refuse(fmt::format("an integer in 0 .. {}", INT32_MAX));
}

std::optional<TimeNs> TraceDocument::time(TimeNs unit_ns) const {
  if (kind_ == Kind::null) return std::nullopt;
  if (kind_ == Kind::number || kind_ == Kind::text) {
    const std::optional<std::int64_t> time = parse_scaled_decimal(text_, unit_ns);
    if (time && *time >= 0 && *time <= kLatestTraceNs) return time;
  }
  refuse("a number >= 0 within 285 years");
}

// "benchmarks/#/requests" as "benchmarks[3].requests".
std::string TraceDocument::shown_path() const {
  std::string shown;
  std::size_t begin = 0;
  auto frame = frames_.begin();
  while (begin <= path_.size() && !path_.empty()) {
    const std::size_t end = std::min(path_.find('/', begin), path_.size());
    const std::string_view part = std::string_view(path_).substr(begin, end - begin);
    if (part == "#") {
      while (frame != frames_.end() && !frame->is_array) ++frame;
      if (frame != frames_.end()) shown += fmt::format("[{}]", (frame++)->index);
    } else {
      if (!shown.empty()) shown += '.';
      shown += part;
    }
    begin = end + 1;
  }
  return shown.empty() ? "the document" : shown;
}

void TraceDocument::refuse(std::string_view wanted) const {
  std::string value =
      fmt::format("'{}'{}", printable(text_), text_.size() > kShownBytes ? "..." : "");
  if (kind_ == Kind::null) value = "null";
  if (kind_ == Kind::array) value = "an array";
  if (kind_ == Kind::object) value = "an object";
  throw DataError(fmt::format("{}: {} is {}, expected {} ({} rows read)", place(), shown_path(),
                              value, wanted, rows_read_));
}

std::string TraceDocument::place() const { return input_->place(); }

}  // namespace headroom
