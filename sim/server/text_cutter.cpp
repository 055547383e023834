#include "sim/server/text_cutter.hpp"

#include <utf8proc.h>

#include <cstdlib>
#include <utility>

namespace headroom {
namespace {

struct Word {
  std::string text;
  bool is_first = false;
};

std::string in_form(const std::string& text, UnicodeForm form) {
  int options = UTF8PROC_STABLE;
  const bool composes = form == UnicodeForm::nfc || form == UnicodeForm::nfkc;
  options |= composes ? UTF8PROC_COMPOSE : UTF8PROC_DECOMPOSE;
  if (form == UnicodeForm::nfkc || form == UnicodeForm::nfkd) options |= UTF8PROC_COMPAT;
  utf8proc_uint8_t* made = nullptr;
  const utf8proc_ssize_t size = utf8proc_map(reinterpret_cast<const utf8proc_uint8_t*>(text.data()),
                                             static_cast<utf8proc_ssize_t>(text.size()), &made,
                                             static_cast<utf8proc_option_t>(options));
  if (size < 0) throw PatternLimit("the text cannot be brought into Unicode's normal form");
  std::string result(reinterpret_cast<const char*>(made), static_cast<std::size_t>(size));
  std::free(made);  // NOLINT(cppcoreguidelines-no-malloc): it comes from malloc
  return result;
}

std::string replaced(const std::string& text, const Replace& replace) {
  std::string result;
  for (const TextSpan& span : replace.pattern.spans(text)) {
    result += span.is_match ? replace.by : text.substr(span.begin, span.end - span.begin);
  }
  return result;
}

// Spans with what Split does to them; those of no length are dropped.
std::vector<TextSpan> split_spans(std::string_view text, const Split& split) {
  std::vector<TextSpan> kept;
  bool after_match = false;
  for (TextSpan span : split.pattern.spans(text)) {
    if (split.invert) span.is_match = !span.is_match;
    const bool joins = split.behavior == SplitBehavior::merged_with_previous && span.is_match &&
                       !after_match && !kept.empty();
    after_match = span.is_match;
    if (joins) {
      kept.back().end = span.end;
    } else if (split.behavior != SplitBehavior::removed || !span.is_match) {
      kept.push_back(span);
    }
  }
  return kept;
}

void cut(const Word& word, const Split& split, std::vector<Word>& words) {
  for (const TextSpan& span : split_spans(word.text, split)) {
    words.push_back(
        {word.text.substr(span.begin, span.end - span.begin), word.is_first && span.begin == 0});
  }
}

// A word begins with each replaced blank.
void cut(const Word& word, const Metaspace& metaspace, std::vector<Word>& words) {
  std::string text;
  for (const char c : word.text) {
    if (c == ' ') {
      text += metaspace.replacement;
    } else {
      text += c;
    }
  }
  const bool prepends = metaspace.prepends == PrependScheme::always ||
                        (metaspace.prepends == PrependScheme::first && word.is_first);
  if (prepends && !text.starts_with(metaspace.replacement)) {
    text.insert(0, metaspace.replacement);
  }
  std::size_t begin = 0;
  while (metaspace.splits) {
    const std::size_t next = text.find(metaspace.replacement, begin + metaspace.replacement.size());
    const bool at_sign =
        text.compare(begin, metaspace.replacement.size(), metaspace.replacement) == 0;
    const std::size_t stop = at_sign ? next : text.find(metaspace.replacement, begin);
    if (stop == std::string::npos) break;
    words.push_back({text.substr(begin, stop - begin), word.is_first && begin == 0});
    begin = stop;
  }
  if (begin < text.size()) words.push_back({text.substr(begin), word.is_first && begin == 0});
}

void cut(const Word& word, const PrefixSpace&, std::vector<Word>& words) {
  words.push_back(word);
  std::string& text = words.back().text;
  if (!text.starts_with(' ')) text.insert(0, 1, ' ');
}

}  // namespace

std::string TextCutter::normalized(std::string_view text) const {
  std::string result(text);
  for (const Normalizer& normalizer : normalizers) {
    if (result.empty()) break;
    if (const auto* form = std::get_if<UnicodeForm>(&normalizer)) {
      result = in_form(result, *form);
    } else if (const auto* prepend = std::get_if<Prepend>(&normalizer)) {
      result.insert(0, prepend->text);
    } else {
      result = replaced(result, std::get<Replace>(normalizer));
    }
  }
  return result;
}

std::vector<std::string> TextCutter::words(std::string text, bool is_first) const {
  std::vector<Word> words = {{std::move(text), is_first}};
  for (const PreTokenizer& pre_tokenizer : pre_tokenizers) {
    std::vector<Word> parts;
    for (const Word& word : words) {
      std::visit([&](const auto& part) { cut(word, part, parts); }, pre_tokenizer);
    }
    words = std::move(parts);
  }
  std::vector<std::string> texts;
  for (Word& word : words) texts.push_back(std::move(word.text));
  return texts;
}

}  // namespace headroom
