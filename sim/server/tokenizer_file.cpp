// Reads tokenizer.json, as written by huggingface/tokenizers.

#include <fmt/format.h>

#include <utility>

#include "sim/kernel/text_file.hpp"
#include "sim/scenario/json_document.hpp"
#include "sim/server/tokenizer.hpp"

namespace headroom {
namespace {

// Json keeps the order of keys, which takes too long with a vocabulary of 128,000.
using FileJson = nlohmann::json;

constexpr std::int64_t kMostId = 1 << 24;
// What ByteLevel cuts by (tokenizers/src/pre_tokenizers/byte_level.rs).
constexpr const char* kByteLevelPattern =
    R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)";

class TokenizerReader {
 public:
  explicit TokenizerReader(const std::string& file) : file_(file) {
    const auto check_depth = [this](int depth, FileJson::parse_event_t, FileJson&) {
      if (depth > static_cast<int>(kMaxJsonDepth)) refuse("/", "is nested too deeply");
      return true;
    };
    try {
      root_ = FileJson::parse(read_text_file(file), check_depth);
    } catch (const FileJson::exception& wrong) {
      throw ConfigError(Complaint{.kind = ErrorKind::unreadable,
                                  .origin = file,
                                  .problem = std::string("not valid JSON: ") + wrong.what()});
    }
  }

  [[nodiscard]] TokenizerParts read() {
    if (!root_.is_object() || !root_.contains("model")) {
      refuse("/",
             "expected a tokenizer.json: an object with model, pre_tokenizer and added_tokens");
    }
    read_model(root_["model"]);
    if (const FileJson* part = find(root_, "normalizer")) {
      each_of(*part, "/normalizer", "normalizers",
              [this](const FileJson& one, const std::string& at) { read_normalizer(one, at); });
    }
    if (const FileJson* part = find(root_, "pre_tokenizer")) {
      each_of(*part, "/pre_tokenizer", "pretokenizers",
              [this](const FileJson& one, const std::string& at) { read_pre_tokenizer(one, at); });
    }
    if (const FileJson* part = find(root_, "post_processor")) {
      each_of(*part, "/post_processor", "processors",
              [this](const FileJson& one, const std::string& at) { read_post_processor(one, at); });
    }
    if (const FileJson* added = find(root_, "added_tokens")) read_added(*added);
    return std::move(parts_);
  }

 private:
  [[noreturn]] void refuse(const std::string& at, const std::string& problem,
                           ErrorKind kind = ErrorKind::value) const {
    throw ConfigError(Complaint{.kind = kind, .origin = file_, .pointer = at, .problem = problem});
  }
  [[noreturn]] void refuse_value(const std::string& at, const FileJson& value,
                                 const std::string& allowed,
                                 ErrorKind kind = ErrorKind::value) const {
    constexpr std::size_t kShown = 60;
    const std::string text =
        value.dump(-1, ' ', true, FileJson::error_handler_t::replace).substr(0, kShown);
    throw ConfigError(
        Complaint{.kind = kind, .origin = file_, .pointer = at, .value = text, .problem = allowed});
  }
  [[noreturn]] void refuse_type(const std::string& at, const FileJson& part,
                                const std::string& allowed) const {
    const FileJson* type = part.is_object() ? find(part, "type") : nullptr;
    refuse_value(at + "/type", type == nullptr ? part : *type, "expected " + allowed,
                 ErrorKind::unsupported);
  }

