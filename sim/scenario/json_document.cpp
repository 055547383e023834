#include "sim/scenario/json_document.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>
#include <set>
#include <vector>

#include "sim/kernel/text_file.hpp"

namespace headroom {
namespace {

constexpr std::size_t kShownValueBytes = 60;

std::string shown(const Json& value) {
  std::string text = value.dump(-1, ' ', false, Json::error_handler_t::replace);
  if (text.size() > kShownValueBytes) {
    text.resize(kShownValueBytes);
    while (!text.empty() && (static_cast<unsigned char>(text.back()) & 0xC0) == 0x80) {
      text.pop_back();  // no half character of UTF-8
    }
    text += "...";
  }
  return text;
}

// Builds the document and refuses what the plain parser lets pass: duplicate keys, deep nesting.
class StrictReader final : public nlohmann::json_sax<Json> {
 public:
  StrictReader(std::string_view text, const std::string& name) : text_(text), name_(name) {}

  [[nodiscard]] Json take() { return std::move(root_); }

  bool null() override { return add(nullptr); }
  bool boolean(bool value) override { return add(value); }
  bool number_integer(std::int64_t value) override { return add(value); }
  bool number_unsigned(std::uint64_t value) override { return add(value); }
  bool number_float(double value, const std::string&) override { return add(value); }
  bool string(std::string& value) override { return add(std::move(value)); }
  bool binary(Json::binary_t&) override { return false; }

  bool start_object(std::size_t) override { return open(Json::object()); }
  bool start_array(std::size_t) override { return open(Json::array()); }
  bool end_object() override { return close(); }
  bool end_array() override { return close(); }

  bool key(std::string& key) override {
    Level& level = levels_.back();
    level.key = key;
    if (!level.keys.insert(key).second) {
      throw ConfigError(Complaint{.origin = name_,
                                  .pointer = here(),
                                  .problem = "duplicate key: each key may appear once"});
    }
    return true;
  }

  bool parse_error(std::size_t position, const std::string&,
                   const nlohmann::detail::exception& error) override {
    const std::size_t end = std::min(position == 0 ? 0 : position - 1, text_.size());
    const auto begin = text_.begin();
    const auto stop = begin + static_cast<std::ptrdiff_t>(end);
    const auto line = std::count(begin, stop, '\n') + 1;
    const std::size_t newline = text_.substr(0, end).rfind('\n');
    const std::size_t column = newline == std::string_view::npos ? end + 1 : end - newline;
    throw ConfigError(Complaint{.kind = ErrorKind::unreadable,
                                .origin = fmt::format("{}:{}:{}", name_, line, column),
                                .problem = "not valid JSON: " + cause_of(error.what())});
  }

 private:
  struct Level {
    Json* node = nullptr;
    std::string key;
    std::set<std::string> keys;
  };

  // The parser's text without its own position and its dump of the last token over several lines.
  static std::string cause_of(std::string_view what) {
    for (const std::string_view mark : {": syntax error ", "] "}) {
      const std::size_t at = what.find(mark);
      if (at != std::string_view::npos) what.remove_prefix(at + mark.size());
    }
    std::string cause;
    for (const char c : what) cause += static_cast<unsigned char>(c) < 0x20 ? ' ' : c;
    return cause;
  }

  std::string here() const {
    std::string pointer;
    for (const Level& level : levels_) {
      pointer += '/';
      // The element being read is already in its array.
      pointer += level.node->is_array() ? std::to_string(level.node->size() - 1)
                                        : pointer_token(level.key);
    }
    return pointer;
  }

  Json* place(Json value) {
    if (levels_.empty()) {
      root_ = std::move(value);
      return &root_;
    }
    Level& level = levels_.back();
    if (level.node->is_array()) {
      level.node->push_back(std::move(value));
      return &level.node->back();
    }
    return &((*level.node)[level.key] = std::move(value));
  }

  bool add(Json value) {
    place(std::move(value));
    return true;
  }

  bool open(Json container) {
    if (levels_.size() >= kMaxJsonDepth) {
      throw ConfigError(
          Complaint{.kind = ErrorKind::unreadable,
                    .origin = name_,
                    .problem = fmt::format("nested deeper than {} levels", kMaxJsonDepth)});
    }
    levels_.push_back(Level{place(std::move(container)), {}, {}});
    return true;
  }

  bool close() {
    levels_.pop_back();
    return true;
  }

