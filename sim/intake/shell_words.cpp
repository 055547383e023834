#include "sim/intake/shell_words.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include "sim/kernel/errors.hpp"

namespace headroom {
namespace {

bool is_name_char(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\r'; }

struct Expansion {
  std::string value;
  std::size_t length = 0;  // of the text it replaces
  bool resolved = true;
};

std::size_t name_length(std::string_view text) {
  const auto end = std::find_if_not(text.begin(), text.end(), is_name_char);
  return static_cast<std::size_t>(end - text.begin());
}

// End of a construct that `open` begins and `close` ends, nested; the text's end when it is open.
std::size_t closing(std::string_view text, char open, char close) {
  std::size_t depth = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == open) ++depth;
    if (text[i] == close && --depth == 0) return i + 1;
  }
  return text.size();
}

Expansion kept(std::string_view text) { return {std::string(text), text.size(), false}; }

Expansion expand_braced(std::string_view text, const Variables& variables) {
  const std::size_t length = 1 + closing(text.substr(1), '{', '}');
  const std::string_view inner = text.substr(2, length - 3);
  const std::size_t name_end = name_length(inner);
  const auto found = variables.find(std::string(inner.substr(0, name_end)));
  std::string_view rest = inner.substr(name_end);
  if (rest.starts_with(':')) rest.remove_prefix(1);
  if (found != variables.end() && (rest.empty() || rest.front() == '-' || rest.front() == '?')) {
    return {found->second, length};
  }
  if (name_end > 0 && rest.starts_with('-')) return {std::string(rest.substr(1)), length};
  return kept(text.substr(0, length));
}

// `text` begins with '$'. A lone '$' is literal.
Expansion expand_at(std::string_view text, const Variables& variables) {
  if (text.starts_with("${")) return expand_braced(text, variables);
  if (text.starts_with("$(")) return kept(text.substr(0, 1 + closing(text.substr(1), '(', ')')));
  const std::size_t name_end = name_length(text.substr(1));
  if (name_end == 0) return {"$", 1};
  const auto found = variables.find(std::string(text.substr(1, name_end)));
  if (found == variables.end()) return kept(text.substr(0, 1 + name_end));
  return {found->second, 1 + name_end};
}

// Characters that word processors put in the place of typed ones: curly quotes, and a dash that
// begins an option.
struct Sign {
  std::string_view set;
  std::string_view typed;
};
constexpr std::array kSigns{
    Sign{"\u2018", "'"},      Sign{"\u2019", "'"},      Sign{"\u201c", "\""},
    Sign{"\u201d", "\""},     Sign{" \u2013", " --"},   Sign{" \u2014", " --"},
    Sign{"\n\u2013", "\n--"}, Sign{"\n\u2014", "\n--"}, Sign{"\u00a0", " "}};

// The typed characters. Between two straight quotes a curly one of their kind is text: 'it\u2019s'.
std::string typed(std::string_view text) {
  std::string result;
  result.reserve(text.size());
  char quote = '\0';  // the straight one that is open
  for (std::size_t at = 0; at < text.size();) {
    const std::string_view rest = text.substr(at);
    const auto sign =
        std::ranges::find_if(kSigns, [rest](const Sign& one) { return rest.starts_with(one.set); });
    if (sign != kSigns.end() && (quote == '\0' || sign->typed.front() != quote)) {
      result += sign->typed;
      at += sign->set.size();
      continue;
    }
    const char c = text[at];
    const bool is_escape = c == '\\' && quote != '\'' && at + 1 < text.size();
    const bool is_comment =
        c == '#' && quote == '\0' && (at == 0 || is_blank(text[at - 1]) || text[at - 1] == '\n');
    std::size_t taken = is_escape ? 2 : 1;
    if (is_comment) taken = std::min(text.find('\n', at), text.size()) - at;
    // One that nothing closes opens nothing: its partner may be a curly one.
    if (c == quote) {
      quote = '\0';
    } else if (quote == '\0' && (c == '\'' || c == '"') &&
               text.find(c, at + 1) != std::string_view::npos) {
      quote = c;
    }
    result += text.substr(at, taken);
    at += taken;
  }
  return result;
}

class ShellReader {
 public:
  ShellReader(std::string_view text, const std::string& shown_as, Variables known, bool words_only)
      : text_(text), shown_as_(shown_as), words_only_(words_only), variables_(std::move(known)) {}

