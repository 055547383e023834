#include "hardware/kernels/kernel_words.hpp"

#include <array>
#include <charconv>
#include <span>
#include <utility>

namespace headroom {

std::string_view next_word(std::string_view& rest) {
  const std::size_t end = rest.find(' ');
  const std::string_view word = rest.substr(0, end);
  rest = end == std::string_view::npos ? std::string_view() : rest.substr(end + 1);
  return word;
}

namespace {

using Name = std::pair<std::string_view, std::int64_t>;

constexpr std::array<Name, 9> kFormats{{{"bf16", 0},
                                        {"fp8", 1},
                                        {"fp8_block", 2},
                                        {"nvfp4", 3},
                                        {"int8", 4},
                                        {"int8_weights", 5},
                                        {"int4_weights", 6},
                                        {"mxfp4_weights", 7},
                                        {"mxfp4_mxfp8", 8}}};

constexpr std::array<Name, 12> kOthers{{{"fastest", 0},
                                        {"marlin", 1},
                                        {"skewed", 0},
                                        {"balanced", 1},
                                        {"indexer", 0},
                                        {"skip", 1},
                                        {"graph", 0},
                                        {"eager", 1},
                                        {"all_reduce", 0},
                                        {"all_gather", 1},
                                        {"reduce_scatter", 2},
                                        {"all_to_all", 3}}};

std::optional<std::int64_t> value_of(std::string_view word, std::span<const Name> names) {
  for (const auto& [name, value] : names) {
    if (name == word) return value;
  }
  return std::nullopt;
}

}  // namespace

std::optional<KernelFormat> kernel_format_named(std::string_view name) {
  const std::optional<std::int64_t> value = value_of(name, kFormats);
  if (!value) return std::nullopt;
  return static_cast<KernelFormat>(*value);
}

std::optional<std::int64_t> kernel_word(std::string_view word) {
  if (const auto format = value_of(word, kFormats)) return format;
  if (const auto other = value_of(word, kOthers)) return other;
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), value);
  if (error != std::errc() || end != word.data() + word.size()) return std::nullopt;
  return value;
}

}  // namespace headroom