  static const FileJson* find(const FileJson& object, const char* name) {
    const auto found = object.find(name);
    return found == object.end() || found->is_null() ? nullptr : &*found;
  }
  [[nodiscard]] const FileJson& required(const FileJson& object, const std::string& at,
                                         const char* name) const {
    const FileJson* value = object.is_object() ? find(object, name) : nullptr;
    if (value == nullptr) {
      refuse(at + "/" + name, "is missing", ErrorKind::missing);
    }
    return *value;
  }
  [[nodiscard]] std::string text(const FileJson& object, const std::string& at,
                                 const char* name) const {
    const FileJson& value = required(object, at, name);
    if (!value.is_string()) refuse_value(at + "/" + name, value, "expected a text");
    return value.get<std::string>();
  }
  [[nodiscard]] bool flag(const FileJson& object, const std::string& at, const char* name,
                          bool otherwise) const {
    const FileJson* value = find(object, name);
    if (value == nullptr) return otherwise;
    if (!value->is_boolean()) refuse_value(at + "/" + name, *value, "expected true or false");
    return value->get<bool>();
  }
  [[nodiscard]] TokenId id(const FileJson& value, const std::string& at) const {
    const bool fits = value.is_number_integer() && value >= 0 && value < kMostId;
    if (!fits) refuse_value(at, value, fmt::format("expected a token id, 0 to {}", kMostId - 1));
    return value.get<TokenId>();
  }
  [[nodiscard]] static std::string type_of(const FileJson& part) {
    const FileJson* type = part.is_object() ? find(part, "type") : nullptr;
    return type != nullptr && type->is_string() ? type->get<std::string>() : "";
  }

  // A part, or those of a Sequence.
  template <class Use>
  void each_of(const FileJson& part, const std::string& at, const char* list, const Use& use) {
    if (type_of(part) != "Sequence") return use(part, at);
    const FileJson& parts = required(part, at, list);
    if (!parts.is_array()) refuse_value(at + "/" + list, parts, "expected a list");
    for (std::size_t i = 0; i < parts.size(); ++i) {
      use(parts[i], fmt::format("{}/{}/{}", at, list, i));
    }
  }

  // --- the model ---

  void read_model(const FileJson& model) {
    const std::string at = "/model";
    if (!model.is_object()) refuse_value(at, model, "expected an object");
    // Old files have no type; what has merges is BPE.
    const std::string type = type_of(model);
    if (type != "BPE" && !(type.empty() && model.contains("merges"))) {
      refuse_type(at, model, "BPE");
    }
    for (const char* name : {"continuing_subword_prefix", "end_of_word_suffix"}) {
      const FileJson* value = find(model, name);
      if (value != nullptr && *value != "") refuse_value(at + "/" + name, *value, "expected null");
    }
    const FileJson* dropout = find(model, "dropout");
    if (dropout != nullptr && *dropout != 0) {
      refuse_value(at + "/dropout", *dropout, "expected null");
    }
    read_vocabulary(required(model, at, "vocab"));
    read_merges(required(model, at, "merges"));
    parts_.ignores_merges = flag(model, at, "ignore_merges", false);
    parts_.falls_back_to_bytes = flag(model, at, "byte_fallback", false);
    parts_.fuses_unknown = flag(model, at, "fuse_unk", false);
    if (const FileJson* unknown = find(model, "unk_token")) {
      if (!unknown->is_string()) refuse_value(at + "/unk_token", *unknown, "expected a text");
      parts_.unknown = known_id(unknown->get<std::string>(), at + "/unk_token");
    }
  }

  [[nodiscard]] TokenId known_id(const std::string& token, const std::string& at) const {
    const auto found = parts_.vocabulary.find(token);
    if (found == parts_.vocabulary.end()) {
      refuse_value(at, FileJson(token), "expected a token of /model/vocab");
    }
    return found->second;
  }

  void read_vocabulary(const FileJson& vocabulary) {
    if (!vocabulary.is_object() || vocabulary.empty()) {
      refuse("/model/vocab", "expected an object with the id of each token");
    }
    parts_.vocabulary.reserve(vocabulary.size());
    for (const auto& [token, number] : vocabulary.items()) {
      parts_.vocabulary.emplace(token, id(number, "/model/vocab/" + pointer_token(token)));
    }
  }

