#include "hardware/llm/hf_patterns.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>

namespace headroom {
namespace {

// What stands before "layers.N." or "lm_head" in checkpoints of language models. Towers and
// prediction layers have other ones: their patterns match nothing here.
constexpr std::array<std::string_view, 9> kPrefixes{"model.language_model.model.",
                                                    "language_model.model.",
                                                    "model.language_model.",
                                                    "language_model.",
                                                    "model.model.",
                                                    "transformer.",
                                                    "backbone.",
                                                    "model.",
                                                    ""};

std::string_view without_prefix(std::string_view pattern) {
  for (const std::string_view prefix : kPrefixes) {
    if (pattern.starts_with(prefix)) return pattern.substr(prefix.size());
  }
  return pattern;
}

// Ends of leading runs of whole components: "a.b.c" has 1, 3 and 5.
std::vector<std::size_t> component_ends(std::string_view name) {
  std::vector<std::size_t> ends;
  for (std::size_t i = 0; i < name.size(); ++i) {
    if (name[i] == '.') ends.push_back(i);
  }
  ends.push_back(name.size());
  return ends;
}

bool matches_leading(std::string_view pattern, std::string_view name) {
  return std::ranges::any_of(component_ends(name), [&](std::size_t end) {
    return glob_match(pattern, name.substr(0, end));
  });
}

// Anywhere in the name, but from one component's begin to another's end: "gate" is not "gate_proj".
bool matches_components(std::string_view pattern, std::string_view name) {
  for (std::size_t begin = 0; begin != std::string_view::npos;) {
    if (matches_leading(pattern, name.substr(begin))) return true;
    const std::size_t dot = name.find('.', begin);
    begin = dot == std::string_view::npos ? dot : dot + 1;
  }
  return false;
}

}  // namespace

bool glob_match(std::string_view pattern, std::string_view text) {
  std::size_t p = 0;
  std::size_t t = 0;
  std::size_t star = std::string_view::npos;
  std::size_t retry = 0;
  while (t < text.size()) {
    if (p < pattern.size() && pattern[p] == '*') {
      star = p++;
      retry = t;
    } else if (p < pattern.size() && (pattern[p] == '?' || pattern[p] == text[t])) {
      ++p;
      ++t;
    } else if (star != std::string_view::npos) {
      p = star + 1;
      t = ++retry;
    } else {
      return false;
    }
  }
  return pattern.find_first_not_of('*', p) == std::string_view::npos;
}

bool HfPatterns::add(std::string_view pattern) {
  if (pattern.starts_with("re:")) {
    const std::string expression(pattern.substr(3));
    try {
      regexes_.push_back({std::regex(expression),
                          expression.find_first_of("0123456789") != std::string::npos ||
                              expression.find("\\d") != std::string::npos,
                          {}});
    } catch (const std::regex_error&) {
      return false;
    }
    return true;
  }
  std::string_view local = without_prefix(pattern);
  if (local.starts_with("layers.")) {
    const std::string_view rest = local.substr(7);
    std::int64_t layer = 0;
    const auto [end, error] = std::from_chars(rest.data(), rest.data() + rest.size(), layer);
    const std::string_view after(end, static_cast<std::size_t>(rest.data() + rest.size() - end));
    if (error == std::errc{} && (after.empty() || after.front() == '.')) {
      layers_[layer].emplace_back(after.empty() ? after : after.substr(1));
      return true;
    }
  }
  while (local.ends_with('.')) local.remove_suffix(1);
  if (!local.empty()) globs_.emplace_back(local);
  return true;
}

bool HfPatterns::match_regex(const Regex& regex, std::int64_t layer, std::string_view name) const {
  const auto search = [&](std::int64_t number) {
    return std::ranges::any_of(kPrefixes, [&](std::string_view prefix) {
      const std::string full = fmt::format("{}layers.{}.{}", prefix, number, name);
      return std::regex_search(full, regex.compiled, std::regex_constants::match_continuous);
    });
  };
  if (regex.has_digits) return search(layer);
  const auto found = regex.seen.find(name);
  if (found != regex.seen.end()) return found->second;
  return regex.seen.emplace(std::string(name), search(0)).first->second;
}

bool HfPatterns::match(std::int64_t layer, std::string_view name) const {
  const auto own = layers_.find(layer);
  if (own != layers_.end()) {
    for (const std::string& rest : own->second) {
      if (rest.empty() || rest == "*" || matches_leading(rest, name)) return true;
    }
  }
  if (!globs_.empty()) {
    const std::string full = fmt::format("layers.{}.{}", layer, name);
    for (const std::string& glob : globs_) {
      if (matches_components(glob, full)) return true;
    }
  }
  return std::ranges::any_of(regexes_,
                             [&](const Regex& regex) { return match_regex(regex, layer, name); });
}

bool HfPatterns::match_outside(std::string_view name) const {
  if (std::ranges::any_of(globs_,
                          [&](const std::string& glob) { return glob_match(glob, name); })) {
    return true;
  }
  return std::ranges::any_of(regexes_, [&](const Regex& regex) {
    return std::ranges::any_of(kPrefixes, [&](std::string_view prefix) {
      const std::string full = fmt::format("{}{}", prefix, name);
      return std::regex_search(full, regex.compiled, std::regex_constants::match_continuous);
    });
  });
}

}  // namespace headroom
