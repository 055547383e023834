#pragma once
// What stands where in a file system. What cannot be examined (a loop of links, no permission) is a
// ConfigError that names the path; it is never taken for something that is not there.

#include <filesystem>
#include <vector>

namespace headroom {

[[nodiscard]] bool is_there(const std::filesystem::path& path);
[[nodiscard]] bool is_folder(const std::filesystem::path& path);

// The folders in `folder`, by name; links to folders included.
[[nodiscard]] std::vector<std::filesystem::path> folders_in(const std::filesystem::path& folder);

// `folder` and the folders up to `levels` below it, by path. Links to folders are listed, but what
// is below them is not.
[[nodiscard]] std::vector<std::filesystem::path> folders_below(const std::filesystem::path& folder,
                                                               int levels);

}  // namespace headroom
