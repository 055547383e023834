#include "sim/deploy/yaml_text.hpp"

#include <yaml-cpp/emitter.h>
#include <yaml-cpp/emittermanip.h>
#include <yaml-cpp/null.h>

#include <algorithm>
#include <array>
#include <string_view>

#include "sim/kernel/visible_text.hpp"

namespace headroom {
namespace {

// YAML 1.1 and 1.2 read these without quotes as something else than texts.
constexpr std::array<std::string_view, 9> kWords{"true", "false", "yes", "no", "on",
                                                 "off",  "null",  "y",   "n"};

bool is_plain(const std::string& text) {
  constexpr std::string_view kLater =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_./:@-";
  if (text.empty() || text.ends_with(':')) return false;
  const char first = text.front();
  const bool letter = (first >= 'a' && first <= 'z') || (first >= 'A' && first <= 'Z');
  const bool flag = text.starts_with("--") && text.size() > 3;  // "---" is a document's start
  if (!letter && !flag && first != '/') return false;
  if (text.find_first_not_of(kLater) != std::string::npos) return false;
  std::string lower = text;
  std::ranges::transform(lower, lower.begin(), [](char c) {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c;
  });
  return std::ranges::find(kWords, lower) == kWords.end();
}

void emit_text(YAML::Emitter& out, const std::string& text) {
  if (text.find('\n') != std::string::npos) {
    out << YAML::Literal << text;
  } else if (is_plain(text)) {
    out << text;
  } else {
    out << YAML::DoubleQuoted << text;
  }
}

void emit_value(YAML::Emitter& out, const Json& value) {
  if (value.is_object()) {
    if (value.empty()) out << YAML::Flow;
    out << YAML::BeginMap;
    for (const auto& [key, inner] : value.items()) {
      out << YAML::Key;
      emit_text(out, key);
      out << YAML::Value;
      emit_value(out, inner);
    }
    out << YAML::EndMap;
  } else if (value.is_array()) {
    if (value.empty()) out << YAML::Flow;
    out << YAML::BeginSeq;
    for (const Json& inner : value) emit_value(out, inner);
    out << YAML::EndSeq;
  } else if (value.is_string()) {
    emit_text(out, value.get<std::string>());
  } else if (value.is_null()) {
    out << YAML::Null;
  } else {
    out << value.dump();  // true, 8, 0.5
  }
}

}  // namespace

std::string yaml_text(const Json& value) {
  YAML::Emitter out;
  emit_value(out, value);
  return std::string(out.c_str()) + "\n";
}

std::string comment_text(const std::vector<std::string>& lines) {
  std::string text;
  for (const std::string& line : lines) {
    text += line.empty() ? "#\n" : "# " + visible_text(line) + "\n";
  }
  return text;
}

}  // namespace headroom
