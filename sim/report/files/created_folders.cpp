#include "sim/report/files/created_folders.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <system_error>
#include <utility>

#include "sim/kernel/errors.hpp"

namespace headroom {

namespace fs = std::filesystem;

CreatedFolders::CreatedFolders(fs::path folder, const std::string& refusal)
    : folder_(std::move(folder)) {
  fs::path built;
  for (const fs::path& part : folder_) {
    built /= part;
    if (::mkdir(built.c_str(), 0777) == 0) {
      if (first_created_.empty()) first_created_ = built;
      continue;
    }
    const int cause = errno == EEXIST ? ENOTDIR : errno;
    std::error_code ignored;
    if (!fs::is_directory(built, ignored)) {
      remove_empty();
      throw ConfigError(refusal + std::strerror(cause));
    }
  }
}

CreatedFolders::~CreatedFolders() { remove_empty(); }

void CreatedFolders::remove_empty() {
  if (first_created_.empty()) return;
  const fs::path stop = first_created_.parent_path();
  for (fs::path at = folder_; !at.empty() && at != stop; at = at.parent_path()) {
    ::rmdir(at.c_str());
  }
}

}  // namespace headroom
