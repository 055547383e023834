#pragma once
// A data file that is part of the program (cmake/EmbedFiles.cmake), so that an installed binary
// needs nothing beside it. The functions that return such files are generated at build time; the
// library that owns the files declares its own one:
//   [[nodiscard]] std::span<const EmbeddedFile> catalog_files();

#include <span>
#include <string_view>

namespace headroom {

struct EmbeddedFile {
  std::string_view name;     // path relative to the embedding's BASE, with '/': "devices/gb10.json"
  std::string_view content;  // the file's bytes; lives as long as the program
};

}  // namespace headroom
