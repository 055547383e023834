#include "sim/server/text_pattern.hpp"

#include <fmt/format.h>

#include <array>

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

namespace headroom {

struct TextPattern::Compiled {
  struct Free {
    void operator()(pcre2_code* compiled) const { pcre2_code_free(compiled); }
    void operator()(pcre2_match_data* data) const { pcre2_match_data_free(data); }
  };
  std::unique_ptr<pcre2_code, Free> code;

  [[nodiscard]] std::unique_ptr<pcre2_match_data, Free> match_data() const {
    return std::unique_ptr<pcre2_match_data, Free>(
        pcre2_match_data_create_from_pattern(code.get(), nullptr));
  }
};

TextPattern::TextPattern(const std::string& expression) {
  int error = 0;
  PCRE2_SIZE place = 0;
  auto compiled = std::make_shared<Compiled>();
  compiled->code.reset(
      pcre2_compile(reinterpret_cast<PCRE2_SPTR>(expression.data()), expression.size(),
                    PCRE2_UTF | PCRE2_UCP | PCRE2_NEVER_BACKSLASH_C, &error, &place, nullptr));
  if (!compiled->code) {
    std::array<PCRE2_UCHAR, 256> message{};
    pcre2_get_error_message(error, message.data(), message.size());
    throw std::invalid_argument(fmt::format("not a regular expression (at {}: {})", place,
                                            reinterpret_cast<const char*>(message.data())));
  }
  static_cast<void>(pcre2_jit_compile(compiled->code.get(), PCRE2_JIT_COMPLETE));
  compiled_ = std::move(compiled);
}

TextPattern TextPattern::literal(std::string_view text) {
  std::string expression;
  for (const char c : text) {
    const bool plain = static_cast<unsigned char>(c) >= 0x80 || c == '_' ||
                       (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
    if (!plain) expression += '\\';
    expression += c;
  }
  return TextPattern(expression);
}

std::vector<TextSpan> TextPattern::spans(std::string_view text) const {
  std::vector<TextSpan> spans;
  std::size_t done = 0;
  const auto* begin = reinterpret_cast<PCRE2_SPTR>(text.data());
  std::size_t from = 0;
  const auto data = compiled_->match_data();
  while (from < text.size()) {
    const auto match = [&](std::uint32_t options) {
      return pcre2_match(compiled_->code.get(), begin, text.size(), from, options, data.get(),
                         nullptr);
    };
    int found = match(PCRE2_NO_UTF_CHECK | PCRE2_NOTEMPTY);
    if (found == PCRE2_ERROR_JIT_STACKLIMIT) {
      found = match(PCRE2_NO_UTF_CHECK | PCRE2_NOTEMPTY | PCRE2_NO_JIT);
    }
    if (found == PCRE2_ERROR_NOMATCH) break;
    if (found < 0) throw PatternLimit("the tokenizer's expression takes too long on this text");
    const PCRE2_SIZE* at = pcre2_get_ovector_pointer(data.get());
    if (at[0] > done) spans.push_back({done, at[0], false});
    spans.push_back({at[0], at[1], true});
    done = from = at[1];
  }
  if (done < text.size()) spans.push_back({done, text.size(), false});
  return spans;
}

}  // namespace headroom
