#pragma once
// Which engine a command starts, and where its flags begin.

#include <span>
#include <string>

#include "sim/intake/container.hpp"
#include "sim/intake/draft.hpp"

namespace headroom {

// Reads one command (a shell's simple command) into the draft: sets its engine and all that its
// flags say. False when no word of it starts an engine; then the draft is unchanged.
bool read_launch(Draft& draft, std::span<const std::string> words);

// The same for what a container runs: `words` are the arguments of `image`, behind `entrypoint`
// when that is not empty. ConfigError when no engine is started.
void read_container_launch(Draft& draft, const std::string& image,
                           std::span<const std::string> entrypoint,
                           std::span<const std::string> words);

// Whether the container runs an engine we know, without reading its flags.
[[nodiscard]] bool container_starts_engine(const std::string& image,
                                           std::span<const std::string> entrypoint,
                                           std::span<const std::string> words);

// All commands of a shell text; the first that starts an engine counts. False when there is none.
bool read_shell_launch(Draft& draft, std::string_view text);

// "vllm serve MODEL, ...": for error messages.
[[nodiscard]] std::string understood_commands();

}  // namespace headroom
