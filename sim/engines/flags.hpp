#pragma once
// What a flag of an engine means for a scenario. Each engine has one explicit table of its flags
// (<engine>/launch.cpp), in its own spelling. Each table starts with the version it was read from;
// a flag of a newer version is reported as unknown.

#include <cstdint>
#include <string_view>

namespace headroom {

enum class Takes : std::uint8_t {
  nothing,      // --flag
  toggle,       // --flag, --no-flag
  integer,      // a whole number
  count,        // a whole number, also 32k or 1M (human_number)
  number,       // a decimal number
  above_one,    // a whole number; the option is whether it is above 1
  text,         // one word
  json,         // one word, an object; also spelled --flag.key value, with rows for known keys
  words,        // one word or more
  maybe_text,   // a word, unless a flag follows
  maybe_switch  // on, off, auto, true, false, 0, 1; else the word belongs to what follows
};

// Notes on flags that several engines have.
inline constexpr std::string_view kSpeculativeNote =
    "speculative decoding is modelled for vLLM, SGLang and TensorRT-LLM only";
inline constexpr std::string_view kDrafterNote =
    "this drafter is not modelled (ngram, eagle, eagle3, mtp, dflash and draft_model are), so the "
    "scenario has no drafts";
inline constexpr std::string_view kDrafterSettingNote =
    "this drafter setting is not modelled: acceptance is drawn at random, not computed";
inline constexpr std::string_view kQuantizationNote =
    "this quantization is not modelled: the checkpoint's own formats are used";
inline constexpr std::string_view kLoraNote = "LoRA adapters take memory that is not modelled";
inline constexpr std::string_view kGraphsNote = "which CUDA graphs are captured is not modelled";
inline constexpr std::string_view kOffloadNote = "offloading to host memory is not modelled";
inline constexpr std::string_view kUnmodelledNote =
    "its effect on step time and memory is not modelled";
inline constexpr std::string_view kNodesNote = "multiple nodes are not modelled";

// A flag with a `pointer` sets that option; one without it is explained by `note`, or, when that is
// empty too, has no effect on memory or scheduling. With both, the note is for values that are none
// of the option's choices: they leave it at its default.
struct FlagRow {
  std::string_view names = {};     // all spellings: "--tensor-parallel-size|-tp"
  Takes takes = Takes::nothing;    // of all of them
  std::string_view pointer = {};   // "/engine/tensor_parallel_size"; kSettingsFile: see below
  std::string_view constant = {};  // JSON that a flag without a value sets
  std::string_view note = {};      // effect that a scenario cannot express
  // "half=float16|auto=": other words for a value; the empty one leaves the option to the engine,
  // true and false switch it.
  std::string_view values = {};
  std::string_view variable = {};  // environment variable of the same meaning
  // With both a pointer and a note: the values that get the note; others are errors. Empty: all.
  std::string_view others = {};
};

// A flag that names a YAML file with more settings.
inline constexpr std::string_view kSettingsFile = "settings file";
// A switch that only the engine's settle() reads, from LaunchDraft::switches.
inline constexpr std::string_view kSwitch = "switch";
// A flag that attaches a KV connector, which the engine's rules know by name.
inline constexpr std::string_view kKvTransfer = "kv transfer";

}  // namespace headroom
