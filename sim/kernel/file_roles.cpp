#include "sim/kernel/file_roles.hpp"

#include <fmt/format.h>
#include <sys/stat.h>

#include <filesystem>
#include <map>
#include <mutex>
#include <system_error>

#include "sim/kernel/errors.hpp"

namespace headroom {
namespace {

namespace fs = std::filesystem;

// Signals, memory and files are of the process, so this is, too.
struct FileRoles {
  std::mutex mutex;                         // studies read from several threads
  std::map<FilePlace, std::string> inputs;  // by absolute path
  std::map<FilePlace, std::string> outputs;
};

FileRoles& file_roles() {
  static FileRoles roles;
  return roles;
}

struct FoundFile {
  FilePlace place;
  bool is_folder = false;
};

// Empty when there is neither a regular file nor a folder.
std::optional<FoundFile> find_file(const std::string& path) {
  struct stat status {};
  if (::stat(path.c_str(), &status) != 0) return std::nullopt;
  if (!S_ISREG(status.st_mode) && !S_ISDIR(status.st_mode)) return std::nullopt;
  return FoundFile{{status.st_dev, status.st_ino}, S_ISDIR(status.st_mode)};
}

ConfigError would_replace(const std::string& output, const std::string& input) {
  return ConfigError(Complaint{
      .kind = ErrorKind::unreadable,
      .origin = output,
      .problem = fmt::format(
          "cannot write: it would replace {}, which this command reads; name another output",
          input)});
}

}  // namespace

void note_input(const std::string& path) {
  const auto file = find_file(path);
  if (!file || file->is_folder) return;
  FileRoles& roles = file_roles();
  const std::lock_guard lock(roles.mutex);
  const auto written = roles.outputs.find(file->place);
  if (written != roles.outputs.end()) throw would_replace(written->second, path);
  std::error_code ignored;
  roles.inputs.insert_or_assign(file->place, fs::absolute(path, ignored).string());
}

OutputRole::OutputRole(const std::string& path) {
  FileRoles& roles = file_roles();
  const std::lock_guard lock(roles.mutex);
  const auto parent = find_file(fs::absolute(path).parent_path().string());
  const auto folder = parent ? roles.outputs.find(parent->place) : roles.outputs.end();
  if (folder != roles.outputs.end()) {
    throw ConfigError(Complaint{
        .kind = ErrorKind::unreadable,
        .origin = path,
        .problem = fmt::format(
            "cannot write: this command replaces the whole folder {}; name a file elsewhere",
            folder->second)});
  }
  const auto file = find_file(path);
  if (!file) return;
  const auto read = roles.inputs.find(file->place);
  if (read != roles.inputs.end()) {
    // Places of files that are gone are given to others.
    const auto still = find_file(read->second);
    if (still && still->place == file->place) throw would_replace(path, read->second);
  }
  if (roles.outputs.emplace(file->place, path).second) place_ = file->place;
}

OutputRole::~OutputRole() {
  if (!place_) return;
  FileRoles& roles = file_roles();
  const std::lock_guard lock(roles.mutex);
  roles.outputs.erase(*place_);
}

}  // namespace headroom