  ShellText read() {
    while (at_ < text_.size()) step();
    end_word();
    end_command();
    read_here_documents();  // of a text that ends before them
    return std::move(result_);
  }

 private:
  char here() const { return text_[at_]; }
  char next() const { return at_ + 1 < text_.size() ? text_[at_ + 1] : '\0'; }

  void step() {
    const char c = here();
    if (c == '\\') {
      escape();
    } else if (c == '\'') {
      single_quoted();
    } else if (c == '"') {
      double_quoted();
    } else if (is_blank(c) || (c == '\n' && words_only_)) {
      end_word();
      ++at_;
    } else if (words_only_) {
      add(c);
    } else {
      step_in_shell(c);
    }
  }

  void step_in_shell(char c) {
    if (c == '#' && !word_) {
      at_ = std::min(text_.find('\n', at_), text_.size());
    } else if ((c == '^' || c == '`') && !word_ && is_line_end(at_ + 1)) {
      at_ = text_.find('\n', at_) + 1;  // cmd.exe and PowerShell continue a line so
    } else if (c == '$') {
      expand(false);
    } else if (c == '`') {
      at_quote_end('`');
    } else if (c == '<' || c == '>') {
      redirection();
    } else if (c == '&' && next() == '>') {
      ++at_;
      redirection();
    } else if (c == '\n' || c == ';' || c == '&' || c == '|' || c == '(' || c == ')') {
      end_word();
      end_command();
      ++at_;
      if (c == '\n') read_here_documents();
    } else {
      add(c);
    }
  }

  // Blanks and then the end of a line that another one follows.
  [[nodiscard]] bool is_line_end(std::size_t at) const {
    while (at < text_.size() && is_blank(text_[at])) ++at;
    return at < text_.size() && text_[at] == '\n';
  }

  void add(char c) {
    if (!word_) word_.emplace();
    *word_ += c;
    ++at_;
  }

  void escape() {
    std::size_t line_end = at_ + 1;
    // In a shell a blank after the backslash ends the continuation; in pasted text a continuation
    // was meant.
    while (line_end < text_.size() && is_blank(text_[line_end])) ++line_end;
    if (line_end >= text_.size() || text_[line_end] == '\n') {
      at_ = std::min(line_end + 1, text_.size());
      return;
    }
    ++at_;
    add(here());
  }

  void single_quoted() {
    const std::size_t end = text_.find('\'', at_ + 1);
    if (end == std::string_view::npos) throw open_quote(at_);
    if (!word_) word_.emplace();
    word_->append(text_.substr(at_ + 1, end - at_ - 1));
    at_ = end + 1;
  }

  void double_quoted() {
    const std::size_t begin = at_;
    if (!word_) word_.emplace();
    ++at_;
    while (at_ < text_.size() && here() != '"') {
      if (here() == '\\' && next() == '\n') {
        at_ += 2;
      } else if (here() == '\\' && std::string_view("\"\\$`").find(next()) != std::string::npos) {
        ++at_;
        add(here());
      } else if (here() == '$' && !words_only_) {
        expand(true);
      } else {
        add(here());
      }
    }
    if (at_ >= text_.size()) throw open_quote(begin);
    ++at_;
  }

  void at_quote_end(char quote) {
    const std::size_t end = text_.find(quote, at_ + 1);
    if (end == std::string_view::npos) throw open_quote(at_);
    result_.unresolved.emplace_back(text_.substr(at_, end + 1 - at_));
    while (at_ <= end) add(here());
  }

