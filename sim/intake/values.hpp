#pragma once
// Values as engines and containers read them. All functions return nothing for text that is not
// such a value; the caller names the flag.

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "sim/scenario/json_document.hpp"

namespace headroom {

[[nodiscard]] std::optional<std::int64_t> whole_number(std::string_view text);
// Finite.
[[nodiscard]] std::optional<double> decimal_number(std::string_view text);

// vLLM's human_readable_int (vllm/engine/arg_utils.py): k, m, g, t are powers of 1000 and take
// decimals, rounded down; K, M, G, T are powers of 1024 and do not.
[[nodiscard]] std::optional<std::int64_t> human_number(std::string_view text);

// Bytes as Docker reads them (go-units RAMInBytes): k, m, g, t, each also with b or ib, any case,
// all powers of 1024; decimals are allowed.
[[nodiscard]] std::optional<double> container_bytes(std::string_view text);
// As GiB, whole where it is whole.
[[nodiscard]] Json gib(double bytes);

// true|on|yes|1|enabled and their opposites, any case.
[[nodiscard]] std::optional<bool> switch_value(std::string_view text);

[[nodiscard]] std::vector<std::string_view> split(std::string_view text, char separator);
[[nodiscard]] std::string_view trimmed(std::string_view text);

}  // namespace headroom
