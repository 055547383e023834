#include "sim/intake/yaml_subset.hpp"

#include <fmt/format.h>

#include <optional>
#include <utility>
#include <vector>

#include "sim/intake/values.hpp"
#include "sim/intake/yaml_flow.hpp"
#include "sim/kernel/errors.hpp"

namespace headroom {
namespace {

struct Line {
  std::size_t number = 0;  // from 1
  std::size_t indent = 0;
  std::string_view text;  // without indent, comment and line end; empty for a blank line
  std::string_view raw;   // the whole line
};

class YamlReader {
 public:
  YamlReader(std::string_view text, const std::string& name) : name_(name) {
    std::size_t number = 0;
    for (std::string_view raw : split(text, '\n')) {
      if (raw.ends_with('\r')) raw.remove_suffix(1);
      Line line{.number = ++number, .text = yaml_without_comment(raw), .raw = raw};
      line.indent = line.text.find_first_not_of(' ');
      line.text = trimmed(line.text);
      if (line.text.empty()) line.indent = 0;
      lines_.push_back(line);
    }
  }

  Json read() {
    skip_blank();
    if (!at_end() && (here().text == "---" || here().text.starts_with("%"))) ++at_;
    skip_blank();
    Json root = at_end() ? Json(nullptr) : node(here().indent);
    skip_blank();
    if (!at_end() && here().text == "...") return root;
    if (!at_end()) throw error(here(), "a second document, or a line that is indented too little");
    return root;
  }

 private:
  bool at_end() const { return at_ >= lines_.size(); }
  const Line& here() const { return lines_[at_]; }

  ConfigError error(const Line& line, std::string_view what) const {
    return ConfigError(fmt::format("{}:{}: {}", name_, line.number, what));
  }

  void skip_blank() {
    while (!at_end() && here().text.empty()) ++at_;
  }

  void check_plain(const Line& line, std::string_view text) const {
    if (line.raw.substr(0, line.raw.find_first_not_of(" \t")).find('\t') != std::string::npos) {
      throw error(line, "a tab in the indentation: YAML takes spaces");
    }
    if (text.starts_with('&') || text.starts_with('*')) {
      throw error(line, "anchors (&) and aliases (*) are not read: write the value out");
    }
    if (text.starts_with('!')) throw error(line, "tags (!) are not read");
    if (text.starts_with("<<:")) {
      throw error(line, "merges (<<) are not read: write the values out");
    }
  }

  // The node whose first line is here, indented by `indent`.
  Json node(std::size_t indent) {
    if (++depth_ > kMaxJsonDepth) throw error(here(), "nested too deep");
    Json result = shallow_node(indent);
    --depth_;
    return result;
  }

  Json shallow_node(std::size_t indent) {
    check_plain(here(), here().text);
    if (here().text == "-" || here().text.starts_with("- ")) return sequence(indent);
    if (yaml_key_end(here().text)) return mapping(indent);
    const Line& line = here();
    ++at_;
    return value(line, line.text, indent == 0 ? 0 : indent - 1);
  }

  Json sequence(std::size_t indent) {
    Json list = Json::array();
    while (!at_end() && here().indent == indent &&
           (here().text == "-" || here().text.starts_with("- "))) {
      Line& line = lines_[at_];
      const std::string_view item = trimmed(line.text.substr(1));
      check_plain(line, item);
      const bool nested = item == "-" || item.starts_with("- ") || yaml_key_end(item).has_value();
      if (nested) {
        // The item's own first line, as if it stood below the dash.
        line.indent += static_cast<std::size_t>(item.data() - line.text.data());
        line.text = item;
        list.push_back(node(line.indent));
      } else {
        ++at_;
        list.push_back(value(line, item, indent));
      }
      skip_blank();
    }
    return list;
  }

  Json mapping(std::size_t indent) {
    Json map = Json::object();
    while (!at_end() && here().indent == indent && here().text != "...") {
      const Line& line = here();
      check_plain(line, line.text);
      const std::optional<std::size_t> colon = yaml_key_end(line.text);
      if (!colon) throw error(line, "a key with a colon is expected here");
      const std::string key = yaml_scalar(line.text.substr(0, *colon));
      if (map.contains(key)) throw error(line, fmt::format("duplicate key '{}'", key));
      const std::string_view rest = trimmed(line.text.substr(*colon + 1));
      check_plain(line, rest);
      ++at_;
      map[key] = value(line, rest, indent, true);
      skip_blank();
      if (!at_end() && here().indent > indent) throw error(here(), "indented too much");
    }
    return map;
  }

  // What stands behind "key:" or "-" on `line`, and on the lines below that are indented deeper.
  Json value(const Line& line, std::string_view text, std::size_t parent, bool of_key = false) {
    if (text.empty()) {
      skip_blank();
      if (at_end()) return nullptr;
      const bool dash = here().text == "-" || here().text.starts_with("- ");
      // The items of a key's sequence may stand at the key's own indent.
      const bool below = here().indent > parent || (of_key && dash && here().indent == parent);
      return below ? node(here().indent) : Json(nullptr);
    }
    if (text.front() == '|' || text.front() == '>') return block_scalar(line, text, parent);
    if (text.front() == '[' || text.front() == '{' || text.front() == '"' || text.front() == '\'') {
      return flow(line, std::string(text), parent);
    }
    std::string folded(text);
    skip_blank();
    while (!at_end() && here().indent > parent) {
      if (yaml_key_end(here().text)) throw error(here(), "a key inside a text");
      folded += ' ';
      folded += here().text;
      ++at_;
      skip_blank();
    }
    return yaml_plain(folded);
  }

  Json flow(const Line& line, std::string text, std::size_t parent) {
    while (!yaml_flow_closed(text)) {
      if (at_end() || (!here().text.empty() && here().indent <= parent)) {
        throw error(line, "a bracket or quote that is not closed");
      }
      text += ' ';
      text += here().text;
      ++at_;
    }
    try {
      return read_yaml_flow(text);
    } catch (const ConfigError& cause) {
      throw error(line, cause.what());
    }
  }

  Json block_scalar(const Line& line, std::string_view header, std::size_t parent) {
    const bool folds = header.front() == '>';
    if (header.find_first_not_of("+-", 1) != std::string_view::npos) {
      throw error(line, "a block scalar begins with |, >, and at most a + or - behind it");
    }
    std::string text;
    std::optional<std::size_t> indent;
    for (; !at_end(); ++at_) {
      // Comments are part of the text here, so the raw line counts.
      const std::string_view raw = here().raw;
      const std::size_t begin = raw.find_first_not_of(' ');
      if (begin == std::string_view::npos) {
        text += '\n';
        continue;
      }
      if (begin <= parent && !(parent == 0 && begin > 0)) break;
      if (!indent) indent = begin;
      if (begin < *indent) break;
      text += raw.substr(*indent);
      text += folds ? ' ' : '\n';
    }
    while (!text.empty() && (text.back() == '\n' || text.back() == ' ')) text.pop_back();
    return text;
  }

  const std::string& name_;
  std::vector<Line> lines_;
  std::size_t at_ = 0;
  std::size_t depth_ = 0;
};

}  // namespace

Json read_yaml(std::string_view text, const std::string& name) {
  return YamlReader(text, name).read();
}

}  // namespace headroom