  void expand(bool quoted) {
    const Expansion expansion = expand_at(text_.substr(at_), variables_);
    if (!expansion.resolved) result_.unresolved.push_back(expansion.value);
    const std::size_t after = at_ + expansion.length;
    for (const char c : expansion.value) {
      // The shell splits what an unquoted variable holds into words.
      if (!quoted && expansion.resolved && (is_blank(c) || c == '\n')) {
        end_word();
      } else {
        add(c);
      }
    }
    at_ = after;
  }

  void redirection() {
    refuse_placeholder();
    // The digits of 2>&1 are a file descriptor, no word.
    const bool descriptor =
        word_ && std::ranges::all_of(*word_, [](char c) { return c >= '0' && c <= '9'; });
    if (descriptor) word_.reset();
    end_word();
    if (text_.substr(at_).starts_with("<<") && !text_.substr(at_).starts_with("<<<")) {
      return begin_here_document();
    }
    writes_ = here() == '>';
    while (at_ < text_.size() && (here() == '<' || here() == '>' || here() == '&')) ++at_;
    drop_next_word_ = true;
  }

  // "--model <path>": somebody's template, not filled in.
  void refuse_placeholder() const {
    const std::string_view rest = text_.substr(at_);
    const std::size_t end = rest.find_first_of("> \t\n");
    const bool is_named = rest.size() > 1 && is_name_char(rest[1]) && here() == '<';
    if (!is_named || end == std::string_view::npos || rest[end] != '>') return;
    throw ConfigError(
        Complaint{.kind = ErrorKind::missing,
                  .origin = shown_as_,
                  .problem = fmt::format("{} at character {} stands for something: write it there",
                                         rest.substr(0, end + 1), at_ + 1)});
  }

  void begin_here_document() {
    at_ += 2;
    HereDocument document;
    document.strips_tabs = at_ < text_.size() && here() == '-';
    if (document.strips_tabs) ++at_;
    while (at_ < text_.size() && is_blank(here())) ++at_;
    while (at_ < text_.size() &&
           std::string_view(" \t\r\n;&|<>()").find(here()) == std::string_view::npos) {
      const bool quotes = here() == '\'' || here() == '"' || here() == '\\';
      document.is_literal = document.is_literal || quotes;
      if (!quotes) document.end += here();
      ++at_;
    }
    here_documents_.push_back(std::move(document));
  }

  // At the beginning of the line after them. What is written to a file is a file of the text.
  void read_here_documents() {
    for (const HereDocument& document : std::exchange(here_documents_, {})) {
      std::string body;
      while (true) {
        if (at_ >= text_.size()) {
          throw ConfigError(Complaint{
              .origin = shown_as_,
              .problem = fmt::format("the here-document has no end: expected a line with {}",
                                     document.end)});
        }
        const std::size_t end = std::min(text_.find('\n', at_), text_.size());
        std::string_view line = text_.substr(at_, end - at_);
        at_ = std::min(end + 1, text_.size());
        if (line.ends_with('\r')) line.remove_suffix(1);
        while (document.strips_tabs && line.starts_with('\t')) line.remove_prefix(1);
        if (line == document.end) break;
        body += line;
        body += '\n';
      }
      if (!document.is_literal) body = expand_variables(body, variables_, result_.unresolved);
      if (!document.file.empty()) result_.files[document.file] = std::move(body);
    }
  }

  void end_word() {
    if (!word_) return;
    if (drop_next_word_) {
      drop_next_word_ = false;
      if (writes_) target_ = std::move(*word_);
    } else {
      words_.push_back(std::move(*word_));
    }
    word_.reset();
  }

