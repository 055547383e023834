#include "sim/report/files/replaced_file.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <filesystem>
#include <system_error>

#include "sim/kernel/errors.hpp"

namespace headroom {
namespace {

namespace fs = std::filesystem;

}  // namespace

ReplacedFile::ReplacedFile(const std::string& target)
    : name_(target), target_(target), role_(target) {
  std::error_code ignored;
  const fs::file_status status = fs::status(target, ignored);
  if (fs::exists(status) && !fs::is_regular_file(status)) {
    file_.emplace(target);
    return;
  }
  if (fs::exists(status)) {
    // Else a file that must not be written would be replaced all the same.
    if (::access(target.c_str(), W_OK) != 0) {
      throw ConfigError(Complaint{.kind = ErrorKind::unreadable,
                                  .origin = target,
                                  .problem = "cannot write: Permission denied"});
    }
    target_ = fs::canonical(target, ignored).string();
  }
  const fs::path path(target_);
  const std::string hidden = fmt::format(".{}.partial-{}", path.filename().string(), ::getpid());
  working_.emplace((path.parent_path() / hidden).string());
  file_.emplace(working_->text(), name_);
}

void ReplacedFile::write(std::string_view text) { file_->write(text); }

void ReplacedFile::publish() {
  file_->close();
  if (!working_) return;
  std::error_code error;
  fs::rename(working_->text(), target_, error);
  if (error) {
    throw ConfigError(Complaint{.kind = ErrorKind::unreadable,
                                .origin = name_,
                                .problem = fmt::format("cannot write: {}", error.message())});
  }
  working_.reset();
}

}  // namespace headroom
