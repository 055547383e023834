#pragma once
// What people call a checkpoint, as a model of the catalog: local paths, folders of Hugging Face's
// cache (models--Qwen--Qwen3-8B/snapshots/HASH), other people's quantisations
// (ORG/Qwen3-30B-A3B-AWQ-4bit), GGUF files (Qwen2.5-14B-Instruct-Q4_K_M.gguf) and Ollama tags
// (llama3.2:3b-instruct-q4_K_M).

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "hardware/catalog.hpp"

namespace headroom {

struct NamedCheckpoint {
  std::string model;         // id in the catalog
  std::string quantization;  // as engine.quantization spells it; empty: the name says none
  bool in_16_bits = false;   // the name says so
  std::string note = {};     // how the name was read; empty: it is a name of the catalog
};

// Names of the catalog first, in any case and without their organisation; then without the words at
// the end that say how a checkpoint was quantised or packed. Nothing when no model remains.
// `of_others`: the checkpoint is none of the catalog's quantised ones, whatever it is called.
[[nodiscard]] std::optional<NamedCheckpoint> find_checkpoint(const Catalog& catalog,
                                                             std::string_view name,
                                                             bool of_others = false);

// "ORG/NAME" of a path into Hugging Face's cache; else `name`.
[[nodiscard]] std::string repository_of(std::string_view name);

// The last word of a model's name, if it calls a format of llama.cpp that find_checkpoint() does
// not know; else empty. And those that it knows.
[[nodiscard]] std::string unknown_gguf_format(const Catalog& catalog, std::string_view name);
[[nodiscard]] std::vector<std::string> gguf_formats();

// How to bring a model that the catalog does not have, as errors say it.
inline constexpr std::string_view kOwnModelHint =
    "your own: --set model=PATH of a folder with its config.json, of a config.json or of a GGUF "
    "file";

}  // namespace headroom
