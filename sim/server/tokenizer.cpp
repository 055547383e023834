#include "sim/server/tokenizer.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace headroom {
namespace {

std::string utf8_of(std::uint32_t code) {
  if (code < 0x80) return std::string(1, static_cast<char>(code));
  return {static_cast<char>(0xC0 | code >> 6), static_cast<char>(0x80 | (code & 0x3F))};
}

// GPT-2's bytes_to_unicode: signs that can be printed stand for themselves, all others for those
// from U+0100 on.
std::array<std::string, 256> byte_level_signs() {
  std::array<std::string, 256> signs;
  std::uint32_t next = 256;
  for (std::uint32_t byte = 0; byte < 256; ++byte) {
    const bool prints = (byte >= '!' && byte <= '~') || (byte >= 0xA1 && byte <= 0xAC) ||
                        (byte >= 0xAE && byte <= 0xFF);
    signs.at(byte) = utf8_of(prints ? byte : next++);
  }
  return signs;
}

std::size_t sign_size(char first) {
  const auto byte = static_cast<unsigned char>(first);
  if (byte < 0x80) return 1;
  if (byte < 0xE0) return 2;
  return byte < 0xF0 ? 3 : 4;
}

bool is_blank(char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }

// Of ASCII, and all bytes of other scripts.
bool is_word_byte(char c) {
  return c == '_' || static_cast<unsigned char>(c) >= 0x80 || (c >= '0' && c <= '9') ||
         (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

bool is_alone(std::string_view text, std::size_t begin, std::size_t end) {
  return (begin == 0 || !is_word_byte(text[begin - 1])) &&
         (end == text.size() || !is_word_byte(text[end]));
}

}  // namespace

Tokenizer::Tokenizer(TokenizerParts parts)
    : parts_(std::move(parts)), byte_signs_(byte_level_signs()) {
  for (const auto& [text, id] : parts_.vocabulary) size_ = std::max(size_, id + 1);
  for (const AddedToken& token : parts_.added) {
    size_ = std::max(size_, token.id + 1);
    may_begin_.at(static_cast<unsigned char>(token.text.front())) = true;
  }
  for (std::size_t byte = 0; byte < byte_ids_.size(); ++byte) {
    const auto found = parts_.vocabulary.find(fmt::format("<0x{:02X}>", byte));
    if (found != parts_.vocabulary.end()) byte_ids_.at(byte) = found->second;
  }
}

void Tokenizer::encode(std::string_view text, bool adds_special, std::vector<TokenId>& ids) const {
  if (adds_special) ids.insert(ids.end(), parts_.before.begin(), parts_.before.end());
  std::size_t from = 0;
  while (from < text.size()) {
    const std::optional<Found> found = next_added(text, from, false);
    const std::size_t begin = found ? found->begin : text.size();
    if (begin > from) encode_part(text.substr(from, begin - from), from == 0, ids);
    if (!found) break;
    ids.push_back(found->token->id);
    from = found->end;
  }
  if (adds_special) ids.insert(ids.end(), parts_.after.begin(), parts_.after.end());
}

// The leftmost added token from there on, of those the longest.
std::optional<Tokenizer::Found> Tokenizer::next_added(std::string_view text, std::size_t from,
                                                      bool is_normalized) const {
  for (std::size_t at = from; at < text.size(); ++at) {
    if (!may_begin_.at(static_cast<unsigned char>(text[at]))) continue;
    const AddedToken* longest = nullptr;
    for (const AddedToken& token : parts_.added) {
      if (token.is_normalized != is_normalized || !text.substr(at).starts_with(token.text))
        continue;
      if (longest == nullptr || token.text.size() > longest->text.size()) longest = &token;
    }
    if (longest == nullptr) continue;
    Found found{longest, at, at + longest->text.size()};
    if (longest->is_word && !is_alone(text, found.begin, found.end)) {
      at = found.end - 1;
      continue;
    }
    while (longest->takes_left && found.begin > from && is_blank(text[found.begin - 1])) {
      --found.begin;
    }
    while (longest->takes_right && found.end < text.size() && is_blank(text[found.end])) {
      ++found.end;
    }
    return found;
  }
  return std::nullopt;
}

void Tokenizer::encode_part(std::string_view text, bool is_first, std::vector<TokenId>& ids) const {
  const std::string normalized = parts_.cutter.normalized(text);
  std::size_t from = 0;
  while (from < normalized.size()) {
    const std::optional<Found> found = next_added(normalized, from, true);
    const std::size_t begin = found ? found->begin : normalized.size();
    if (begin > from) {
      encode_normalized(normalized.substr(from, begin - from), is_first && from == 0, ids);
    }
    if (!found) break;
    ids.push_back(found->token->id);
    from = found->end;
  }
}

void Tokenizer::encode_normalized(const std::string& text, bool is_first,
                                  std::vector<TokenId>& ids) const {
  for (const std::string& word : parts_.cutter.words(text, is_first)) {
    if (!parts_.is_byte_level) {
      encode_word(word, ids);
      continue;
    }
    std::string signs;
    for (const char c : word) signs += byte_signs_.at(static_cast<unsigned char>(c));
    encode_word(signs, ids);
  }
}

void Tokenizer::encode_word(const std::string& word, std::vector<TokenId>& ids) const {
  if (parts_.ignores_merges) {
    if (const auto whole = parts_.vocabulary.find(word); whole != parts_.vocabulary.end()) {
      ids.push_back(whole->second);
      return;
    }
  }
  std::vector<TokenId> parts;
  bool was_unknown = false;
  for (std::size_t at = 0; at < word.size();) {
    const std::size_t size = sign_size(word[at]);
    add_sign(std::string_view(word).substr(at, size), parts, was_unknown);
    at += size;
  }
  parts_.merges.join(parts, ids);
}

// A sign that is in no vocabulary, and of which there are no bytes either, is unknown or nothing.
void Tokenizer::add_sign(std::string_view sign, std::vector<TokenId>& parts,
                         bool& was_unknown) const {
  const auto known = parts_.vocabulary.find(std::string(sign));
  if (known != parts_.vocabulary.end()) {
    parts.push_back(known->second);
    was_unknown = false;
    return;
  }
  const auto id_of = [&](char c) { return byte_ids_.at(static_cast<unsigned char>(c)); };
  if (parts_.falls_back_to_bytes &&
      std::ranges::all_of(sign, [&](char c) { return id_of(c).has_value(); })) {
    for (const char c : sign) parts.push_back(*id_of(c));
    was_unknown = false;
    return;
  }
  if (!parts_.unknown) return;
  if (!(parts_.fuses_unknown && was_unknown)) parts.push_back(*parts_.unknown);
  was_unknown = true;
}

}  // namespace headroom
