#include "hardware/checkpoint_names.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace headroom {
namespace {

// A word at the end of a name, and the quantisation that it says; empty: only how it was made, or
// what it was trained for.
struct Suffix {
  std::string_view word;
  std::string_view quantization = {};
  bool is_training = false;
  bool in_16_bits = false;
};
constexpr std::array kSuffixes{
    Suffix{"awq", "awq"},
    Suffix{"gptq", "gptq"},
    Suffix{"int4", "int4"},
    Suffix{"4bit", "int4"},
    Suffix{"w4a16", "int4"},
    Suffix{"int8", "int8"},
    Suffix{"8bit", "int8"},
    Suffix{"w8a8", "int8"},
    Suffix{"fp8", "fp8"},
    Suffix{"nvfp4", "nvfp4"},
    Suffix{"fp4", "nvfp4"},
    Suffix{"mxfp4", "mxfp4"},
    Suffix{"bnb", "bitsandbytes"},
    Suffix{"unsloth-bnb-4bit", "bitsandbytes"},
    Suffix{"fp8-block", "fp8"},
    Suffix{"fp8-kv", "fp8"},
    Suffix{"nvfp4a16", "nvfp4"},
    Suffix{"mxfp4-preview", "mxfp4"},
    Suffix{"w4a16-ct", "int4"},
    Suffix{"dynamic"},
    Suffix{"autoround"},
    Suffix{"quantized.w8a8", "int8"},
    Suffix{"quantized.w4a16", "int4"},
    Suffix{"quantized"},
    Suffix{"modelopt"},
    Suffix{"gguf"},
    Suffix{"ud"},
    Suffix{"qat"},
    Suffix{"qat-q4_0-unquantized"},
    Suffix{"bf16", {}, false, true},
    Suffix{"fp16", {}, false, true},
    Suffix{"f16", {}, false, true},
    Suffix{"uncensored", {}, true},
    Suffix{"abliterated", {}, true},
    Suffix{"base", {}, true},
    Suffix{"pt", {}, true},
    Suffix{"instruct", {}, true},
    Suffix{"chat", {}, true},
    Suffix{"it", {}, true},
    Suffix{"hf", {}, true},
    Suffix{"latest", {}, true},
    // Mixtures of llama.cpp, and of those who quantise with it (UD-..._XL, ..._L) the nearest one.
    Suffix{"q8_0", "q8_0"},
    Suffix{"q8_k_xl", "q8_0"},
    Suffix{"q6_k", "q6_k"},
    Suffix{"q6_k_xl", "q6_k"},
    Suffix{"q6_k_l", "q6_k"},
    Suffix{"q5_k_xl", "q5_k_m"},
    Suffix{"q5_k_l", "q5_k_m"},
    Suffix{"q5_k_m", "q5_k_m"},
    Suffix{"q5_k_s", "q5_k_m"},
    Suffix{"q4_k_m", "q4_k_m"},
    Suffix{"q4_k_xl", "q4_k_m"},
    Suffix{"q4_k_l", "q4_k_m"},
    Suffix{"q4_k_s", "q4_k_s"},
    Suffix{"q4_0", "q4_0"},
    Suffix{"iq4_nl", "q4_0"},
    Suffix{"iq4_xs", "q4_0"},
    Suffix{"q3_k_xl", "q3_k_m"},
    Suffix{"q3_k_l", "q3_k_m"},
    Suffix{"q3_k_m", "q3_k_m"},
    Suffix{"q3_k_s", "q3_k_m"},
    Suffix{"q2_k", "q2_k"},
    Suffix{"q2_k_xl", "q2_k"},
};

constexpr std::string_view kSeparators = "/\\";

// The last part of a path or repository, in lower case, with dashes for blanks and colons, and
// dots for what ModelScope's cache writes instead of them.
std::string plain_name(std::string_view name) {
  name = name.substr(0, name.find_last_not_of(kSeparators) + 1);
  std::string text(name.substr(name.find_last_of(kSeparators) + 1));
  constexpr std::string_view kDot = "___";
  for (std::size_t at = text.find(kDot); at != std::string::npos; at = text.find(kDot, at)) {
    text.replace(at, kDot.size(), ".");
  }
  std::ranges::transform(text, text.begin(), [](char c) {
    if (c == ' ' || c == ':') return '-';
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  });
  if (text.ends_with(".gguf")) text.resize(text.size() - 5);
  // One of the parts of a file that was split: "-00001-of-00003".
  constexpr std::string_view kPart = "-00000-of-00000";
  if (text.size() > kPart.size()) {
    const std::string_view end = std::string_view(text).substr(text.size() - kPart.size());
    const auto same = [](char a, char b) { return b == '0' ? a >= '0' && a <= '9' : a == b; };
    if (std::ranges::equal(end, kPart, same)) text.resize(text.size() - kPart.size());
  }
  return text;
}

// "iq2_xxs", "q5_1": how llama.cpp calls formats.
bool looks_like_gguf_format(std::string_view word) {
  if (word.starts_with('i')) word.remove_prefix(1);
  return word.size() >= 4 && word[0] == 'q' && word[1] >= '1' && word[1] <= '9' && word[2] == '_';
}

// Takes one word off the end of `name`, behind a dash or a dot; nullptr when it is none of ours.
const Suffix* take_suffix(std::string& name) {
  const Suffix* longest = nullptr;
  for (const Suffix& suffix : kSuffixes) {
    if (name.size() <= suffix.word.size() + 1 || !name.ends_with(suffix.word)) continue;
    const char before = name[name.size() - suffix.word.size() - 1];
    if (before != '-' && before != '.') continue;
    if (longest == nullptr || suffix.word.size() > longest->word.size()) longest = &suffix;
  }
  if (longest != nullptr) name.resize(name.size() - longest->word.size() - 1);
  return longest;
}

}  // namespace

