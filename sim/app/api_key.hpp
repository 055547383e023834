#pragma once
// The key of a server of OpenAI's API, as --api-key-env names it.

#include <string>

namespace headroom {

// What that variable of the environment holds; empty for no variable. ConfigError about
// --api-key-env: it is not there or empty, or holds what no header can.
[[nodiscard]] std::string api_key_from(const std::string& variable);

}  // namespace headroom