  // ["a b", ...] or [["a", "b"], ...].
  void read_merges(const FileJson& merges) {
    if (!merges.is_array()) refuse("/model/merges", "expected a list of pairs");
    for (std::size_t i = 0; i < merges.size(); ++i) {
      const FileJson& merge = merges[i];
      const std::string at = fmt::format("/model/merges/{}", i);
      std::string left;
      std::string right;
      if (merge.is_string()) {
        const auto& both = merge.get_ref<const std::string&>();
        const std::size_t blank = both.find(' ');
        if (blank == std::string::npos) refuse_value(at, merge, "expected two tokens");
        left = both.substr(0, blank);
        right = both.substr(blank + 1);
      } else if (merge.is_array() && merge.size() == 2 && merge[0].is_string() &&
                 merge[1].is_string()) {
        left = merge[0].get<std::string>();
        right = merge[1].get<std::string>();
      } else {
        refuse_value(at, merge, "expected two tokens");
      }
      parts_.merges.add(known_id(left, at), known_id(right, at), known_id(left + right, at));
    }
  }

  // --- what comes before it ---

  [[nodiscard]] TextPattern pattern(const FileJson& part, const std::string& at) const {
    const FileJson& given = required(part, at, "pattern");
    const std::string place = at + "/pattern";
    if (given.is_object()) {
      if (const FileJson* exact = find(given, "String"); exact != nullptr && exact->is_string()) {
        if (*exact == "") refuse_value(place, given, "expected a text that is not empty");
        return TextPattern::literal(exact->get<std::string>());
      }
      if (const FileJson* regex = find(given, "Regex"); regex != nullptr && regex->is_string()) {
        return regex_at(regex->get<std::string>(), place);
      }
    }
    refuse_value(place, given, "expected {\"String\": ...} or {\"Regex\": ...}");
  }
  [[nodiscard]] TextPattern regex_at(const std::string& regex, const std::string& at) const {
    try {
      return TextPattern(regex);
    } catch (const std::invalid_argument& wrong) {
      refuse_value(at, FileJson(regex), wrong.what());
    }
  }

  void read_normalizer(const FileJson& part, const std::string& at) {
    const std::string type = type_of(part);
    auto& all = parts_.cutter.normalizers;
    if (type == "NFC") {
      all.emplace_back(UnicodeForm::nfc);
    } else if (type == "NFD") {
      all.emplace_back(UnicodeForm::nfd);
    } else if (type == "NFKC") {
      all.emplace_back(UnicodeForm::nfkc);
    } else if (type == "NFKD") {
      all.emplace_back(UnicodeForm::nfkd);
    } else if (type == "Prepend") {
      all.emplace_back(Prepend{text(part, at, "prepend")});
    } else if (type == "Replace") {
      all.emplace_back(Replace{pattern(part, at), text(part, at, "content")});
    } else {
      refuse_type(at, part, "NFC, NFD, NFKC, NFKD, Prepend, Replace or Sequence");
    }
  }

  void read_pre_tokenizer(const FileJson& part, const std::string& at) {
    const std::string type = type_of(part);
    auto& all = parts_.cutter.pre_tokenizers;
    if (parts_.is_byte_level) refuse(at, "nothing may come after ByteLevel");
    if (type == "ByteLevel") {
      parts_.is_byte_level = true;
      if (flag(part, at, "add_prefix_space", true)) all.emplace_back(PrefixSpace{});
      if (flag(part, at, "use_regex", true)) {
        all.emplace_back(Split{.pattern = TextPattern(kByteLevelPattern)});
      }
    } else if (type == "Split") {
      all.emplace_back(read_split(part, at));
    } else if (type == "Digits") {
      const bool each = flag(part, at, "individual_digits", false);
      all.emplace_back(Split{.pattern = TextPattern(each ? R"(\p{N})" : R"(\p{N}+)")});
    } else if (type == "Metaspace") {
      all.emplace_back(read_metaspace(part, at));
    } else {
      refuse_type(at, part, "ByteLevel, Split, Digits, Metaspace or Sequence");
    }
  }

