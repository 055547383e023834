#pragma once
// How a tokenizer file changes text and cuts it into words, before its model makes tokens of them.
// Each part is named as in the file (huggingface/tokenizers, tokenizers/src/{normalizers,
// pre_tokenizers}).

#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "sim/server/text_pattern.hpp"

namespace headroom {

// --- normalizers ---

enum class UnicodeForm : std::uint8_t { nfc, nfd, nfkc, nfkd };
struct Prepend {
  std::string text;
};
struct Replace {
  TextPattern pattern;
  std::string by;
};
using Normalizer = std::variant<UnicodeForm, Prepend, Replace>;

// --- pre-tokenizers ---

enum class SplitBehavior : std::uint8_t { isolated, removed, merged_with_previous };
struct Split {
  TextPattern pattern;
  SplitBehavior behavior = SplitBehavior::isolated;
  bool invert = false;
};
enum class PrependScheme : std::uint8_t { always, first, never };
struct Metaspace {
  std::string replacement;
  PrependScheme prepends = PrependScheme::always;
  bool splits = true;
};
struct PrefixSpace {};  // of ByteLevel: each word begins with a blank
using PreTokenizer = std::variant<Split, Metaspace, PrefixSpace>;

class TextCutter {
 public:
  std::vector<Normalizer> normalizers;
  std::vector<PreTokenizer> pre_tokenizers;

  [[nodiscard]] std::string normalized(std::string_view text) const;
  // The words of normalized text, in order. `is_first`: it is at the beginning of all text.
  // PatternLimit.
  [[nodiscard]] std::vector<std::string> words(std::string text, bool is_first) const;
};

}  // namespace headroom
