#pragma once
// Patterns over module names as quantised checkpoints use them: plain names and prefixes, globs
// ("model.layers.3.self_attn*", "*.mlp.gate") and regular expressions ("re:.*self_attn.*").

#include <cstdint>
#include <map>
#include <optional>
#include <regex>
#include <string>
#include <string_view>
#include <vector>

namespace headroom {

class HfPatterns {
 public:
  // False for a regular expression that cannot be read.
  [[nodiscard]] bool add(std::string_view pattern);
  [[nodiscard]] bool empty() const { return layers_.empty() && globs_.empty() && regexes_.empty(); }
  // Whether a pattern names the module `name` ("self_attn.q_proj") of `layer`, or one it is in. The
  // prefixes that published checkpoints have before "layers." are all tried.
  [[nodiscard]] bool match(std::int64_t layer, std::string_view name) const;
  // Whether a pattern names a module outside the layers, such as "lm_head".
  [[nodiscard]] bool match_outside(std::string_view name) const;

 private:
  struct Regex {
    std::regex compiled;
    bool has_digits = false;  // may tell layers apart
    mutable std::map<std::string, bool, std::less<>> seen;
  };
  [[nodiscard]] bool match_regex(const Regex& regex, std::int64_t layer,
                                 std::string_view name) const;

  std::map<std::int64_t, std::vector<std::string>> layers_;  // what follows "layers.N."
  std::vector<std::string> globs_;                           // of no one layer
  std::vector<Regex> regexes_;
};

// `*` matches any text, including dots; `?` matches one character.
[[nodiscard]] bool glob_match(std::string_view pattern, std::string_view text);

}  // namespace headroom