  void end_command() {
    drop_next_word_ = false;
    const bool is_tee = words_.size() > 1 && words_.front() == "tee";
    const std::string file = is_tee ? words_.back() : std::exchange(target_, {});
    for (HereDocument& document : here_documents_) {
      if (document.file.empty()) document.file = file;
    }
    const bool exporting = !words_only_ && !words_.empty() && words_.front() == "export";
    std::size_t first = exporting ? 1 : 0;
    Variables assigned;
    while (!words_only_ && first < words_.size() && assignment_at(words_[first]) > 0) {
      const std::string& word = words_[first];
      const std::size_t equals = assignment_at(word);
      assigned[word.substr(0, equals)] = word.substr(equals + 1);
      ++first;
    }
    if (exporting || first == words_.size()) {
      for (const auto& [name, value] : assigned) {
        variables_[name] = value;
        if (exporting) exported_[name] = value;
      }
      for (; exporting && first < words_.size(); ++first) {
        const auto known = variables_.find(words_[first]);
        if (known != variables_.end()) exported_.insert(*known);
      }
    } else {
      ShellCommand command{exported_,
                           {words_.begin() + static_cast<std::ptrdiff_t>(first), words_.end()}};
      for (const auto& [name, value] : assigned) command.environment[name] = value;
      result_.commands.push_back(std::move(command));
    }
    words_.clear();
  }

  ConfigError open_quote(std::size_t at) const {
    const std::string_view start = text_.substr(at, 20);
    return ConfigError(
        Complaint{.origin = shown_as_,
                  .problem = fmt::format("unclosed quote at character {}: {}", at + 1,
                                         start.substr(0, start.find('\n')))});
  }

  struct HereDocument {
    std::string end;
    std::string file = {};     // that its command writes, or the one behind a pipe; empty: none
    bool strips_tabs = false;  // <<-
    bool is_literal = false;   // <<'EOF': variables stay
  };

  std::string_view text_;
  const std::string& shown_as_;
  bool words_only_;
  std::size_t at_ = 0;
  std::optional<std::string> word_;
  bool drop_next_word_ = false;
  bool writes_ = false;                       // the redirection does that the next word belongs to
  std::string target_;                        // that the command writes to
  std::vector<HereDocument> here_documents_;  // whose texts begin with the next line
  std::vector<std::string> words_;
  Variables variables_;
  Variables exported_;
  ShellText result_;
};

}  // namespace

ShellText read_shell(std::string_view text, const std::string& shown_as, const Variables& known) {
  const std::string as_typed = typed(text);
  return ShellReader(as_typed, shown_as, known, false).read();
}

std::vector<std::string> split_words(std::string_view text, const std::string& shown_as) {
  ShellText result = ShellReader(text, shown_as, {}, true).read();
  return result.commands.empty() ? std::vector<std::string>{}
                                 : std::move(result.commands.front().words);
}

std::string expand_variables(std::string_view text, const Variables& variables,
                             std::vector<std::string>& unresolved) {
  std::string result;
  while (!text.empty()) {
    if (text.starts_with("$$")) {
      result += '$';
      text.remove_prefix(2);
    } else if (text.front() == '$') {
      const Expansion expansion = expand_at(text, variables);
      if (!expansion.resolved) unresolved.push_back(expansion.value);
      result += expansion.value;
      text.remove_prefix(expansion.length);
    } else {
      result += text.front();
      text.remove_prefix(1);
    }
  }
  return result;
}

std::size_t assignment_at(std::string_view word) {
  const std::size_t equals = name_length(word);
  const bool digit_first = !word.empty() && word.front() >= '0' && word.front() <= '9';
  return equals > 0 && !digit_first && equals < word.size() && word[equals] == '=' ? equals : 0;
}

std::string shell_word(const std::string& word) {
  const bool is_plain = !word.empty() && std::ranges::all_of(word, [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           std::string_view("-_./=:,@+%").find(c) != std::string_view::npos;
  });
  if (is_plain) return word;
  std::string text = "'";
  for (const char c : word) {
    if (c == '\'') text += "'\\'";
    text += c;
  }
  return text + "'";
}

std::string shell_line(const std::vector<std::string>& words) {
  std::string line;
  for (const std::string& word : words) {
    line += (line.empty() ? "" : " ") + shell_word(word);
  }
  return line;
}

}  // namespace headroom
