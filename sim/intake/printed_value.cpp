#include "sim/intake/printed_value.hpp"

#include <optional>
#include <string>
#include <utility>

#include "sim/intake/values.hpp"

namespace headroom {
namespace {

class PrintedReader {
 public:
  explicit PrintedReader(std::string_view text) : text_(text) {}

  PrintedValue read() {
    Json value = this->value();
    return {std::move(value), cut_};
  }

 private:
  [[nodiscard]] char next() const { return at_ < text_.size() ? text_[at_] : '\0'; }

  void skip_blanks() {
    while (at_ < text_.size() && std::string_view(" \t\r\n").find(text_[at_]) != kNone) ++at_;
  }

  bool take(char c) {
    skip_blanks();
    if (next() != c || at_ >= text_.size()) return false;
    ++at_;
    return true;
  }

  // Whether a part stands here whole.
  bool ends(char close) {
    skip_blanks();
    return !cut_ && at_ < text_.size() && (next() == ',' || next() == close);
  }

  std::string quoted() {
    const char quote = text_[at_++];
    std::string word;
    while (at_ < text_.size() && text_[at_] != quote) {
      if (text_[at_] == '\\' && at_ + 1 < text_.size()) ++at_;
      word += text_[at_++];
    }
    cut_ = cut_ || at_ >= text_.size();
    ++at_;
    return word;
  }

  std::string bare() {
    const std::size_t end = text_.find_first_of(",()[]{}=:<>'\" \t\r\n", at_);
    const std::size_t begin = std::exchange(at_, std::min(end, text_.size()));
    return std::string(text_.substr(begin, at_ - begin));
  }

  // "<KvCacheDtype.FP8: 'fp8'>": what stands in quotes.
  Json shown_object() {
    const std::size_t end = text_.find('>', at_);
    const std::string_view all = text_.substr(at_, end - at_);
    cut_ = cut_ || end == kNone;
    at_ = std::min(end, text_.size() - 1) + 1;
    const std::size_t open = all.find('\'');
    if (open == kNone) return nullptr;
    const std::string_view rest = all.substr(open + 1);
    return std::string(rest.substr(0, rest.find('\'')));
  }

  static Json plain(std::string word) {
    if (word == "None" || word == "null") return nullptr;
    if (word == "True" || word == "true") return true;
    if (word == "False" || word == "false") return false;
    if (const auto whole = whole_number(word)) return *whole;
    if (const auto decimal = decimal_number(word)) return *decimal;
    constexpr std::string_view kTorch = "torch.";
    if (word.starts_with(kTorch)) word.erase(0, kTorch.size());
    return word;
  }

  // Parts up to `close`, with names ("a=1", "a: 1", "'a': 1") or without.
  Json parts(char close, bool is_list) {
    Json named = Json::object();
    Json items = Json::array();
    while (!cut_) {
      if (take(close)) break;
      Json item = value();
      if (!is_list && item.is_string() && (take('=') || take(':'))) {
        Json set_to = value();
        // Of a number or a word that is cut, the rest is not known.
        if (ends(close) || set_to.is_structured()) named[item.get<std::string>()] = set_to;
      } else if (ends(close) || item.is_structured()) {
        items.push_back(std::move(item));
      }
      if (take(',')) continue;
      if (!take(close)) cut_ = true;
      break;
    }
    if (!named.empty() || (items.empty() && close == '}')) return named;
    return items;
  }

  // "Some(2)" and "PosixPath('/x')" are what they hold.
  Json call() {
    Json held = parts(')', false);
    if (held.is_array() && held.size() == 1) return Json(held.front());
    return held;
  }

  Json value() {
    skip_blanks();
    if (++depth_ > kDeepest || at_ >= text_.size()) {
      cut_ = true;
      return nullptr;
    }
    Json found = value_here();
    --depth_;
    return found;
  }

  Json value_here() {
    switch (next()) {
      case '\'':
      case '"': return quoted();
      case '{': ++at_; return parts('}', false);
      case '[': ++at_; return parts(']', true);
      case '(': ++at_; return parts(')', true);
      case '<': return shown_object();
      default: break;
    }
    std::string word = bare();
    if (word.empty()) {
      cut_ = at_ >= text_.size() || std::string_view(",)]}").find(next()) == kNone;
      return nullptr;  // nothing between two commas
    }
    if (next() == '(') {
      ++at_;
      return call();
    }
    const std::size_t behind = at_;
    skip_blanks();
    if (next() == '{') {
      ++at_;
      return parts('}', false);
    }
    at_ = behind;
    return plain(std::move(word));
  }

  static constexpr std::size_t kNone = std::string_view::npos;
  static constexpr int kDeepest = 64;

  std::string_view text_;
  std::size_t at_ = 0;
  int depth_ = 0;
  bool cut_ = false;
};

}  // namespace

PrintedValue printed_value(std::string_view text) { return PrintedReader(text).read(); }

}  // namespace headroom
