#include "sim/server/ui_files.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include "sim/kernel/errors.hpp"
#include "sim/kernel/folders.hpp"
#include "sim/kernel/text_file.hpp"

namespace headroom {
namespace {

constexpr std::string_view kAt = "/ui/";
constexpr std::string_view kPage = "index.html";
constexpr std::array<std::pair<std::string_view, std::string_view>, 3> kTypes{
    {{".html", "text/html; charset=utf-8"},
     {".js", "text/javascript; charset=utf-8"},
     {".css", "text/css; charset=utf-8"}}};

std::string_view type_of(std::string_view name) {
  for (const auto& [end, type] : kTypes) {
    if (name.ends_with(end)) return type;
  }
  return "text/plain; charset=utf-8";
}

ConfigError cannot_be_shown(const std::filesystem::path& folder, std::string problem) {
  return ConfigError(Complaint{.kind = ErrorKind::unreadable,
                               .origin = "--ui",
                               .value = folder.string(),
                               .problem = std::move(problem)});
}

}  // namespace

UiFiles::UiFiles(const std::filesystem::path& folder) {
  if (!is_there(folder / kPage) || !is_folder(folder / "data")) {
    throw cannot_be_shown(
        folder, "expected the folder that scripts/playground.sh writes, with index.html and data");
  }
  add(folder, "");
  add(folder / "data", "data/");
}

void UiFiles::add(const std::filesystem::path& folder, const std::string& prefix) {
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(folder, error)) {
    if (!entry.is_regular_file(error)) continue;
    std::string text = read_text_file(entry.path());
    bytes_ += text.size();
    if (bytes_ > kMostTextBytes) throw cannot_be_shown(folder, "more than 64 MiB of files");
    files_.emplace(prefix + entry.path().filename().string(), std::move(text));
  }
  if (error) throw cannot_be_shown(folder, error.message());
}

std::optional<UiFile> UiFiles::find(std::string_view path) const {
  if (!path.starts_with(kAt)) return std::nullopt;
  path.remove_prefix(kAt.size());
  const auto found = files_.find(path.empty() ? kPage : path);
  if (found == files_.end()) return std::nullopt;
  return UiFile{type_of(found->first), found->second};
}

}  // namespace headroom