std::string unknown_gguf_format(const Catalog& catalog, std::string_view name) {
  const std::string plain = plain_name(name);
  const std::size_t at = plain.find_last_of("-.");
  if (at == std::string::npos) return {};
  const std::string word = plain.substr(at + 1);
  if (!looks_like_gguf_format(word)) return {};
  return find_checkpoint(catalog, plain.substr(0, at)) ? word : std::string();
}

std::vector<std::string> gguf_formats() {
  std::vector<std::string> words;
  for (const Suffix& suffix : kSuffixes) {
    if (looks_like_gguf_format(suffix.word)) words.emplace_back(suffix.word);
  }
  return words;
}

// huggingface_hub/file_download.py: repo_folder_name.
std::string repository_of(std::string_view name) {
  constexpr std::string_view kFolder = "models--";
  const std::size_t at = name.find(kFolder);
  const bool is_part = at == 0 || (at != std::string_view::npos &&
                                   kSeparators.find(name[at - 1]) != std::string_view::npos);
  if (!is_part) return std::string(name);
  const std::string_view folder = name.substr(at + kFolder.size());
  std::string repository(folder.substr(0, folder.find_first_of(kSeparators)));
  const std::size_t dashes = repository.find("--");
  if (dashes != std::string::npos) repository.replace(dashes, 2, "/");
  return repository;
}

std::optional<NamedCheckpoint> find_checkpoint(const Catalog& catalog, std::string_view given,
                                               bool of_others) {
  const std::string name = repository_of(given);
  if (catalog.has_model(name)) {
    const std::string id = catalog.model(name).id;
    return NamedCheckpoint{
        id, {}, false, name == given ? "" : fmt::format("{} is read as {}", given, id)};
  }
  const bool repository =
      of_others || (std::ranges::count(name, '/') == 1 && !name.starts_with('/'));
  std::string rest = plain_name(name);
  std::string quantization;
  bool in_16_bits = false;
  std::optional<NamedCheckpoint> found;
  while (!rest.empty()) {
    const std::string id = catalog.model_called(rest);
    if (!id.empty()) {
      std::string note = fmt::format("{} is read as {}", given, id);
      if (!quantization.empty()) note += fmt::format(", quantised to {}", quantization);
      found = NamedCheckpoint{id, quantization, in_16_bits, std::move(note)};
      // Two organisations quantise one model in different ways: then its own weights are a better
      // start than the other checkpoint of the same name.
      if (!repository) return found;
    }
    const Suffix* suffix = take_suffix(rest);
    if (suffix == nullptr || (found && suffix->is_training)) break;
    // "AWQ-4bit", "AWQ-INT4": the word in front is the method; that of "GPTQ-Int8" has 4 bits here.
    if (!suffix->quantization.empty() && quantization != "int8") {
      quantization = suffix->quantization;
    }
    in_16_bits = in_16_bits || suffix->in_16_bits;
  }
  return found;
}

}  // namespace headroom
