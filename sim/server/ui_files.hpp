#pragma once
// The files of the playground (scripts/playground.sh), as the server hands them out.

#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <string_view>

namespace headroom {

struct UiFile {
  std::string_view type;  // MIME
  std::string_view content;
};

class UiFiles {
 public:
  UiFiles() = default;  // none
  // All files of `folder` and its folder data, read now: a request reads none. ConfigError: there
  // is no playground, a file cannot be read, or there are more than 64 MiB of them.
  explicit UiFiles(const std::filesystem::path& folder);

  [[nodiscard]] bool empty() const { return files_.empty(); }
  // `path` of a request, below /ui/; the folder itself is index.html.
  [[nodiscard]] std::optional<UiFile> find(std::string_view path) const;

 private:
  void add(const std::filesystem::path& folder, const std::string& prefix);

  std::map<std::string, std::string, std::less<>> files_;  // by their path below the folder
  std::size_t bytes_ = 0;
};

}  // namespace headroom
