#include "sim/report/files/emitted_files.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <deque>
#include <filesystem>
#include <string_view>
#include <system_error>

#include "sim/kernel/errors.hpp"
#include "sim/kernel/partial_path.hpp"
#include "sim/report/files/created_folders.hpp"
#include "sim/report/files/replaced_file.hpp"

namespace headroom {
namespace {

namespace fs = std::filesystem;

ConfigError cannot_emit(const fs::path& path, const std::string& why) {
  return ConfigError(
      Complaint{.kind = ErrorKind::unreadable, .origin = path.string(), .problem = why});
}

bool is_file_name(const fs::path& target, const std::vector<DeploymentText>& files) {
  constexpr std::array<std::string_view, 4> kEndings{".yaml", ".yml", ".sh", ".service"};
  const std::string ending = target.extension().string();
  return files.size() == 1 && std::ranges::count(kEndings, ending) > 0;
}

// "out/" is "out".
fs::path folder_named(const fs::path& target) {
  return target.filename().empty() ? target.parent_path() : target;
}

}  // namespace

void check_emit_target(const std::vector<DeploymentText>& files, const std::string& target) {
  if (is_file_name(target, files)) return;
  const fs::path folder = folder_named(target);
  std::error_code unreadable;
  if (fs::exists(folder, unreadable)) {
    throw cannot_emit(folder, "exists already: choose a new folder");
  }
}

void write_emitted_files(const std::vector<DeploymentText>& files, const std::string& target) {
  if (is_file_name(target, files)) {
    ReplacedFile(target).publish(files.front().text);
    return;
  }
  check_emit_target(files, target);
  const fs::path folder = folder_named(target);
  const CreatedFolders parents(folder.parent_path(), folder.string() + ": cannot write: ");
  const fs::path working =
      folder.parent_path() / fmt::format(".{}.partial-{}", folder.filename().string(), ::getpid());
  std::deque<PartialPath> partial;
  for (const DeploymentText& file : files) partial.emplace_back((working / file.name).string());
  partial.emplace_back(working.string());
  std::error_code failed;
  fs::create_directory(working, failed);
  if (failed) throw cannot_emit(folder, "cannot write: " + failed.message());
  write_emitted_beside(files, working.string());
  fs::rename(working, folder, failed);
  if (failed) throw cannot_emit(folder, "cannot write: " + failed.message());
}

void write_emitted_beside(const std::vector<DeploymentText>& files, const std::string& folder) {
  std::deque<ReplacedFile> open;
  for (const DeploymentText& file : files) {
    open.emplace_back((fs::path(folder) / file.name).string()).write(file.text);
  }
  for (ReplacedFile& file : open) file.publish();
}

}  // namespace headroom
