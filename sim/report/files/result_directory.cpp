#include "sim/report/files/result_directory.hpp"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <string_view>
#include <system_error>
#include <utility>

#include "sim/kernel/errors.hpp"
#include "sim/options/json.hpp"

namespace headroom {
namespace {

namespace fs = std::filesystem;

constexpr std::array<std::string_view, 6> kResultFiles{"summary.json",  "requests.csv",
                                                       "timeline.csv",  "events.jsonl",
                                                       "resolved.json", "transfers.csv"};

ConfigError cannot_write(const fs::path& path, const std::string& why) {
  return ConfigError(Complaint{.kind = ErrorKind::unreadable,
                               .origin = path.string(),
                               .problem = fmt::format("cannot write results: {}", why)});
}

// The values and the trace of the results in `folder`; null where it has none that can be read.
Json scenario_in(const fs::path& folder) {
  std::ifstream file(folder / "resolved.json");
  const Json resolved = Json::parse(file, nullptr, false);
  if (!resolved.is_object() || !resolved.contains("values")) return nullptr;
  Json scenario = {{"trace", resolved.value("trace", Json())}};
  for (const auto& [pointer, entry] : resolved["values"].items()) {
    if (entry.is_object()) scenario[pointer] = entry.value("value", Json());
  }
  return scenario;
}

}  // namespace

ResultDirectory::ResultDirectory(const std::string& target, std::vector<std::string> others)
    : target_(target), names_(std::move(others)) {
  names_.insert(names_.end(), kResultFiles.begin(), kResultFiles.end());
  if (target_.filename().empty()) target_ = target_.parent_path();  // "out/" is "out"
  if (target_.filename() == "." || target_.filename() == "..") {
    throw cannot_write(target_, "choose a separate directory for the results");
  }
  check_target();
  for (const std::string& name : names_) {
    roles_.emplace_back((target_ / name).string());
  }
  roles_.emplace_back(target_.string());
  parents_.emplace(target_.parent_path(), cannot_write(target_, "").what());
  const fs::path parent = target_.parent_path();
  working_ = parent / fmt::format(".{}.partial-{}", target_.filename().string(), ::getpid());
  if (::mkdir(working_.c_str(), 0777) != 0) {
    const std::string cause = errno == EEXIST
                                  ? fmt::format("{} exists, left by a killed run: remove it",
                                                working_.filename().string())
                                  : std::strerror(errno);
    working_.clear();
    throw cannot_write(target_, cause);
  }
  for (const std::string& name : names_) {
    partial_.emplace_back((working_ / name).string());
  }
  partial_.emplace_back(working_.string());
}

ResultDirectory::~ResultDirectory() {
  if (working_.empty()) return;
  std::error_code ignored;
  fs::remove_all(working_, ignored);
}

void ResultDirectory::check_target() const {
  std::error_code error;
  const fs::file_status status = fs::status(target_, error);
  if (status.type() == fs::file_type::not_found) return;
  if (error) throw cannot_write(target_, error.message());
  if (!fs::is_directory(status)) throw cannot_write(target_, "exists and is not a directory");
  fs::directory_iterator entries(target_, error);
  if (error) throw cannot_write(target_, error.message());
  for (const fs::directory_entry& entry : entries) {
    const std::string name = entry.path().filename().string();
    if (std::ranges::find(names_, name) == names_.end()) {
      throw cannot_write(
          target_,
          fmt::format("it holds {}, which is not a result file; choose another directory with -o",
                      name));
    }
  }
  if (::access(target_.c_str(), W_OK) != 0) throw cannot_write(target_, std::strerror(errno));
}

void ResultDirectory::avoid_others() {
  const fs::path first = target_;
  const Json own = scenario_in(working_);
  for (int number = 2; fs::exists(target_) && scenario_in(target_) != own; ++number) {
    target_ = first;
    target_ += fmt::format("-{}", number);
  }
}

void ResultDirectory::publish() {
  std::error_code error;
  check_target();
  fs::path old;
  if (fs::exists(target_, error)) {
    old = working_;
    old += ".old";
    fs::rename(target_, old, error);
    if (error) throw cannot_write(target_, error.message());
  }
  fs::rename(working_, target_, error);
  if (error) {
    const std::string cause = error.message();
    if (!old.empty()) fs::rename(old, target_, error);
    throw cannot_write(target_, cause);
  }
  working_.clear();
  if (!old.empty()) fs::remove_all(old, error);
}

}  // namespace headroom