  std::string_view text_;
  const std::string& name_;
  Json root_;
  std::vector<Level> levels_;
};

// A key of a JSON pointer without its escapes.
std::string unescaped(std::string_view token) {
  std::string key;
  for (std::size_t i = 0; i < token.size(); ++i) {
    const bool escape = token[i] == '~' && i + 1 < token.size();
    if (escape && (token[i + 1] == '0' || token[i + 1] == '1')) {
      key += token[++i] == '0' ? '~' : '/';
    } else {
      key += token[i];
    }
  }
  return key;
}

// `size` when the key is no number below it.
std::size_t list_index(const std::string& key, std::size_t size) {
  std::size_t index = 0;
  const char* const end = key.data() + key.size();
  const auto [stop, error] = std::from_chars(key.data(), end, index);
  return error == std::errc() && stop == end ? std::min(index, size) : size;
}

}  // namespace

JsonDocument parse_json(std::string_view text, std::string name) {
  JsonDocument document;
  document.name = std::move(name);
  StrictReader reader(text, document.name);
  // Comments are allowed, as the published schema's editors do for scenario files.
  Json::sax_parse(text.begin(), text.end(), &reader, nlohmann::detail::input_format_t::json, true,
                  true);
  document.root = reader.take();
  return document;
}

JsonDocument read_json_file(const std::string& path) {
  return parse_json(read_text_file(path), path);
}

void set_value(JsonDocument& document, std::string_view assignment, const std::string& given_as) {
  const std::string origin = given_as.empty() ? fmt::format("--set {}", assignment) : given_as;
  const std::size_t equals = assignment.find('=');
  if (equals == std::string_view::npos || equals == 0) {
    throw ConfigError(Complaint{.origin = origin,
                                .problem = "expected path=value, e.g. engine.max_num_seqs=128"});
  }
  const std::string_view path = assignment.substr(0, equals);
  const std::string text(assignment.substr(equals + 1));
  Json value = Json::parse(text, nullptr, false);
  if (value.is_discarded()) value = text;

  set_at(document, path_keys(path, origin), std::move(value), origin);
}

std::vector<std::string> path_keys(std::string_view path, const std::string& origin,
                                   const std::string& pointer) {
  const bool is_pointer = path.starts_with('/');
  if (is_pointer) path.remove_prefix(1);
  std::vector<std::string> keys;
  for (std::size_t begin = 0; begin <= path.size();) {
    const std::size_t end = std::min(path.find(is_pointer ? '/' : '.', begin), path.size());
    keys.push_back(is_pointer ? unescaped(path.substr(begin, end - begin))
                              : std::string(path.substr(begin, end - begin)));
    if (keys.back().empty()) {
      throw ConfigError(
          Complaint{.origin = origin, .pointer = pointer, .problem = "empty name in the path"});
    }
    begin = end + 1;
  }
  return keys;
}

std::string pointer_of(std::span<const std::string> keys) {
  std::string pointer;
  for (const std::string& key : keys) pointer += '/' + pointer_token(key);
  return pointer;
}

namespace {

// A release is one of its engine: where `keys` name another engine for `section`, the release that
// its file gives goes. One that an override has given stays, for its own check.
void drop_release(const JsonDocument& document, std::span<const std::string> keys, Json& section,
                  const Json& value) {
  const bool names_engine = keys.size() >= 2 && keys.back() == "name" && keys.end()[-2] == "engine";
  if (!names_engine || !section.is_object() || !section.contains("name")) return;
  const std::string release = pointer_of(keys.first(keys.size() - 1)) + "/version";
  if (section["name"] != value && !document.overrides.contains(release)) section.erase("version");
}

}  // namespace

void set_at(JsonDocument& document, std::span<const std::string> keys, Json value,
            const std::string& origin) {
  Json* node = &document.root;
  for (std::size_t i = 0; i < keys.size(); ++i) {
    const auto here = [&] { return pointer_of(keys.first(i)); };
    const bool names = node->is_string() || (node->is_number() && main_key(here()) != "name");
    if (names) {  // a section by its main value
      *node = Json{{std::string(main_key(here())), std::move(*node)}};
    }
    if (node->is_array()) {
      const std::size_t index = list_index(keys[i], node->size());
      if (index == node->size()) {
        throw ConfigError(
            Complaint{.origin = origin,
                      .problem = fmt::format("{} is a list of {}: expected a number below that",
                                             here(), node->size())});
      }
      node = &(*node)[index];
      continue;
    }
    if (i + 1 == keys.size()) drop_release(document, keys, *node, value);
    if (!node->is_object()) {
      throw ConfigError(Complaint{.origin = origin,
                                  .problem = fmt::format("{} is a value, not a section", here())});
    }
    node = &(*node)[keys[i]];
    if (node->is_null() && i + 1 < keys.size()) *node = Json::object();
  }
  *node = std::move(value);
  document.overrides[pointer_of(keys)] = origin;
}

std::string_view main_key(std::string_view pointer) {
  struct Main {
    std::string_view section;
    std::string_view key;
  };
  constexpr std::array kMains{Main{"/prompt", "tokens"}, Main{"/output", "tokens"},
                              Main{"/arrivals", "request_rate"}, Main{"/closed_loop", "users"},
                              Main{"/trace", "file"}};
  constexpr std::string_view kOfWorkload = "/workload/";
  if (!pointer.starts_with(kOfWorkload)) return "name";
  const auto found = std::ranges::find_if(
      kMains, [&](const Main& main) { return pointer.ends_with(main.section); });
  return found == kMains.end() ? "name" : found->key;
}

std::string origin_of(const JsonDocument& document, const std::string& pointer) {
  for (std::string at = pointer; !at.empty(); at.resize(at.rfind('/'))) {
    const auto found = document.overrides.find(at);
    if (found != document.overrides.end()) return found->second;
  }
  return document.name;
}

ConfigError value_error(const JsonDocument& document, const std::string& pointer, const Json& value,
                        std::string_view allowed, std::string_view nearest, ErrorKind kind) {
  return ConfigError(Complaint{.kind = kind,
                               .origin = origin_of(document, pointer),
                               .pointer = pointer.empty() ? "/" : pointer,
                               .value = shown(value),
                               .problem = std::string(allowed),
                               .nearest = std::string(nearest)});
}

ConfigError key_error(const JsonDocument& document, const std::string& pointer,
                      std::string_view problem, ErrorKind kind, std::string_view nearest) {
  return ConfigError(Complaint{.kind = kind,
                               .origin = origin_of(document, pointer),
                               .pointer = pointer.empty() ? "/" : pointer,
                               .problem = std::string(problem),
                               .nearest = std::string(nearest)});
}

std::string pointer_token(std::string_view key) {
  std::string token;
  for (const char c : key) {
    if (c == '~') {
      token += "~0";
    } else if (c == '/') {
      token += "~1";
    } else if (static_cast<unsigned char>(c) < 0x20) {
      token += '?';
    } else {
      token += c;
    }
  }
  return token;
}

}  // namespace headroom
