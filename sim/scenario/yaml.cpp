#include "sim/scenario/yaml.hpp"

#include <fmt/format.h>
#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/exceptions.h>
#include <yaml-cpp/mark.h>
#include <yaml-cpp/parser.h>

#include <map>
#include <sstream>
#include <utility>
#include <vector>

#include "sim/kernel/errors.hpp"
#include "sim/scenario/json_document.hpp"

namespace headroom {
namespace {

constexpr std::size_t kMostValues = 100'000;
constexpr const char* kMergeKey = "<<";

std::size_t values_in(const Json& value) {
  std::size_t count = 1;
  if (!value.is_structured()) return count;
  for (const Json& child : value) count += values_in(child);
  return count;
}

Json typed(const std::string& text) {
  Json value = Json::parse(text, nullptr, false);
  return value.is_number() || value.is_boolean() ? value : Json(text);
}

// Builds the document from the parser's events.
class YamlBuilder final : public YAML::EventHandler {
 public:
  YamlBuilder(const std::string& name, YamlScalars scalars, bool several)
      : name_(name), scalars_(scalars), several_(several) {}

  [[nodiscard]] std::vector<Json> take() { return std::move(roots_); }

  [[nodiscard]] ConfigError error(const YAML::Mark& mark, std::string_view problem) const {
    return ConfigError(fmt::format("{}:{}: {}", name_, mark.line + 1, problem));
  }

  void OnDocumentStart(const YAML::Mark& mark) override {
    if (++documents_ > 1 && !several_) throw error(mark, "a second document: expected one");
    anchored_.clear();
  }
  void OnDocumentEnd() override { roots_.push_back(std::exchange(root_, nullptr)); }
  void OnNull(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    add(mark, anchor, nullptr);
  }
  void OnAlias(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    const auto found = anchored_.find(anchor);
    if (found == anchored_.end()) throw error(mark, "an alias (*) inside its own anchor (&)");
    add(mark, 0, found->second);
  }
  void OnScalar(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                const std::string& value) override {
    check_tag(mark, tag);
    const std::string text = value.substr(0, value.find_last_not_of('\n') + 1);
    const bool is_plain = tag != "!" && !is_at_key();
    add(mark, anchor, is_plain && scalars_ == YamlScalars::typed ? typed(text) : Json(text));
  }
  void OnSequenceStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                       YAML::EmitterStyle::value /*style*/) override {
    open(mark, tag, anchor, Json::array());
  }
  void OnSequenceEnd() override { close(); }
  void OnMapStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                  YAML::EmitterStyle::value /*style*/) override {
    open(mark, tag, anchor, Json::object());
  }
  void OnMapEnd() override { close(); }

 private:
  // A collection that is not complete.
  struct Open {
    Json value;
    YAML::Mark mark;
    YAML::anchor_t anchor = 0;
    bool has_key = false;  // of a mapping: what comes next is the value of `key`
    std::string key = {};
    std::vector<Json> merged = {};  // mappings whose keys it takes over where it has none itself
  };

  // "?" and "!" mark scalars without and with quotes.
  void check_tag(const YAML::Mark& mark, const std::string& tag) const {
    if (!tag.empty() && tag != "?" && tag != "!") {
      throw error(mark, fmt::format("tag '{}': tags (!) are not supported", tag));
    }
  }

  void open(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor, Json empty) {
    check_tag(mark, tag);
    if (is_at_key()) throw error(mark, "a key that is not a string");
    if (open_.size() >= kMaxJsonDepth) throw error(mark, "nested too deep");
    open_.push_back({.value = std::move(empty), .mark = mark, .anchor = anchor});
  }

  void close() {
    Open closed = std::move(open_.back());
    open_.pop_back();
    for (const Json& merged : closed.merged) {
      for (const auto& [key, value] : merged.items()) {
        if (!closed.value.contains(key)) closed.value[key] = value;
      }
    }
    add(closed.mark, closed.anchor, std::move(closed.value));
  }

  [[nodiscard]] bool is_at_key() const {
    return !open_.empty() && open_.back().value.is_object() && !open_.back().has_key;
  }

  void add(const YAML::Mark& mark, YAML::anchor_t anchor, Json value) {
    values_ += values_in(value);
    if (values_ > kMostValues) {
      throw error(mark, fmt::format("more than {} values with all aliases", kMostValues));
    }
    if (anchor != 0) anchored_[anchor] = value;
    if (open_.empty()) {
      root_ = std::move(value);
      return;
    }
    Open& parent = open_.back();
    if (parent.value.is_array()) {
      parent.value.push_back(std::move(value));
    } else if (!parent.has_key) {
      begin_member(parent, mark, value);
    } else {
      parent.has_key = false;
      if (parent.key == kMergeKey) return merge(parent, mark, std::move(value));
      parent.value[parent.key] = std::move(value);
    }
  }

  void begin_member(Open& parent, const YAML::Mark& mark, const Json& key) const {
    if (!key.is_string()) throw error(mark, "a key that is not a string");
    parent.key = key.get<std::string>();
    parent.has_key = true;
    if (parent.value.contains(parent.key)) {
      throw error(mark, fmt::format("duplicate key '{}'", parent.key));
    }
  }

  // One mapping, or a list of them, in which the first mapping with a key wins.
  void merge(Open& parent, const YAML::Mark& mark, Json value) const {
    if (!value.is_array()) value = Json::array({std::move(value)});
    for (Json& one : value) {
      if (!one.is_object()) throw error(mark, "a merge (<<) of something that is not a mapping");
      parent.merged.push_back(std::move(one));
    }
  }

  const std::string& name_;
  YamlScalars scalars_;
  bool several_;
  std::vector<Json> roots_;
  Json root_;
  std::vector<Open> open_;
  std::map<YAML::anchor_t, Json> anchored_;
  std::size_t values_ = 0;
  int documents_ = 0;
};

std::vector<Json> read_documents(std::string_view text, const std::string& name,
                                 YamlScalars scalars, bool several) {
  YamlBuilder builder(name, scalars, several);
  std::istringstream stream{std::string(text)};
  try {
    YAML::Parser parser(stream);
    while (parser.HandleNextDocument(builder)) {
    }
  } catch (const YAML::Exception& cause) {
    throw builder.error(cause.mark, "not YAML: " + cause.msg);
  }
  return builder.take();
}

}  // namespace

Json read_yaml(std::string_view text, const std::string& name, YamlScalars scalars) {
  std::vector<Json> documents = read_documents(text, name, scalars, false);
  return documents.empty() ? Json(nullptr) : std::move(documents.front());
}

std::vector<Json> read_yaml_documents(std::string_view text, const std::string& name,
                                      YamlScalars scalars) {
  std::vector<Json> documents = read_documents(text, name, scalars, true);
  std::erase_if(documents, [](const Json& one) { return one.is_null(); });
  return documents;
}

}  // namespace headroom
