#include "sim/kernel/folders.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <system_error>

#include "sim/kernel/errors.hpp"

namespace headroom {
namespace {

namespace fs = std::filesystem;

void check_readable(const fs::path& path, const std::error_code& error) {
  if (error) {
    throw ConfigError(Complaint{.kind = ErrorKind::unreadable,
                                .origin = path.string(),
                                .problem = fmt::format("cannot read: {}", error.message())});
  }
}

fs::file_status status_of(const fs::path& path) {
  std::error_code error;
  const fs::file_status status = fs::status(path, error);
  if (status.type() != fs::file_type::not_found) check_readable(path, error);
  return status;
}

void add_below(const fs::path& folder, int levels, std::vector<fs::path>& found) {
  found.push_back(folder);
  std::error_code error;
  if (levels == 0 || (found.size() > 1 && fs::is_symlink(folder, error))) return;
  for (const fs::path& inner : folders_in(folder)) add_below(inner, levels - 1, found);
}

}  // namespace

bool is_there(const fs::path& path) { return fs::exists(status_of(path)); }

bool is_folder(const fs::path& path) { return fs::is_directory(status_of(path)); }

std::vector<fs::path> folders_in(const fs::path& folder) {
  std::vector<fs::path> folders;
  std::error_code error;
  fs::directory_iterator entry(folder, error);
  while (!error && entry != fs::directory_iterator()) {
    if (is_folder(entry->path())) folders.push_back(entry->path());
    entry.increment(error);
  }
  check_readable(folder, error);
  std::ranges::sort(folders);
  return folders;
}

std::vector<fs::path> folders_below(const fs::path& folder, int levels) {
  std::vector<fs::path> found;
  add_below(folder, levels, found);
  std::ranges::sort(found);
  return found;
}

}  // namespace headroom
