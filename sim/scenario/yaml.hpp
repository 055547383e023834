#pragma once
// YAML as compose files, engine settings and scenarios are written in: one document, anchors,
// aliases and merge keys (<<) included.
//
// An empty value, "~" and "null" without quotes are null; what ends a block text is no part of it.
// ConfigError `name:line: ...` for what is no YAML, tags, duplicate keys, keys that are no texts, a
// second document, and a document that grows beyond 100,000 values with its aliases.

#include <string>
#include <string_view>
#include <vector>

#include "sim/options/json.hpp"

namespace headroom {

enum class YamlScalars {
  texts,  // as written: what "8" or "off" means is the reader's to say
  typed   // without quotes, true and false are switches, and what JSON reads as a number is one
};
[[nodiscard]] Json read_yaml(std::string_view text, const std::string& name,
                             YamlScalars scalars = YamlScalars::texts);
// Any number of documents, "---" between them; empty ones are left out.
[[nodiscard]] std::vector<Json> read_yaml_documents(std::string_view text, const std::string& name,
                                                    YamlScalars scalars = YamlScalars::texts);

}  // namespace headroom
