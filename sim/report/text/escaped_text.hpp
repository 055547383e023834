#pragma once
// Text inside of HTML and XML.

#include <string>
#include <string_view>

namespace headroom {

// & < > and " as entities: for texts of elements and values of attributes.
[[nodiscard]] std::string escaped_markup(std::string_view text);

}  // namespace headroom
