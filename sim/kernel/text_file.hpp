#pragma once
// The one way to read a text file that a user names, whole. ConfigErrors name the file.

#include <cstddef>
#include <filesystem>
#include <sstream>
#include <string>
#include <string_view>

namespace headroom {

// Larger than any scenario, catalog or config.
inline constexpr std::size_t kMostTextBytes = std::size_t{64} << 20;
// Of what grows while a server runs or is measured: logs, recordings, tables of requests.
inline constexpr std::size_t kMostDataBytes = std::size_t{1} << 30;

// A regular file or a pipe of at most `most_bytes`, in UTF-8. ConfigError: it cannot be opened or
// read, is a folder or a device (/dev/random has no end), is larger, holds other bytes than UTF-8
// (with the line), or is the pointer that git-lfs leaves in place of a file.
[[nodiscard]] std::string read_text_file(const std::filesystem::path& path,
                                         std::size_t most_bytes = kMostTextBytes);

// The same for readers of lines: up to kMostDataBytes.
[[nodiscard]] std::istringstream open_text_file(const std::filesystem::path& path);

// Where `text` stops being UTF-8; its size when all of it is.
[[nodiscard]] std::size_t utf8_end(std::string_view text);

}  // namespace headroom
