#include "hardware/llm/hf_fields.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "sim/kernel/nearest_name.hpp"

namespace headroom {
namespace {

constexpr std::size_t kShownValue = 60;

std::string shown(const HfJson& value) {
  std::string text = value.dump(-1, ' ', false, HfJson::error_handler_t::replace);
  if (text.size() > kShownValue) text = text.substr(0, kShownValue) + "...";
  return text;
}

// Values of Llama-3.1-8B and Mixtral-8x7B, so that the example of an override is a plausible one.
HfJson example_value(std::string_view key) {
  static constexpr std::array<std::pair<std::string_view, std::int64_t>, 12> kExamples{{
      {"hidden_size", 4096},
      {"num_hidden_layers", 32},
      {"num_attention_heads", 32},
      {"num_key_value_heads", 8},
      {"head_dim", 128},
      {"intermediate_size", 14336},
      {"moe_intermediate_size", 14336},
      {"vocab_size", 128256},
      {"max_position_embeddings", 131072},
      {"num_experts", 8},
      {"num_experts_per_tok", 2},
      {"sliding_window", 4096},
  }};
  if (key == "architectures") return HfJson::array({"LlamaForCausalLM"});
  const auto* const row =
      std::ranges::find(kExamples, key, [](const auto& example) { return example.first; });
  return row == kExamples.end() ? HfJson(1) : HfJson(row->second);
}

std::string example_override(const std::vector<std::string>& pointers) {
  HfJson example = HfJson::object();
  for (const std::string& pointer : pointers) {
    example[HfJson::json_pointer(pointer)] = example_value(pointer.substr(pointer.rfind('/') + 1));
  }
  return example.dump();
}

// The text with Infinity, -Infinity and NaN outside strings replaced by null.
std::string without_python_numbers(std::string_view text) {
  static constexpr std::array<std::string_view, 3> kWords{"-Infinity", "Infinity", "NaN"};
  std::string out;
  out.reserve(text.size());
  bool quoted = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (quoted) {
      if (c == '\\' && i + 1 < text.size()) {
        out += c;
        out += text[++i];
        continue;
      }
      quoted = c != '"';
    } else {
      quoted = c == '"';
      const auto* const word = std::ranges::find_if(
          kWords, [&](std::string_view w) { return text.substr(i).starts_with(w); });
      if (word != kWords.end()) {
        out += "null";
        i += word->size() - 1;
        continue;
      }
    }
    out += c;
  }
  return out;
}

}  // namespace

void HfLog::note(std::string text) {
  if (std::ranges::find(notes, text) == notes.end()) notes.push_back(std::move(text));
}

void HfLog::check_complete() const {
  if (missing.empty()) return;
  throw ConfigError(Complaint{
      .kind = ErrorKind::missing,
      .origin = file,
      .problem =
          fmt::format("missing for {}{}: {}; set {} in an override file, which is merged "
                      "over this one, for example {}",
                      architecture.empty() ? "a model" : architecture, hint, comma_list(missing),
                      missing.size() == 1 ? "it" : "them", example_override(missing))});
}

HfFields::HfFields(const HfJson& object, std::string pointer, HfLog& log)
    : object_(&object), pointer_(std::move(pointer)), log_(&log) {}

const HfJson* HfFields::find(std::string_view key) const {
  if (!log_->read.contains(key)) log_->read.emplace(key);
  const auto found = object_->find(key);
  return found == object_->end() || found->is_null() ? nullptr : &*found;
}

bool HfFields::has(std::string_view key) const { return find(key) != nullptr; }

bool HfFields::is_list(std::string_view key) const {
  const HfJson* value = find(key);
  return value != nullptr && value->is_array();
}

bool HfFields::is_text(std::string_view key) const {
  const HfJson* value = find(key);
  return value != nullptr && value->is_string();
}

ConfigError HfFields::error(std::string_view key, std::string_view allowed) const {
  log_->check_complete();
  const HfJson* value = find(key);
  return ConfigError(Complaint{
      .origin = log_->file,
      .pointer = fmt::format("{}/{}", pointer_, key),
      .problem = fmt::format("{}: {}", value == nullptr ? "null" : shown(*value), allowed)});
}

