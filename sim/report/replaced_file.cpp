#include "sim/report/replaced_file.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <filesystem>
#include <system_error>

#include "sim/kernel/errors.hpp"

namespace headroom {
namespace {

namespace fs = std::filesystem;

// With the file's own name in place of the temporary one, if there is one.
[[noreturn]] void refuse(const ConfigError& error, const std::optional<PartialPath>& working,
                         const std::string& name) {
  std::string what = error.what();
  if (working && what.starts_with(working->text())) what.replace(0, working->text().size(), name);
  throw ConfigError(what);
}

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
      throw ConfigError(fmt::format("{}: cannot write: Permission denied", target));
    }
    target_ = fs::canonical(target, ignored).string();
  }
  const fs::path path(target_);
  const std::string hidden = fmt::format(".{}.partial-{}", path.filename().string(), ::getpid());
  working_.emplace((path.parent_path() / hidden).string());
  try {
    file_.emplace(working_->text());
  } catch (const ConfigError& error) {
    refuse(error, working_, name_);
  }
}

void ReplacedFile::write(std::string_view text) {
  try {
    file_->write(text);
  } catch (const ConfigError& error) {
    refuse(error, working_, name_);
  }
}

void ReplacedFile::publish() {
  try {
    file_->close();
  } catch (const ConfigError& error) {
    refuse(error, working_, name_);
  }
  if (!working_) return;
  std::error_code error;
  fs::rename(working_->text(), target_, error);
  if (error) throw ConfigError(fmt::format("{}: cannot write: {}", name_, error.message()));
  working_.reset();
}

}  // namespace headroom
