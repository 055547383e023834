#pragma once
// A made-up file in the shape of Azure's traces of 2024 (rows of some 41 bytes, 45 a second).

#include <cstdint>
#include <string>

namespace headroom {

// In the temporary directory; gone with the object.
class AzureShapedFile {
 public:
  // Rows until `bytes` of text are written; `gzip`: compressed as the gzip program does by default.
  AzureShapedFile(std::int64_t bytes, bool gzip);
  ~AzureShapedFile();
  AzureShapedFile(const AzureShapedFile&) = delete;
  AzureShapedFile& operator=(const AzureShapedFile&) = delete;

  [[nodiscard]] const std::string& path() const { return path_; }
  [[nodiscard]] std::int64_t bytes() const { return bytes_; }  // of the text
  [[nodiscard]] std::int64_t rows() const { return rows_; }

 private:
  std::string path_;
  std::int64_t bytes_ = 0;
  std::int64_t rows_ = 0;
};

}  // namespace headroom
