#include "tests/bench/azure_shaped_file.hpp"

#include <fmt/format.h>
#include <unistd.h>
#include <zlib.h>

#include <filesystem>
#include <iterator>

#include "sim/kernel/check.hpp"
#include "sim/kernel/random.hpp"

namespace headroom {
namespace {

constexpr std::int64_t kUsPerSecond = 1'000'000;
constexpr std::int64_t kLongestGapUs = 44'000;  // half of it on average
constexpr std::size_t kBlockBytes = std::size_t{1} << 20;

// In the week from Sunday, 12 May 2024, which starts anew where a file is longer.
void append_row(std::int64_t time_us, RandomStream& random, std::string& text) {
  const std::int64_t second = time_us / kUsPerSecond % (7 * 86'400);
  const std::int64_t prompt = random.uniform_int(1, 5000);
  const std::int64_t output = random.uniform_int(1, 500);
  fmt::format_to(std::back_inserter(text), "2024-05-{} {:02}:{:02}:{:02}.{:06}+00:00,{},{}\n",
                 12 + second / 86'400, second / 3600 % 24, second / 60 % 60, second % 60,
                 time_us % kUsPerSecond, prompt, output);
}

}  // namespace

AzureShapedFile::AzureShapedFile(std::int64_t bytes, bool gzip)
    : path_(std::filesystem::temp_directory_path() /
            fmt::format("headroom_bench_{}.csv{}", ::getpid(), gzip ? ".gz" : "")) {
  gzFile file = gzopen(path_.c_str(), gzip ? "wb" : "wbT");  // T: as it is
  HEADROOM_CHECK(file != nullptr, path_);
  RandomStream random(1, "azure");
  std::string text = "TIMESTAMP,ContextTokens,GeneratedTokens\n";
  for (std::int64_t time_us = 0; bytes_ < bytes;) {
    while (text.size() < kBlockBytes) {
      append_row(time_us, random, text);
      time_us += random.uniform_int(1, kLongestGapUs);
      ++rows_;
    }
    bytes_ += static_cast<std::int64_t>(text.size());
    const int written = gzwrite(file, text.data(), static_cast<unsigned>(text.size()));
    HEADROOM_CHECK(written == static_cast<int>(text.size()), path_ + " cannot be written");
    text.clear();
  }
  HEADROOM_CHECK(gzclose(file) == Z_OK, path_ + " cannot be written");
}

AzureShapedFile::~AzureShapedFile() {
  std::error_code ignored;
  std::filesystem::remove(path_, ignored);
}

}  // namespace headroom