void HfFields::missing(std::string_view key) const {
  std::string pointer = fmt::format("{}/{}", pointer_, key);
  if (std::ranges::find(log_->missing, pointer) == log_->missing.end()) {
    log_->missing.push_back(std::move(pointer));
  }
}

std::int64_t HfFields::checked(std::string_view key, const HfJson& value,
                               std::int64_t least) const {
  const std::string allowed = fmt::format("a whole number from {} to {}", least, kHfLargest);
  if (!value.is_number_integer()) throw error(key, allowed);
  // Above 2^63 a number is stored unsigned: get<int64> would wrap around.
  if (value.is_number_unsigned() && value.get<std::uint64_t>() > std::uint64_t{kHfLargest}) {
    throw error(key, allowed);
  }
  const auto number = value.get<std::int64_t>();
  if (number < least) throw error(key, allowed);
  return number;
}

std::optional<std::int64_t> HfFields::find_integer(HfKeys keys) const {
  for (const std::string_view key : keys) {
    if (const HfJson* value = find(key)) return checked(key, *value, 0);
  }
  return std::nullopt;
}

std::int64_t HfFields::integer(HfKeys keys) const {
  for (const std::string_view key : keys) {
    if (const HfJson* value = find(key)) return checked(key, *value, 1);
  }
  missing(*keys.begin());
  return 1;
}

std::int64_t HfFields::integer_or(HfKeys keys, std::int64_t fallback) const {
  return find_integer(keys).value_or(fallback);
}

std::int64_t HfFields::bounded(std::string_view key, std::int64_t fallback,
                               std::int64_t most) const {
  const std::int64_t value = integer_or({key}, fallback);
  if (value > most) throw error(key, fmt::format("at most {}", most));
  return value;
}

std::optional<double> HfFields::number(std::string_view key) const {
  const HfJson* value = find(key);
  if (value == nullptr) return std::nullopt;
  if (!value->is_number()) throw error(key, "a number");
  return value->get<double>();
}

bool HfFields::flag(std::string_view key, bool fallback) const {
  const HfJson* value = find(key);
  if (value == nullptr) return fallback;
  if (!value->is_boolean()) throw error(key, "true or false");
  return value->get<bool>();
}

std::string HfFields::text(std::string_view key) const {
  const HfJson* value = find(key);
  if (value == nullptr) return {};
  if (!value->is_string()) throw error(key, "a string");
  return value->get<std::string>();
}

std::vector<std::int64_t> HfFields::integers(std::string_view key) const {
  std::vector<std::int64_t> numbers;
  const HfJson* value = find(key);
  if (value == nullptr) return numbers;
  if (!value->is_array()) throw error(key, "a list of whole numbers");
  for (const HfJson& entry : *value) {
    if (entry.is_boolean()) {
      numbers.push_back(entry.get<bool>() ? 1 : 0);
    } else {
      numbers.push_back(checked(key, entry, -kHfLargest));
    }
  }
  return numbers;
}

std::vector<std::string> HfFields::texts(std::string_view key) const {
  std::vector<std::string> list;
  const HfJson* value = find(key);
  if (value == nullptr) return list;
  if (!value->is_array()) throw error(key, "a list of strings");
  for (const HfJson& entry : *value) {
    if (!entry.is_string()) throw error(key, "a list of strings");
    list.push_back(entry.get<std::string>());
  }
  return list;
}

std::optional<HfFields> HfFields::object(std::string_view key) const {
  const HfJson* value = find(key);
  if (value == nullptr) return std::nullopt;
  if (!value->is_object()) throw error(key, "an object");
  return HfFields(*value, fmt::format("{}/{}", pointer_, key), *log_);
}

HfJson parse_hf_json(std::string_view text, std::string_view file) {
  HfJson json;
  try {
    json = HfJson::parse(without_python_numbers(text));
  } catch (const HfJson::exception& e) {
    throw ConfigError(Complaint{.kind = ErrorKind::unreadable,
                                .origin = std::string(file),
                                .problem = fmt::format("not JSON: {}", e.what())});
  }
  if (!json.is_object())
    throw ConfigError(Complaint{.origin = std::string(file), .problem = "not a JSON object"});
  return json;
}

}  // namespace headroom