  [[nodiscard]] Split read_split(const FileJson& part, const std::string& at) const {
    Split split{.pattern = pattern(part, at), .invert = flag(part, at, "invert", false)};
    const std::string behavior = text(part, at, "behavior");
    if (behavior == "Isolated") {
      split.behavior = SplitBehavior::isolated;
    } else if (behavior == "Removed") {
      split.behavior = SplitBehavior::removed;
    } else if (behavior == "MergedWithPrevious") {
      split.behavior = SplitBehavior::merged_with_previous;
    } else {
      refuse_value(at + "/behavior", FileJson(behavior),
                   "expected Isolated, Removed or MergedWithPrevious");
    }
    return split;
  }

  [[nodiscard]] Metaspace read_metaspace(const FileJson& part, const std::string& at) const {
    Metaspace metaspace{.replacement = text(part, at, "replacement"),
                        .splits = flag(part, at, "split", true)};
    if (metaspace.replacement.empty()) refuse(at + "/replacement", "is empty");
    // Older files have add_prefix_space.
    const bool prepends = flag(part, at, "add_prefix_space", true);
    metaspace.prepends = prepends ? PrependScheme::always : PrependScheme::never;
    if (find(part, "prepend_scheme") == nullptr) return metaspace;
    const std::string scheme = text(part, at, "prepend_scheme");
    if (scheme == "always") {
      metaspace.prepends = PrependScheme::always;
    } else if (scheme == "first") {
      metaspace.prepends = PrependScheme::first;
    } else if (scheme == "never") {
      metaspace.prepends = PrependScheme::never;
    } else {
      refuse_value(at + "/prepend_scheme", FileJson(scheme), "expected always, first or never");
    }
    return metaspace;
  }

  // --- and after it ---

  void read_post_processor(const FileJson& part, const std::string& at) {
    const std::string type = type_of(part);
    if (type == "ByteLevel") return;  // changes offsets alone
    if (type != "TemplateProcessing") {
      refuse_type(at, part, "TemplateProcessing, ByteLevel or Sequence");
    }
    const FileJson& single = required(part, at, "single");
    if (!single.is_array()) refuse_value(at + "/single", single, "expected a list");
    bool is_before = true;
    for (std::size_t i = 0; i < single.size(); ++i) {
      const std::string place = fmt::format("{}/single/{}", at, i);
      if (single[i].is_object() && single[i].contains("Sequence")) {
        is_before = false;
        continue;
      }
      const FileJson& special = required(single[i], place, "SpecialToken");
      const std::string name = text(special, place + "/SpecialToken", "id");
      const std::string all = at + "/special_tokens";
      const FileJson& known = required(required(part, at, "special_tokens"), all, name.c_str());
      const FileJson& ids = required(known, all + "/" + pointer_token(name), "ids");
      if (!ids.is_array()) refuse_value(all, ids, "expected a list of ids");
      for (const FileJson& one : ids)
        (is_before ? parts_.before : parts_.after).push_back(id(one, all));
    }
  }

  void read_added(const FileJson& added) {
    if (!added.is_array()) refuse_value("/added_tokens", added, "expected a list");
    for (std::size_t i = 0; i < added.size(); ++i) {
      const std::string at = fmt::format("/added_tokens/{}", i);
      const FileJson& one = added[i];
      AddedToken token{.text = text(one, at, "content"),
                       .id = id(required(one, at, "id"), at + "/id"),
                       .is_normalized = flag(one, at, "normalized", true),
                       .takes_left = flag(one, at, "lstrip", false),
                       .takes_right = flag(one, at, "rstrip", false),
                       .is_word = flag(one, at, "single_word", false)};
      if (token.is_normalized) token.text = parts_.cutter.normalized(token.text);
      if (!token.text.empty()) parts_.added.push_back(std::move(token));
    }
  }

  std::string file_;
  FileJson root_;
  TokenizerParts parts_;
};

}  // namespace

Tokenizer read_tokenizer(const std::string& file) {
  return Tokenizer(TokenizerReader(file).read());
}

}  // namespace headroom
