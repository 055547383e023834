#include "sim/intake/yaml_flow.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "sim/intake/values.hpp"
#include "sim/kernel/errors.hpp"

namespace headroom {
namespace {

// Behind the quoted text that begins at `text`; npos when it is open.
std::size_t quoted_length(std::string_view text) {
  const char quote = text.front();
  for (std::size_t i = 1; i < text.size(); ++i) {
    if (quote == '"' && text[i] == '\\') {
      ++i;
    } else if (text[i] == quote) {
      const bool doubled = quote == '\'' && i + 1 < text.size() && text[i + 1] == '\'';
      if (!doubled) return i + 1;
      ++i;
    }
  }
  return std::string_view::npos;
}

class FlowReader {
 public:
  explicit FlowReader(std::string_view text) : rest_(text) {}

  Json read() {
    Json value = node();
    if (!trimmed(rest_).empty()) throw ConfigError(fmt::format("unexpected '{}'", rest_));
    return value;
  }

 private:
  char peek() {
    rest_.remove_prefix(std::min(rest_.find_first_not_of(" \t"), rest_.size()));
    if (rest_.empty()) throw ConfigError("a bracket that is not closed");
    return rest_.front();
  }

  bool take(char c) {
    if (peek() != c) return false;
    rest_.remove_prefix(1);
    return true;
  }

  Json node() {
    if (peek() == '[' || peek() == '{') {
      if (++depth_ > kMaxJsonDepth) throw ConfigError("nested too deep");
      Json result = take('[') ? list() : map();
      --depth_;
      return result;
    }
    if (peek() == '&' || peek() == '*') throw ConfigError("anchors and aliases are not read");
    return plain(",]}");
  }

  Json list() {
    Json result = Json::array();
    while (!take(']')) {
      result.push_back(node());
      if (peek() != ']' && !take(',')) throw ConfigError("a comma or ] is missing");
    }
    return result;
  }

  Json map() {
    take('{');
    Json result = Json::object();
    while (!take('}')) {
      const Json key = plain(":,}");
      if (!key.is_string()) throw ConfigError("a key is missing");
      Json& value = result[key.get<std::string>()];
      if (take(':')) value = peek() == ',' || peek() == '}' ? Json(nullptr) : node();
      if (peek() != '}' && !take(',')) throw ConfigError("a comma or } is missing");
    }
    return result;
  }

  Json plain(std::string_view stops) {
    const char first = peek();
    if (first == '"' || first == '\'') {
      const std::size_t length = quoted_length(rest_);
      if (length == std::string_view::npos) throw ConfigError("a quote that is not closed");
      std::string text = yaml_scalar(rest_.substr(0, length));
      rest_.remove_prefix(length);
      return text;
    }
    const std::size_t length = std::min(rest_.find_first_of(stops), rest_.size());
    const std::string_view text = trimmed(rest_.substr(0, length));
    rest_.remove_prefix(length);
    return yaml_plain(text);
  }

  std::string_view rest_;
  std::size_t depth_ = 0;
};

}  // namespace

std::string_view yaml_without_comment(std::string_view line) {
  std::size_t at = 0;
  while (at < line.size()) {
    const char c = line[at];
    const bool starts = at == 0 || std::string_view(" \t[{,").find(line[at - 1]) != line.npos;
    if (c == '#' && (at == 0 || line[at - 1] == ' ' || line[at - 1] == '\t')) {
      return line.substr(0, at);
    }
    if ((c == '"' || c == '\'') && starts) {
      const std::size_t length = quoted_length(line.substr(at));
      if (length == std::string_view::npos) return line;
      at += length;
    } else {
      ++at;
    }
  }
  return line;
}

std::optional<std::size_t> yaml_key_end(std::string_view text) {
  std::size_t from = 0;
  if (text.starts_with('"') || text.starts_with('\'')) {
    from = quoted_length(text);
    if (from == std::string_view::npos) return std::nullopt;
  } else if (text.starts_with('[') || text.starts_with('{')) {
    return std::nullopt;
  }
  for (std::size_t i = from; i < text.size(); ++i) {
    if (text[i] == ':' && (i + 1 == text.size() || text[i + 1] == ' ')) return i;
    // A quoted key is followed by its colon at once, else it is a quoted text.
    if (from > 0 && text[i] != ' ') return std::nullopt;
  }
  return std::nullopt;
}

std::string yaml_scalar(std::string_view text) {
  text = trimmed(text);
  if (text.size() < 2 || (text.front() != '"' && text.front() != '\'')) return std::string(text);
  const char quote = text.front();
  const std::string_view inner = text.substr(1, text.size() - 2);
  std::string result;
  for (std::size_t i = 0; i < inner.size(); ++i) {
    const bool escaped = (quote == '"' && inner[i] == '\\') || (quote == '\'' && inner[i] == '\'');
    if (escaped && i + 1 < inner.size()) ++i;
    const bool control = escaped && quote == '"';
    result += control && inner[i] == 'n' ? '\n' : control && inner[i] == 't' ? '\t' : inner[i];
  }
  return result;
}

Json yaml_plain(std::string_view text) {
  text = trimmed(text);
  if (text.empty() || text == "~" || text == "null") return nullptr;
  return yaml_scalar(text);
}

bool yaml_flow_closed(std::string_view text) {
  std::size_t depth = 0;
  std::size_t at = 0;
  while (at < text.size()) {
    const char c = text[at];
    if (c == '"' || (c == '\'' && (at == 0 || text[at - 1] == ' ' || text[at - 1] == '[' ||
                                   text[at - 1] == ','))) {
      const std::size_t length = quoted_length(text.substr(at));
      if (length == std::string_view::npos) return false;
      at += length;
      continue;
    }
    if (c == '[' || c == '{') ++depth;
    if ((c == ']' || c == '}') && depth > 0) --depth;
    ++at;
  }
  return depth == 0;
}

Json read_yaml_flow(std::string_view text) { return FlowReader(text).read(); }

}  // namespace headroom
