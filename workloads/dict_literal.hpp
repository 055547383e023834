#pragma once
// Python dict literals with numbers, as some data files hold them in strings:
// "{45: 0.0097, 46: 1.2e-05}".

#include <optional>
#include <string_view>
#include <utility>
#include <vector>

namespace headroom {

// Keys and values in order, as text; nothing when it is no such literal. Not checked: that they
// are numbers. The views are into `text`.
using DictItems = std::vector<std::pair<std::string_view, std::string_view>>;
[[nodiscard]] std::optional<DictItems> parse_dict_literal(std::string_view text);

}  // namespace headroom
