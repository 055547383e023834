#pragma once
// What a server is and how it wants to be asked, found out before it is measured.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "sim/observe/completion_call.hpp"
#include "sim/observe/http_client.hpp"

namespace headroom {

struct ServerFacts {
  CompletionRule rule;
  std::string version;         // as it says itself; empty: it does not
  bool counts_tokens = false;  // answers come with its own count of tokens (usage)
  std::vector<std::string> notes;
};

// `model`: the name it is served under; empty: the only one that the server lists. ConfigError: the
// server cannot be reached, is no server of OpenAI's API, serves no or several models, or refuses
// every form of a request.
[[nodiscard]] ServerFacts find_out(HttpClient& client, const std::string& model, TimeNs timeout_ns);

}  // namespace headroom
